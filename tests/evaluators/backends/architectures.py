"""Untrained models of real architectures, small, with their processors, and requests of every kind for them."""

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import (
    BaseImageProcessor,
    CLIPVisionConfig,
    LlamaConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    ProcessorMixin,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil
from transformers.models.llava_next.image_processing_pil_llava_next import LlavaNextImageProcessorPil
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.siglip2.image_processing_pil_siglip2 import Siglip2ImageProcessorPil

from eyechart.evaluators.requests.types import IMAGE, Backend, Request, Response

SIDE = 32
PATCH = 8
WIDTH = 48
WIDE = {"initializer_range": 0.1}
SIZES = {"hidden_size": WIDTH, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
VISION = {**SIZES, "image_size": SIDE, "patch_size": PATCH}
TEXTS = [
    "USER: What distortion degrades the quality of the image, noise or blur?\nASSISTANT: A. B. C. D.",
    "USER: Rate the quality of the image.\nASSISTANT: The quality of the image is good",
    "USER: Rate the quality of the image.\nASSISTANT: The quality of the image is poor, fair or excellent",
] * 20


def template(image: str) -> str:
    """A chat template in which `image` stands for an image."""
    return (
        "{%- for message in messages -%}{{- message['role'] | upper + ': ' -}}"
        "{%- if message['content'] is string -%}{{- message['content'] -}}{%- else -%}"
        "{%- for part in message['content'] -%}{%- if part['type'] == 'image' -%}{{- '" + image + "' -}}"
        "{%- else -%}{{- part['text'] -}}{%- endif -%}{%- endfor -%}{%- endif -%}"
        "{%- if not loop.last -%}{{- '\n' -}}{%- endif -%}{%- endfor -%}"
        "{%- if add_generation_prompt -%}{{- '\nASSISTANT:' -}}{%- endif -%}"
    )


def tokenizer(special: dict[str, str]) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer with these special tokens, by attribute name."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    first = {"special_tokens": ["<pad>", "</s>", *special.values()]}
    first["initial_alphabet"] = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=500, show_progress=False, **first))
    names = {"pad_token": "<pad>", "eos_token": "</s>", "extra_special_tokens": special}
    return PreTrainedTokenizerFast(tokenizer_object=inner, clean_up_tokenization_spaces=False, **names)


def _text(words: PreTrainedTokenizerFast) -> dict[str, object]:
    ids = {"pad_token_id": words.pad_token_id, "bos_token_id": None, "eos_token_id": words.eos_token_id}
    more = {"vocab_size": len(words), "num_key_value_heads": 2, "max_position_embeddings": 4096}
    return {**SIZES, **more, **ids, **WIDE}


SQUARE = {"height": SIDE, "width": SIDE}
CROPPED = {"size": {"shortest_edge": SIDE}, "crop_size": SQUARE}
LLAVA = {"patch_size": PATCH, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}


def _made(prefix: str, processor: ProcessorMixin, **settings: object) -> tuple[PreTrainedModel, ProcessorMixin]:
    """The model of a class of transformers with these settings."""
    config = getattr(transformers, f"{prefix}Config")(**settings)
    return getattr(transformers, f"{prefix}ForConditionalGeneration")(config), processor


def _llava(prefix: str, images: object, **settings: object) -> tuple[PreTrainedModel, ProcessorMixin]:
    words = tokenizer({"image_token": "<image>"})
    options = {"chat_template": template("<image>"), **LLAVA}
    return _made(
        prefix,
        getattr(transformers, f"{prefix}Processor")(images, words, **options),
        vision_config=CLIPVisionConfig(**VISION, **WIDE),
        text_config=LlamaConfig(**_text(words)),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        **settings,
    )


def llava() -> tuple[PreTrainedModel, ProcessorMixin]:
    """LLaVA: every image 16 tokens."""
    return _llava("Llava", LlavaImageProcessorPil(**CROPPED))


def llava_next() -> tuple[PreTrainedModel, ProcessorMixin]:
    """LLaVA-NeXT: the number of tokens depends on the image's shape."""
    grid = {"image_grid_pinpoints": [[SIDE, 2 * SIDE], [2 * SIDE, SIDE], [2 * SIDE, 2 * SIDE]]}
    return _llava("LlavaNext", LlavaNextImageProcessorPil(**CROPPED, **grid), **grid)


def idefics3() -> tuple[PreTrainedModel, ProcessorMixin]:
    """Idefics3: images in tiles, each with tokens of its own."""
    tiles = [f"<row_{row + 1}_col_{column + 1}>" for row in range(6) for column in range(6)]
    marks = ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", *tiles]
    words = tokenizer({f"mark_{index}": mark for index, mark in enumerate(marks)})
    words.image_token = "<image>"
    images = Idefics3ImageProcessorPil(size={"longest_edge": 2 * SIDE}, max_image_size={"longest_edge": SIDE})
    return _made(
        "Idefics3",
        transformers.Idefics3Processor(images, words, image_seq_len=4, chat_template=template("<image>")),
        vision_config={**VISION, **WIDE},
        text_config=LlamaConfig(**_text(words)),
        image_token_id=words.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=words.pad_token_id,
    )


