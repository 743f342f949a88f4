"""Renders requests to token ids and pixels with the model's own processor.

Every prompt is tokenized as a whole, as if it were the only one; tokens of parts are never concatenated.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from PIL import Image

from eyechart.evaluators.backends.chat import ChatOptions, distinct_words, inseparable, joined, to_messages
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, Request

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase, ProcessorMixin

_TOKEN_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids"})
_SIZE_SETTINGS = (
    *("do_resize", "size", "crop_size", "do_center_crop", "do_pad", "min_pixels", "max_pixels", "resample"),
    *("image_grid_pinpoints", "do_image_splitting", "max_image_size", "do_pan_and_scan", "crop_to_patches"),
    *("min_patches", "max_patches", "max_image_tiles", "pan_and_scan_max_num_crops"),
)


@dataclass(frozen=True)
class ImageInputs:
    """An image as the model's arguments, its number of tokens, and whether it was downscaled; None if unknown."""

    tensors: "Mapping[str, torch.Tensor]"
    tokens: int
    downscaled: bool | None


@dataclass(frozen=True)
class RenderedPrompt:
    """A complete sequence of tokens for the model; for losses, there is one for each continuation of the request.

    `text` is the prompt with placeholders for images; `continued` ends with the continuation, if any, of `scored`
    tokens. `ids` has all tokens of images, which have type 1. `begins` and `ends` are the index of each image's first
    token and the index after its last, and empty if unknown.
    """

    request: Request
    text: str
    continued: str
    ids: list[int]
    types: list[int] | None
    images: tuple[str, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    scored: int = 0

    @property
    def needed_logits(self) -> int:
        """Number of tokens at the end whose logits are needed, at least 1."""
        return self.scored + 1

    @property
    def is_placed(self) -> bool:
        """Whether the position of each image is known; if not, prefix sharing is not possible."""
        return len(self.begins) == len(self.images)


class Renderer:
    """Renders requests with a copy of the processor; not thread-safe, because tokenizers are not."""

    def __init__(
        self, processor: "ProcessorMixin", image_token_id: int, *, name: str, chat: ChatOptions | None = None
    ) -> None:
        """Raise `ModelError` if the chat template cannot switch reasoning as the options say."""
        self._chat = chat or ChatOptions()
        self._switches = self._chat.template_arguments(str(processor.chat_template), name)
        self._processor = copy.deepcopy(processor)
        self._processor.image_processor = self._memory = _Remembering(self._processor.image_processor)
        self._image_token_id = image_token_id
        self._name = name
        self._image_text: str | None = None
        self._tokens: dict[tuple[int, int], int] = {}

    def check_template(self) -> None:
        """Refuse a chat template that fails, or that leaves out a part of the chat."""
        request = Request("", ("What is shown?", IMAGE), (Image.new("RGB", (64, 64)),))
        system = self._chat.system_prompt
        try:
            text = self.text_of(request)
            shows = {
                "the system prompt": (system or "").strip() in text,
                "the text of the prompt": "What is shown?" in text,
                "a placeholder for images": text != self.text_of(replace(request, prompt=request.prompt[:1], images=()))
                and (self._image_token_id < 0 or self.image(request.images[0]).tokens > 0),
            }
            problem = ", ".join(f"leaves out {part}" for part, is_shown in shows.items() if not is_shown)
        # Templates and processors can raise any kind of error.
        except Exception as error:
            problem = f"cannot be used: {type(error).__name__}: {error}".rstrip(".")
        if problem:
            instead = "" if system is None else "leave --system-prompt out, "
            raise ModelError(
                f"model '{self._name}': the chat template {problem}; {instead}use a chat or instruct variant of the "
                "model, or name another template with --model-arg chat_template=FILE."
            )

    def forget_images(self) -> None:
        """Free the cached pixels of all images so far."""
        self._memory.results.clear()

    def image(self, image: Image.Image) -> ImageInputs:
        """Preprocess one image, in RGB."""
        if self._image_text is None:
            self._image_text = self.text_of(Request(id="", prompt=(IMAGE,), images=(image,)))
        inputs = self._inputs(self._image_text, [image])
        # Processors divide an image by its size alone.
        self._tokens[image.size] = int((inputs["input_ids"] == self._image_token_id).sum())
        return self._image_inputs(image, inputs)

    def prompts(
        self,
        request: Request,
        keys: tuple[str, ...],
        images: Mapping[str, Image.Image],
        inputs: dict[str, ImageInputs],
    ) -> list[RenderedPrompt]:
        """As `PromptRenderer.prompts`."""
        text, shown = self.text_of(request), [images[key] for key in keys]
        processed = None
        # A single image is preprocessed with its prompt if its number of tokens is known.
        if len(keys) == 1 and keys[0] not in inputs and shown[0].size in self._tokens:
            processed = self._inputs(text, shown)
            inputs[keys[0]] = self._image_inputs(shown[0], processed)
        for key in keys:
            inputs[key] = inputs.get(key) or self.image(images[key])
        sizes = [inputs[key].tokens for key in keys]
        prompt = self._prompt(RenderedPrompt(request, text, text, [], None, keys, (), ()), shown, sizes, processed)
        continued = []
        for continuation in request.continuations:
            complete = self._prompt(replace(prompt, continued=joined(text, continuation)), shown, sizes)
            scored = len(complete.ids) - len(prompt.ids)
            if scored < 1 or complete.ids[: len(prompt.ids)] != prompt.ids:
                raise inseparable(self._name, continuation)
            continued.append(replace(complete, scored=scored))
        return continued or [prompt]

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text that `text_of` gave, with one placeholder for each image."""
        tokenizer = self._processor.tokenizer
        ids: list[int] = tokenizer.encode(text, **special_tokens_option(tokenizer, text))
        return ids

    def text_of(self, request: Request) -> str:
        """The prompt as written by the chat template, with placeholders for images."""
        return self._processor.apply_chat_template(
            to_messages(request, list(request.images), self._chat.system_prompt),
            tokenize=False,
            add_generation_prompt=not request.prefill,
            continue_final_message=bool(request.prefill),
            **self._switches,
        )

    def first_tokens(self, request: Request) -> dict[str, int]:
        """Each word's first token after prompt and prefill, without optional words that share it with another word."""
        tokenizer, text = self._processor.tokenizer, self.text_of(request)
        before = tokenizer.encode(text, add_special_tokens=False)
        first: dict[str, int] = {}
        for word in request.all_words:
            tokens = tokenizer.encode(joined(text, word), add_special_tokens=False)
            if tokens[: len(before)] == before and len(tokens) > len(before):
                first[word] = tokens[len(before)]
            elif word in request.words:
                raise inseparable(self._name, word)
        names = {word: tokenizer.convert_ids_to_tokens(token) for word, token in first.items()}
        return {word: first[word] for word in distinct_words(names, request.words, where=f"model '{self._name}': ")}

    def _image_inputs(self, image: Image.Image, inputs: "Mapping[str, torch.Tensor]") -> ImageInputs:
        return ImageInputs(
            tensors={name: value for name, value in inputs.items() if name not in _TOKEN_INPUTS},
            tokens=self._tokens[image.size],
            downscaled=is_downscaled(image, inputs, self._memory.inner),
        )

    def _prompt(
        self,
        prompt: RenderedPrompt,
        images: list[Image.Image],
        sizes: Sequence[int],
        inputs: "Mapping[str, torch.Tensor] | None" = None,
    ) -> RenderedPrompt:
        """The prompt with its tokens, and where its images are among them; `inputs` are its own, if known."""
        inputs = inputs or self._inputs(prompt.continued, images)
        ids = inputs["input_ids"][0].tolist()
        types = inputs.get("token_type_ids", inputs.get("mm_token_type_ids"))
        image_tokens = [index for index, token in enumerate(ids) if token == self._image_token_id]
        # Some processors split a single image into tiles, but not several; some models do not name an image token.
        if 0 in sizes or (len(images) > 1 and len(image_tokens) != sum(sizes)):
            sizes = ()
        elif len(image_tokens) != sum(sizes):
            raise ValueError(f"the prompt has {len(image_tokens)} image tokens, but its images need {sum(sizes)}")
        starts = [0, *accumulate(sizes)]
        return replace(
            prompt,
            ids=ids,
            types=None if types is None else types[0].tolist(),
            begins=tuple(image_tokens[start] for start in starts[:-1]),
            ends=tuple(image_tokens[start - 1] + 1 for start in starts[1:]),
        )

    def _inputs(self, text: str, images: list[Image.Image]) -> "Mapping[str, torch.Tensor]":
        options = special_tokens_option(self._processor.tokenizer, text)
        return self._processor(text=[text], images=[images] if images else None, return_tensors="pt", **options)


def special_tokens_option(tokenizer: "PreTrainedTokenizerBase", text: str) -> dict[str, bool]:
    """The option of a processor that keeps the tokenizer from adding the first token that the template wrote."""
    bos = tokenizer.bos_token
    return {"add_special_tokens": False} if bos is not None and text.startswith(bos) else {}


def image_token_id(config: Any) -> int:
    """The token that represents a piece of an image in a prompt; -1 if the model's config does not name it."""
    tokens = (getattr(config, name, None) for name in ("image_token_id", "image_token_index"))
    return int(next((token for token in tokens if token is not None), -1))


class _Remembering:
    """An image processor that caches its outputs for the same image objects."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.results: dict[Any, tuple[Any, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __call__(self, images: Any, **kwargs: Any) -> Any:
        key = (_ids(images), repr(sorted(kwargs.items(), key=str)))
        if key not in self.results:
            # The images are kept too, so that no new object gets their ids.
            self.results[key] = (images, self.inner(images, **kwargs))
        # A copy, because processors remove entries from it.
        return copy.copy(self.results[key][1])


def _ids(images: Any) -> Any:
    return tuple(map(_ids, images)) if isinstance(images, list | tuple) else id(images)


def size_settings(image_processor: Any) -> dict[str, Any]:
    """The processor's settings of image size, those that it has, as JSON values.

    They are reported with every result, because resizing changes image quality.
    """
    values = image_processor.to_dict()
    return {name: values[name] for name in _SIZE_SETTINGS if values.get(name) is not None}


def is_downscaled(image: Image.Image, inputs: "Mapping[str, torch.Tensor]", image_processor: Any) -> bool | None:
    """Whether the processor downscaled an image; None if its output and settings do not show it."""
    pixels, grid = inputs.get("pixel_values"), inputs.get("image_grid_thw")
    if grid is not None:
        return int(grid.prod()) * image_processor.patch_size**2 < image.width * image.height
    settings = size_settings(image_processor)
    if tiles := settings.get("image_grid_pinpoints"):
        from transformers.image_processing_utils import select_best_resolution

        # LLaVA-Next chooses for each image a grid of tiles.
        height, width = select_best_resolution((image.height, image.width), tiles)
        return image.height > height or image.width > width
    size = settings.get("size", {})
    if "do_image_splitting" in settings and set(size) == {"longest_edge"}:
        # Idefics3: the tiles together show the image resized to `size`; without tiles it is resized to one tile.
        limits = size if settings["do_image_splitting"] else settings["max_image_size"]
        return max(image.size) > limits["longest_edge"]
    if pixels is None or pixels.dim() != 4 or len(pixels) != 1:
        return None
    if not settings.get("do_resize"):
        return False
    if size.get("height") and size.get("width"):
        return image.width > size["width"] or image.height > size["height"]
    return min(image.size) > size["shortest_edge"] if set(size) == {"shortest_edge"} else None
