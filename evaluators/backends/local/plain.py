"""Runs complete sequences with their images, padded on the left: for models that do not support prefix sharing."""

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from transformers import GenerationConfig, LogitsProcessor, PreTrainedModel, ProcessorMixin

from eyechart.evaluators.backends.chat import decode_image
from eyechart.evaluators.backends.local.image_groups import batches
from eyechart.evaluators.backends.local.outputs import Job, TextReader, TokenSampler
from eyechart.evaluators.backends.local.rendering import special_tokens_option
from eyechart.evaluators.requests.types import Answer, OutputType


@dataclass
class PlainRunner:
    """Runs jobs with the model's own `generate` and with single forward passes."""

    model: PreTrainedModel
    processor: ProcessorMixin

    def run(self, job: Job, batch_size: int) -> list[Answer]:
        """The output of each sequence."""
        outputs: dict[int, Answer] = {}
        by_length = sorted(range(len(job.prompts)), key=lambda index: len(job.prompts[index].ids))
        for indices in batches(by_length, batch_size):
            with torch.inference_mode():
                outputs.update(zip(indices, self._outputs(job, indices), strict=True))
        return [outputs[index] for index in range(len(job.prompts))]

    def _outputs(self, job: Job, indices: Sequence[int]) -> Sequence[Answer]:
        prompts = [job.prompts[index] for index in indices]
        shown = [[decode_image(job.window.sources[key]) for key in prompt.images] for prompt in prompts]
        inputs = self.processor(
            text=[prompt.continued for prompt in prompts],
            images=shown if any(shown) else None,
            return_tensors="pt",
            padding=True,
            padding_side="left",
            **special_tokens_option(self.processor.tokenizer, prompts[0].text),
        ).to(self.model.device, dtype=self.model.dtype)
        if job.output_type is OutputType.TEXT:
            return self._generate(inputs, job.max_new_tokens, TokenSampler(job.sampling, prompts))
        parameters = inspect.signature(self.model.forward).parameters
        if "position_ids" in parameters and not hasattr(getattr(self.model, "model", self.model), "get_rope_index"):
            # By default, a forward pass counts positions from the padding; `generate` does not. Models such as Qwen2-VL
            # compute three positions of a token from the image's grid.
            inputs["position_ids"] = (inputs["attention_mask"].cumsum(dim=1) - 1).clamp(min=0)
        logits = self.model(**inputs, logits_to_keep=max(prompt.needed_logits for prompt in prompts)).logits
        return job.scores(indices, logits)

    def _generate(self, inputs: Mapping[str, torch.Tensor], max_new_tokens: int, sampler: TokenSampler) -> list[Answer]:
        reader = TextReader(self.model.generation_config, self.processor.tokenizer)
        with _plain_greedy(self.model, self.processor.tokenizer.pad_token_id):
            output = self.model.generate(
                **inputs, max_new_tokens=max_new_tokens, logits_processor=[_SampledOnly(sampler)]
            )
        return [reader.answer(tokens, max_new_tokens) for tokens in output[:, inputs["input_ids"].shape[1] :].tolist()]


class _SampledOnly(LogitsProcessor):
    """Leaves only the sampled token, which greedy decoding then takes."""

    def __init__(self, sampler: TokenSampler) -> None:
        self._sampler = sampler

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        tokens = self._sampler.next_tokens(scores, range(len(scores)))
        index = torch.as_tensor(tokens, device=scores.device)[:, None]
        return torch.full_like(scores, -torch.inf).scatter(1, index, 0.0)


@contextlib.contextmanager
def _plain_greedy(model: PreTrainedModel, pad_token_id: int) -> Iterator[None]:
    """Generate with plain argmax: ignore sampling, penalties and beams in the model's generation config."""
    config = model.generation_config
    tokens = {"eos_token_id": config.eos_token_id, "bos_token_id": config.bos_token_id, "pad_token_id": pad_token_id}
    model.generation_config = GenerationConfig(do_sample=False, num_beams=1, **tokens)
    try:
        yield
    finally:
        model.generation_config = config