def gemma3(window: int = 4096) -> tuple[PreTrainedModel, ProcessorMixin]:
    """Gemma 3: images attend to all of themselves; every second layer slides over `window` tokens."""
    words = tokenizer({"image_token": "<image_soft_token>", "boi_token": "<start>", "eoi_token": "<end>"})
    images = Gemma3ImageProcessorPil(size=SQUARE)
    layers = {"sliding_window": window, "layer_types": ["sliding_attention", "full_attention"]}
    return _made(
        "Gemma3",
        transformers.Gemma3Processor(images, words, image_seq_length=4, chat_template=template("<start>")),
        text_config=transformers.Gemma3TextConfig(**_text(words), head_dim=12, **layers, tie_word_embeddings=False),
        tie_word_embeddings=False,
        vision_config=transformers.SiglipVisionConfig(**VISION),
        mm_tokens_per_image=4,
        image_token_index=words.convert_tokens_to_ids("<image_soft_token>"),
        boi_token_index=words.convert_tokens_to_ids("<start>"),
        eoi_token_index=words.convert_tokens_to_ids("<end>"),
        **WIDE,
    )


def llava_onevision() -> tuple[PreTrainedModel, ProcessorMixin]:
    """LLaVA-OneVision: an image that is alone is cut into tiles, one of several is not."""
    words = tokenizer({"image_token": "<image>", "video_token": "<video>"})
    tiles = [[SIDE, SIDE], [SIDE, 2 * SIDE], [2 * SIDE, SIDE], [2 * SIDE, 2 * SIDE]]
    images = LlavaOnevisionImageProcessorPil(size=SQUARE, image_grid_pinpoints=tiles)
    options = {"num_image_tokens": 16, "vision_feature_select_strategy": "full", "chat_template": template("<image>")}
    return _made(
        "LlavaOnevision",
        _without_videos(transformers.LlavaOnevisionProcessor)(images, words, **options),
        vision_config=transformers.SiglipVisionConfig(**VISION),
        text_config=LlamaConfig(**_text(words)),
        image_grid_pinpoints=tiles,
        image_token_index=words.convert_tokens_to_ids("<image>"),
        video_token_index=words.convert_tokens_to_ids("<video>"),
        vision_feature_layer=-1,
    )


def qwen2_vl() -> tuple[PreTrainedModel, ProcessorMixin]:
    """Qwen2-VL: as many tokens as the image has pixels for, each with three positions."""
    marks = {"image": "<|image_pad|>", "video": "<|video_pad|>", "start": "<|vision_start|>", "end": "<|vision_end|>"}
    words = tokenizer({f"{name}_token": mark for name, mark in marks.items()})
    ids = {name: words.convert_tokens_to_ids(mark) for name, mark in marks.items()}
    images = Qwen2VLImageProcessorPil(patch_size=PATCH, size={"shortest_edge": 256, "longest_edge": 4096})
    rope = {"rope_type": "default", "mrope_section": [2, 2, 2], "rope_theta": 10_000.0}
    shown = template("<|vision_start|><|image_pad|><|vision_end|>")
    return _made(
        "Qwen2VL",
        _without_videos(transformers.Qwen2VLProcessor)(images, words, chat_template=shown),
        text_config={**_text(words), "rope_parameters": rope},
        vision_config={"depth": 2, "embed_dim": WIDTH, "hidden_size": WIDTH, "num_heads": 4, "patch_size": PATCH},
        image_token_id=ids["image"],
        video_token_id=ids["video"],
        vision_start_token_id=ids["start"],
        vision_end_token_id=ids["end"],
    )


class _WithoutVideos:
    """A processor without the part for videos, which needs torchvision."""

    def __init__(self, image_processor=None, tokenizer=None, **options):
        super().__init__(image_processor, tokenizer, None, **options)

    @classmethod
    def get_attributes(cls) -> list[str]:
        return ["image_processor", "tokenizer"]

    def check_argument_for_proper_class(self, argument_name, argument):
        return None if argument is None else super().check_argument_for_proper_class(argument_name, argument)


def _without_videos(kind: type[ProcessorMixin]) -> type[ProcessorMixin]:
    return type(kind.__name__, (_WithoutVideos, kind), {})


BUILDERS = {"llava": llava, "llava_next": llava_next, "idefics3": idefics3, "gemma3": gemma3, "qwen2_vl": qwen2_vl}
"""Those whose requests share all that can be shared."""


def build(name: str) -> tuple[PreTrainedModel, ProcessorMixin]:
    """A model of this architecture and its processor."""
    torch.manual_seed(7)
    model, processor = {**BUILDERS, "llava_onevision": llava_onevision}[name]()
    for parameter_name, parameter in model.named_parameters():
        # Vision towers draw their weights narrowly whatever the configuration says; every image would look the same.
        if "norm" not in parameter_name and parameter.dim() > 1 and parameter.std() < 0.05:
            torch.nn.init.normal_(parameter, std=0.1)
    return model.eval(), processor


