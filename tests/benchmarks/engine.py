"""Time of the local engine as a ratio to a plain loop in the same run.

Run it as a script; `--questions N` sets how much is measured. The plain loop is what evaluation toolkits commonly do:
unmodified `generate` or a whole forward pass, one request at a time, the image preprocessed and encoded again each
time. The model is a LLaVA built from its configuration (vision tower of 12 layers, width 384; language model of 12
layers, width 512; 576 image tokens), in float32, its weights drawn wide enough that answers differ between prompts,
which is asserted: on equal answers an identity check proves nothing. Both ways take turns, and the ratio is the median
over the turns.
"""

import argparse
import copy
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

# Before torch is imported: threads that spin while they wait slow each other down on few cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import torch
from PIL import Image
from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil

from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.chat import to_messages
from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.local.packed import pack
from eyechart.evaluators.requests.types import IMAGE, Request

WORDS = ("good", "poor")
PREFILL = "The quality of the image is"
NEW_TOKENS = 8
OPTION_TOKENS = 12
QUESTION_TOKENS = 40
VOCABULARY = 32_000


def build(dtype: torch.dtype, device: str, size: str) -> tuple[LlavaForConditionalGeneration, LlavaProcessor]:
    """The model and its processor, which uses the bundled tokenizer."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_vlm.folder())
    # Every token that the untrained model may choose has a text of its own.
    tokenizer.add_tokens([f"<{number}>" for number in range(len(tokenizer), VOCABULARY)])
    processor = LlavaProcessor(
        LlavaImageProcessorPil(size={"shortest_edge": 336}, crop_size={"height": 336, "width": 336}),
        tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=(tiny_vlm.folder() / "chat_template.jinja").read_text(),
    )
    vision_width, vision_layers, width, layers, inner = {
        "small": (384, 12, 512, 12, 1376),
        "7b": (1024, 24, 4096, 32, 11_008),
    }[size]
    vision = CLIPVisionConfig(
        hidden_size=vision_width,
        intermediate_size=4 * vision_width,
        num_hidden_layers=vision_layers,
        num_attention_heads=vision_width // 64,
        image_size=336,
        patch_size=14,
        initializer_range=0.1,
    )
    text = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        initializer_range=0.1,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    config = LlavaConfig(
        vision_config=vision, text_config=text, image_token_index=tokenizer.convert_tokens_to_ids("<image>")
    )
    torch.manual_seed(0)
    with torch.device(device):
        torch.set_default_dtype(dtype)
        model = LlavaForConditionalGeneration(config)
        torch.set_default_dtype(torch.float32)
    model.generation_config.eos_token_id = None
    return model.eval(), processor


def words(rng: np.random.Generator, vocabulary: Sequence[str], count: int) -> str:
    """So many words, each of one token."""
    return " ".join(rng.choice(vocabulary, count))


def picture(seed: int) -> Image.Image:
    """A picture that is like no other."""
    coarse = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((448, 336), Image.Resampling.BICUBIC)


class Plain:
    """The plain loop."""

    def __init__(self, model: LlavaForConditionalGeneration, processor: LlavaProcessor) -> None:
        self._model = model
        self._processor = processor

    def _inputs(self, request: Request, continuation: str = "") -> Any:
        prefilled = bool(request.prefill)
        text = self._processor.apply_chat_template(
            to_messages(request, list(request.images)),
            add_generation_prompt=not prefilled,
            continue_final_message=prefilled,
            tokenize=False,
        )
        inputs = self._processor(text=text + continuation, images=list(request.images), return_tensors="pt")
        return inputs.to(self._model.device, dtype=self._model.dtype)

    def text(self, request: Request) -> str:
        inputs = self._inputs(request)
        with torch.inference_mode():
            output = self._model.generate(**inputs, do_sample=False, max_new_tokens=NEW_TOKENS)
        new = output[0, inputs["input_ids"].shape[1] :]
        return self._processor.tokenizer.decode(new, skip_special_tokens=True).strip()

    def logits(self, request: Request) -> list[float]:
        tokens = [self._processor.tokenizer.encode(f" {word}")[0] for word in request.words]
        with torch.inference_mode():
            return self._model(**self._inputs(request)).logits[0, -1, tokens].tolist()

    def losses(self, request: Request) -> list[float]:
        before = self._inputs(request)["input_ids"].shape[1]
        found = []
        for continuation in request.continuations:
            inputs = self._inputs(request, f" {continuation}")
            labels = inputs["input_ids"].clone()
            labels[:, :before] = -100
            with torch.inference_mode():
                found.append(self._model(**inputs, labels=labels).loss.item())
        return found


def compare(
    name: str, turns: Sequence[Sequence[Request]], plain: Callable[[Request], Any], backend: TransformersBackend
) -> float:
    """Print and give the median ratio of the plain loop's time to the engine's; assert that the answers agree."""
    ratios, seen = [], set()
    for requests in turns:
        start = time.perf_counter()
        expected = [plain(request) for request in requests]
        middle = time.perf_counter()
        found = {(response.request.id, response.request.pass_name): response for response in backend.answer(requests)}
        ratios.append((middle - start) / (time.perf_counter() - middle))
        for request, answer in zip(requests, expected, strict=True):
            response = found[request.id, request.pass_name]
            assert response.error is None, response.error
            if isinstance(answer, str):
                assert response.text == answer, (response.text, answer)
                seen.add(answer)
            else:
                got = [loss.mean for loss in response.losses] if response.losses else list(response.logits.values())
                tolerance = 1e-3 if backend.settings()["dtype"] == "float32" else 0.3
                assert np.allclose(got, answer, atol=tolerance, rtol=tolerance), (got, answer)
                seen.add(round(answer[0], 2))
    count = sum(map(len, turns))
    assert len(seen) > count / 4, f"only {len(seen)} of {count} answers differ"
    ratio = statistics.median(ratios)
    print(f"{name:<44} {ratio:5.2f} times the plain loop ({len(turns)} turns, {min(ratios):.2f}-{max(ratios):.2f})")
    return ratio


def circular(rng: np.random.Generator, vocabulary: Sequence[str], number: int) -> list[Request]:
    """The four rotations of a question."""
    image, question = picture(number), words(rng, vocabulary, QUESTION_TOKENS)
    options = [words(rng, vocabulary, OPTION_TOKENS) for _ in range(4)]
    requests = []
    for rotation in range(4):
        turned = options[rotation:] + options[:rotation]
        shown = "\n".join(f"{letter}. {option}" for letter, option in zip("ABCD", turned, strict=True))
        prompt = (IMAGE, f"\n{question}\n{shown}")
        requests.append(
            Request(str(number), prompt, (image,), max_new_tokens=NEW_TOKENS, pass_name=f"rotation:{rotation}")
        )
    return requests


def close_set(rng: np.random.Generator, vocabulary: Sequence[str], number: int) -> list[Request]:
    """A question with four candidates."""
    candidates = tuple(words(rng, vocabulary, OPTION_TOKENS) for _ in range(4))
    prompt = (IMAGE, "\n" + words(rng, vocabulary, QUESTION_TOKENS))
    return [Request(str(number), prompt, (picture(number),), prefill="#Answer:", continuations=candidates)]


def pairs(images: Sequence[Image.Image], rng: np.random.Generator, rounds: int) -> list[Request]:
    """2AFC: in each round every image is the first of a pair, and every pair is shown in both orders."""
    requests = {}
    for _ in range(rounds):
        for first, second in enumerate((np.arange(len(images)) + rng.integers(1, len(images))) % len(images)):
            for a, b in ((first, int(second)), (int(second), first)):
                shown = (images[a], images[b])
                prompt = ("The first image: ", IMAGE, " The second image: ", IMAGE, " Which is better?")
                requests[a, b] = Request(f"{a} {b}", prompt, shown, max_new_tokens=NEW_TOKENS)
    return list(requests.values())


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=8, help="questions, and images, to measure")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--size", choices=("small", "7b"), default="small")
    parser.add_argument("--batch-size", type=int, default=8)
    arguments = parser.parse_args()
    model, processor = build(getattr(torch, arguments.dtype), arguments.device, arguments.size)
    tokens = [token.removeprefix("Ġ") for token in processor.tokenizer.get_vocab() if token.startswith("Ġ")]
    vocabulary = [token for token in tokens if token.isascii() and token.isalpha()]
    rng = np.random.default_rng(0)
    # As a model is loaded; the plain loop's is left as it is.
    packed = copy.deepcopy(model)
    pack(packed)
    backend = TransformersBackend(packed, processor, name="benchmark", batch_size=arguments.batch_size)
    plain = Plain(model, processor)
    questions = range(arguments.questions)
    # Once unmeasured: the first passes of a model take longer, and the engine compares itself with a plain pass.
    warm = circular(rng, vocabulary, 999)
    list(backend.answer(warm))
    plain.text(warm[0])
    compare("CircularEval, 4 rotations", [circular(rng, vocabulary, n) for n in questions], plain.text, backend)
    compare("close set, 4 candidates", [close_set(rng, vocabulary, n) for n in questions], plain.losses, backend)
    prompt = ("Rate the quality of the image.\n", IMAGE)
    rate = [[Request(str(n), prompt, (picture(100 + n),), prefill=PREFILL, words=WORDS)] for n in questions]
    compare("A3 scores, one image a turn", rate, plain.logits, backend)
    # Each of 6 images in 10 pairs, fewer than the paper's 24.
    turns = [pairs([picture(200 + 6 * turn + n) for n in range(6)], rng, 12) for turn in range(2)]
    compare("2AFC, both orders", turns, plain.text, backend)
    print(f"prefix sharing {backend.settings()['prefix_sharing']}, on {arguments.device} in {arguments.dtype}")


if __name__ == "__main__":
    main()
