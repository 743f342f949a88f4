"""Untrained models that compare images with texts, small, with tokenizer and image processor."""

import math

import torch
from tokenizers.processors import TemplateProcessing
from transformers import (
    AlignConfig,
    AlignModel,
    AltCLIPConfig,
    AltCLIPModel,
    BaseImageProcessor,
    ChineseCLIPConfig,
    ChineseCLIPModel,
    CLIPConfig,
    CLIPModel,
    MetaClip2Config,
    MetaClip2Model,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Siglip2Config,
    Siglip2Model,
    SiglipConfig,
    SiglipModel,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.siglip2.image_processing_pil_siglip2 import Siglip2ImageProcessorPil

from tests.evaluators.backends import architectures

SIDE = 32
PATCH = 8
SIZES = {"hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
VISION = {**SIZES, "image_size": SIDE, "patch_size": PATCH}

Parts = tuple[PreTrainedModel, PreTrainedTokenizerFast, BaseImageProcessor]


def _text(words: PreTrainedTokenizerFast, longest: int) -> dict[str, object]:
    ids = {"pad_token_id": words.pad_token_id, "eos_token_id": words.eos_token_id, "bos_token_id": None}
    return {**SIZES, "vocab_size": len(words), "max_position_embeddings": longest, **ids}


def _cropped() -> CLIPImageProcessorPil:
    return CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})


def clip(words: PreTrainedTokenizerFast, scale: float = 100.0) -> tuple[PreTrainedModel, BaseImageProcessor]:
    """CLIP; 100 is the scale of OpenAI's models."""
    sizes = {"projection_dim": 32, "logit_scale_init_value": math.log(scale)}
    return CLIPModel(CLIPConfig(text_config=_text(words, 77), vision_config=VISION, **sizes)), _cropped()


def metaclip_2(words: PreTrainedTokenizerFast) -> tuple[PreTrainedModel, BaseImageProcessor]:
    config = MetaClip2Config(text_config=_text(words, 77), vision_config=VISION, projection_dim=32)
    return MetaClip2Model(config), _cropped()


def chinese_clip(words: PreTrainedTokenizerFast) -> tuple[PreTrainedModel, BaseImageProcessor]:
    config = ChineseCLIPConfig(text_config=_text(words, 77), vision_config=VISION, projection_dim=32)
    return ChineseCLIPModel(config), _cropped()


def altclip(words: PreTrainedTokenizerFast) -> tuple[PreTrainedModel, BaseImageProcessor]:
    text = {**_text(words, 80), "project_dim": 32}
    return AltCLIPModel(AltCLIPConfig(text_config=text, vision_config=VISION, projection_dim=32)), _cropped()


def align(words: PreTrainedTokenizerFast) -> tuple[PreTrainedModel, BaseImageProcessor]:
    """ALIGN: a convolutional image encoder."""
    vision = {"image_size": SIDE, "width_coefficient": 0.2, "depth_coefficient": 0.1}
    return AlignModel(AlignConfig(text_config=_text(words, 77), vision_config=vision, projection_dim=64)), _cropped()


def siglip(words: PreTrainedTokenizerFast) -> tuple[PreTrainedModel, BaseImageProcessor]:
    """SigLIP: texts padded to the longest, and a bias."""
    processor = SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE})
    return SiglipModel(SiglipConfig(text_config=_text(words, 64), vision_config=VISION)), processor


def siglip2(words: PreTrainedTokenizerFast) -> tuple[PreTrainedModel, BaseImageProcessor]:
    """SigLIP 2: images of any shape, in patches."""
    vision = {**SIZES, "patch_size": PATCH, "num_patches": 16}
    processor = Siglip2ImageProcessorPil(patch_size=PATCH, max_num_patches=16)
    return Siglip2Model(Siglip2Config(text_config=_text(words, 64), vision_config=vision)), processor


BUILDERS = {
    "align": align,
    "altclip": altclip,
    "chinese_clip": chinese_clip,
    "clip": clip,
    "metaclip_2": metaclip_2,
    "siglip": siglip,
    "siglip2": siglip2,
}


def tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer that ends texts, as CLIP takes its features from that token."""
    words = architectures.tokenizer({})
    end = (words.eos_token, words.eos_token_id)
    words.backend_tokenizer.post_processor = TemplateProcessing(single=f"$A {end[0]}", special_tokens=[end])
    return words


def build(name: str, **options: float) -> Parts:
    """A model of this type, its tokenizer and its image processor."""
    torch.manual_seed(7)
    words = tokenizer()
    model, image_processor = BUILDERS[name](words, **options)
    for parameter_name, parameter in model.named_parameters():
        # Drawn wide, so that neither all images nor all texts look the same.
        if "norm" not in parameter_name and parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2 if parameter.dim() == 2 else 0.5)
    return model.eval(), words, image_processor