CROPPED_PICTURES = CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
SQUARE_PICTURES = SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE})
PATCHES = Siglip2ImageProcessorPil(patch_size=PATCH, max_num_patches=16)

# The classes' prefix, the maximum length of a text, the vision model, the image processor.
KINDS = {
    # A convolutional image encoder.
    "align": ("Align", 77, {"image_size": SIDE, "width_coefficient": 0.2, "depth_coefficient": 0.1}, CROPPED_PICTURES),
    "altclip": ("AltCLIP", 80, VISION, CROPPED_PICTURES),
    "chinese_clip": ("ChineseCLIP", 77, VISION, CROPPED_PICTURES),
    "clip": ("CLIP", 77, VISION, CROPPED_PICTURES),
    "metaclip_2": ("MetaClip2", 77, VISION, CROPPED_PICTURES),
    # Texts padded to the longest, and a bias.
    "siglip": ("Siglip", 64, VISION, SQUARE_PICTURES),
    # Images of any shape, in patches.
    "siglip2": ("Siglip2", 64, {**SIZES, "patch_size": PATCH, "num_patches": 16}, PATCHES),
}


Parts = tuple[PreTrainedModel, PreTrainedTokenizerFast, BaseImageProcessor]


def dual_encoder(name: str) -> Parts:
    """A model of this type, its tokenizer and its image processor."""
    words = tokenizer({})
    # It ends texts, as CLIP takes its features from that token.
    end = (words.eos_token, words.eos_token_id)
    words.backend_tokenizer.post_processor = TemplateProcessing(single=f"$A {end[0]}", special_tokens=[end])
    prefix, longest, vision, image_processor = KINDS[name]
    ids = {"pad_token_id": words.pad_token_id, "eos_token_id": words.eos_token_id, "bos_token_id": None}
    text = {**SIZES, "vocab_size": len(words), "max_position_embeddings": longest, **ids}
    text |= {"project_dim": 32} if name == "altclip" else {}
    settings = {} if "siglip" in name else {"projection_dim": 64 if name == "align" else 32}
    settings |= {"logit_scale_init_value": math.log(100)} if name == "clip" else {}
    config = getattr(transformers, f"{prefix}Config")(text_config=text, vision_config=vision, **settings)
    return getattr(transformers, f"{prefix}Model")(config), words, image_processor


def build_dual_encoder(name: str) -> Parts:
    """The same, drawn wide, so that neither all images nor all texts look the same."""
    torch.manual_seed(7)
    model, words, image_processor = dual_encoder(name)
    for parameter_name, parameter in model.named_parameters():
        if "norm" not in parameter_name and parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2 if parameter.dim() == 2 else 0.5)
    return model.eval(), words, image_processor


LETTERS = "ABCD"
OPTIONS = ("noise", "blur", "fair", "excellent")
PICTURE_SIZES = [(40, 40), (90, 40), (40, 100), (33, 65), (200, 60)]


def picture(seed: int) -> Image.Image:
    width, height = PICTURE_SIZES[seed % len(PICTURE_SIZES)]
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def mixed_requests() -> list[Request]:
    """Rotations, pairs in both orders, logits and losses; 1 and 2 images of several sizes, 10 to 250 tokens."""
    pictures = [picture(seed) for seed in range(5)]
    asked = []
    for number, words in enumerate((0, 20, 200)):
        for rotation in range(4):
            turned = OPTIONS[rotation:] + OPTIONS[:rotation]
            shown = " ".join(f"{letter}. {option}" for letter, option in zip(LETTERS, turned, strict=True))
            text = ("What is it?\n", IMAGE, "\n" + shown + " noise of the image" * (words // 4))
            options = {"max_new_tokens": 6, "pass_name": f"rotation:{rotation}"}
            asked.append(Request(f"q{number}", text, (pictures[number],), **options))
    for first, second in permutations(range(3), 2):
        name, shown = f"{first} {second}", (pictures[first], pictures[second])
        asked.append(Request(name, (IMAGE, " and ", IMAGE, " which?"), shown, max_new_tokens=6))
        which = ("Is ", IMAGE, " or ", IMAGE, " good?")
        asked.append(Request(name, which, shown, words=("good", "poor"), pass_name="a3"))
    for number, shown in enumerate(pictures):
        rate, prefill = ("Rate ", IMAGE), "The quality of the image is"
        asked.append(Request(f"r{number}", rate, (shown,), prefill=prefill, words=("good", "poor")))
        texts = ("good", "fair or poor", "blur")
        asked.append(Request(f"c{number}", rate, (shown,), prefill=prefill, continuations=texts))
    asked.append(Request("text", ("What is noise?",), (), max_new_tokens=6))
    asked.append(Request("text losses", ("What is noise?",), (), continuations=("blur", "noise or blur")))
    return asked


def answers(backend: Backend, requests: Sequence[Request]) -> dict[tuple[str, str], Response]:
    """Responses by id and pass."""
    return {(response.request.id, response.request.pass_name): response for response in backend.answer(requests)}
