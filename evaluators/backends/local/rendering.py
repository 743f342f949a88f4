"""From requests to token ids and pixels, by the model's own processor.

Every prompt is rendered and tokenised whole, as the model would see it alone; nothing is ever put together from tokens
of parts. What prompts have in common is found afterwards (`planning`).
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from PIL import Image

from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators.backends.chat import joined, to_messages
from eyechart.evaluators.backends.chat_options import ChatOptions
from eyechart.evaluators.backends.distinct_words import distinct_words
from eyechart.evaluators.backends.image_sizes import count_downscaled
from eyechart.evaluators.requests.types import IMAGE, OutputType, Request

if TYPE_CHECKING:
    import torch
    from transformers import ProcessorMixin

_TOKEN_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids"})


@dataclass(frozen=True)
class ImageInputs:
    """One image as the vision encoder takes it.

    Attributes:
        tensors: The model's arguments, such as `pixel_values`.
        tokens: How many tokens of a prompt the image fills.
        downscaled: Whether the processor reduced it; None where unknown.
    """

    tensors: "Mapping[str, torch.Tensor]"
    tokens: int
    downscaled: bool | None


@dataclass(frozen=True)
class Prompt:
    """A whole sequence of tokens for the model.

    Attributes:
        request: What it asks; for losses there is one sequence for each continuation.
        text: The prompt as the chat template writes it, images as their placeholders.
        continued: The same with the continuation whose loss is wanted, where there is one.
        ids: Its tokens, images expanded.
        types: Type of each token where the model asks for it, 1 for images; else None.
        images: A key for each image.
        begins: Index of each image's first token; empty where unknown.
        ends: Index behind each image's last token, likewise.
        continuation: Which of the request's continuations stands at the end; None without one.
        scored: How many tokens at the end are that continuation.
    """

    request: Request
    text: str
    continued: str
    ids: list[int]
    types: list[int] | None
    images: tuple[str, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    continuation: int | None = None
    scored: int = 0

    @property
    def kept(self) -> int:
        """How many tokens at the end the model has to see last, for their logits: at least 1."""
        return self.scored + 1

    @property
    def is_placed(self) -> bool:
        """Whether it is known where each image is; without that, the sequence can only be run whole."""
        return len(self.begins) == len(self.images)


class Renderer:
    """Renders requests; not to be shared by threads, as tokenizers are not.

    Args:
        processor: The model's processor; a copy is kept.
        image_token_id: The token that stands for a piece of an image.
        name: How errors call the model.
        chat: What is asked of the model in every chat.
    """

    def __init__(
        self, processor: "ProcessorMixin", image_token_id: int, *, name: str, chat: ChatOptions | None = None
    ) -> None:
        """Copy the processor, so that what it remembers is freed with this object.

        Raises:
            ModelError: The chat template cannot do what is asked.
        """
        self._chat = chat or ChatOptions()
        self._switches = self._chat.template_arguments(str(processor.chat_template), name)
        self._processor = copy.deepcopy(processor)
        self._processor.image_processor = self._memory = _Remembering(self._processor.image_processor)
        self._image_token_id = image_token_id
        self._name = name
        self._check_system_prompt()

    def forget_images(self) -> None:
        """Free the pixels of the images seen so far."""
        self._memory.clear()

    def image(self, image: Image.Image) -> ImageInputs:
        """Preprocess one image.

        Args:
            image: In RGB.
        """
        request = Request(id="", prompt=(IMAGE,), images=(image,))
        inputs = self._inputs(self.text_of(request), [image])
        reduced = count_downscaled([image], inputs, self._memory.inner)
        return ImageInputs(
            tensors={name: value for name, value in inputs.items() if name not in _TOKEN_INPUTS},
            tokens=int((inputs["input_ids"] == self._image_token_id).sum()),
            downscaled=None if reduced is None else bool(reduced),
        )

    def prompts(
        self, request: Request, images: list[Image.Image], keys: tuple[str, ...], sizes: Sequence[int]
    ) -> list[Prompt]:
        """Render a request: one sequence, or one for each continuation.

        Args:
            request: The request.
            images: Its images, in RGB.
            keys: A key for each image; equal keys mean equal images.
            sizes: Number of tokens of each image.

        Raises:
            ModelError: The tokens of a continuation cannot be separated from those before it.
        """
        text = self.text_of(request)
        whole = self._prompt(request, text, images, keys, sizes)
        if request.output_type is not OutputType.LOSSES:
            return [whole]
        return [self._continued(whole, place, images, keys, sizes) for place in range(len(request.continuations))]

    def text_of(self, request: Request) -> str:
        """The prompt as the chat template writes it, images as their placeholders."""
        return self._processor.apply_chat_template(
            to_messages(request, list(request.images), self._chat.system_prompt),
            tokenize=False,
            add_generation_prompt=not request.prefill,
            continue_final_message=bool(request.prefill),
            **self._switches,
        )

    def first_tokens(self, request: Request) -> dict[str, int]:
        """The first token of each of the request's words where it would stand, after the prompt and prefilled reply.

        Optional words that have none of their own are left out.

        Raises:
            ModelError: Two words begin with the same token, or a word melts into the text before it.
        """
        tokenizer, text = self._processor.tokenizer, self.text_of(request)
        before = tokenizer.encode(text, add_special_tokens=False)
        found: dict[str, int] = {}
        for word in request.all_words:
            tokens = tokenizer.encode(joined(text, word), add_special_tokens=False)
            if tokens[: len(before)] == before and len(tokens) > len(before):
                found[word] = tokens[len(before)]
            elif word in request.words:
                raise self._melted(word)
        names = {word: tokenizer.convert_ids_to_tokens(token) for word, token in found.items()}
        kept = distinct_words(names, request.words, where=f"model '{self._name}': ")
        return {word: found[word] for word in kept}

    def _check_system_prompt(self) -> None:
        """Refuse a system prompt that the chat template refuses or leaves out.

        Raises:
            ModelError: It does.
        """
        prompt = self._chat.system_prompt
        if prompt is None:
            return
        try:
            shown = prompt.strip() in self.text_of(Request("", ("?",), ()))
        # Templates raise what they like.
        except Exception as error:
            raise ModelError(f"model '{self._name}': its chat template takes no system prompt: {error}") from error
        if not shown:
            raise ModelError(
                f"model '{self._name}': its chat template leaves out the system prompt; leave --system-prompt out."
            )

    def _continued(
        self,
        whole: Prompt,
        place: int,
        images: list[Image.Image],
        keys: tuple[str, ...],
        sizes: Sequence[int],
    ) -> Prompt:
        continuation = whole.request.continuations[place]
        text = joined(whole.text, continuation)
        prompt = self._prompt(whole.request, text, images, keys, sizes)
        scored = len(prompt.ids) - len(whole.ids)
        if scored < 1 or prompt.ids[: len(whole.ids)] != whole.ids:
            raise self._melted(continuation)
        return replace(prompt, text=whole.text, continued=text, continuation=place, scored=scored)

    def _prompt(
        self,
        request: Request,
        text: str,
        images: list[Image.Image],
        keys: tuple[str, ...],
        sizes: Sequence[int],
    ) -> Prompt:
        inputs = self._inputs(text, images)
        ids = inputs["input_ids"][0].tolist()
        types = inputs.get("token_type_ids", inputs.get("mm_token_type_ids"))
        places = [index for index, token in enumerate(ids) if token == self._image_token_id]
        # Some processors cut up an image that is alone, and not one of several; some models name no token for images.
        if 0 in sizes or (len(images) > 1 and len(places) != sum(sizes)):
            sizes = ()
        elif len(places) != sum(sizes):
            raise ValueError(f"the prompt has {len(places)} image tokens, but its images fill {sum(sizes)}")
        firsts = [sum(sizes[:place]) for place in range(len(sizes))]
        return Prompt(
            request=request,
            text=text,
            continued=text,
            ids=ids,
            types=None if types is None else types[0].tolist(),
            images=keys,
            begins=tuple(places[first] for first in firsts),
            ends=tuple(places[first + size - 1] + 1 for first, size in zip(firsts, sizes, strict=True)),
        )

    def _inputs(self, text: str, images: list[Image.Image]) -> "Mapping[str, torch.Tensor]":
        bos = self._processor.tokenizer.bos_token
        # Chat templates write the first token themselves; a second one would be added.
        special = {"add_special_tokens": False} if bos is not None and text.startswith(bos) else {}
        return self._processor(text=[text], images=[images] if images else None, return_tensors="pt", **special)

    def _melted(self, word: str) -> ModelError:
        return ModelError(
            f"model '{self._name}': the tokens of '{word}' cannot be separated from those of the text before it."
        )


class _Remembering:
    """An image processor that gives what it gave before for the same image objects."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self._results: dict[Any, tuple[Any, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __call__(self, images: Any, **kwargs: Any) -> Any:
        key = (_ids(images), repr(sorted(kwargs.items(), key=str)))
        if key not in self._results:
            # The images are kept too, so that no other object gets their ids.
            self._results[key] = (images, self.inner(images, **kwargs))
        # Processors take entries out of what they get.
        return copy.copy(self._results[key][1])

    def clear(self) -> None:
        self._results.clear()


def _ids(images: Any) -> Any:
    return tuple(map(_ids, images)) if isinstance(images, list | tuple) else id(images)
