"""Untrained models that compare images with texts, small, with tokenizer and image processor."""

import math

import torch
import transformers
from tokenizers.processors import TemplateProcessing
from transformers import BaseImageProcessor, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.siglip2.image_processing_pil_siglip2 import Siglip2ImageProcessorPil

from tests.evaluators.backends import architectures
from tests.evaluators.backends.architectures import PATCH, SIDE, SIZES, VISION

CROPPED = CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
SQUARE = SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE})
PATCHES = Siglip2ImageProcessorPil(patch_size=PATCH, max_num_patches=16)

# The classes' prefix, the maximum length of a text, the vision model, the image processor.
KINDS = {
    # A convolutional image encoder.
    "align": ("Align", 77, {"image_size": SIDE, "width_coefficient": 0.2, "depth_coefficient": 0.1}, CROPPED),
    "altclip": ("AltCLIP", 80, VISION, CROPPED),
    "chinese_clip": ("ChineseCLIP", 77, VISION, CROPPED),
    "clip": ("CLIP", 77, VISION, CROPPED),
    "metaclip_2": ("MetaClip2", 77, VISION, CROPPED),
    # Texts padded to the longest, and a bias.
    "siglip": ("Siglip", 64, VISION, SQUARE),
    # Images of any shape, in patches.
    "siglip2": ("Siglip2", 64, {**SIZES, "patch_size": PATCH, "num_patches": 16}, PATCHES),
}


Parts = tuple[PreTrainedModel, PreTrainedTokenizerFast, BaseImageProcessor]


def untrained(name: str, scale: float = 100.0) -> Parts:
    """A model of this type, its tokenizer and its image processor; `scale` is that of CLIP's logits."""
    words = architectures.tokenizer({})
    # It ends texts, as CLIP takes its features from that token.
    end = (words.eos_token, words.eos_token_id)
    words.backend_tokenizer.post_processor = TemplateProcessing(single=f"$A {end[0]}", special_tokens=[end])
    prefix, longest, vision, image_processor = KINDS[name]
    ids = {"pad_token_id": words.pad_token_id, "eos_token_id": words.eos_token_id, "bos_token_id": None}
    text = {**SIZES, "vocab_size": len(words), "max_position_embeddings": longest, **ids}
    text |= {"project_dim": 32} if name == "altclip" else {}
    settings = {} if "siglip" in name else {"projection_dim": 64 if name == "align" else 32}
    settings |= {"logit_scale_init_value": math.log(scale)} if name == "clip" else {}
    config = getattr(transformers, f"{prefix}Config")(text_config=text, vision_config=vision, **settings)
    return getattr(transformers, f"{prefix}Model")(config), words, image_processor


def build(name: str, scale: float = 100.0) -> Parts:
    """The same, drawn wide, so that neither all images nor all texts look the same."""
    torch.manual_seed(7)
    model, words, image_processor = untrained(name, scale)
    for parameter_name, parameter in model.named_parameters():
        if "norm" not in parameter_name and parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2 if parameter.dim() == 2 else 0.5)
    return model.eval(), words, image_processor
