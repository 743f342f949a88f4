"""Trains the bundled tiny model: `python -m tests.tiny_vlm.train --out FOLDER`.

There are three phases, about an hour on two CPU cores: draw the images; train only the vision tower, to recognize the
facts of a scene; freeze it and train the projector and the language model on conversations. A prototype that was
trained jointly from scratch learnt nothing in that time. Seeds are fixed: equal versions on equal hardware give equal
weights, and other hardware differs only by floating-point rounding.
"""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader

from eyechart.datasets_scripts.mini.mmbench import FACTS
from eyechart.datasets_scripts.mini.scenes import DISTORTION_TYPES, LEVELS
from tests.tiny_vlm.architecture import build_model, build_processor, build_tokenizer
from tests.tiny_vlm.corpus import TRAINING_SEED, Sample
from tests.tiny_vlm.lessons import BATCHES_AT_ONCE, IGNORED, Batches, Example, Lessons, corpus_texts, draw_lessons

if TYPE_CHECKING:
    from transformers import LlavaForConditionalGeneration, LlavaProcessor

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
TOKENIZER_TEXTS = 12_000
VISION_STEPS, VISION_BATCH, VISION_RATE = 5_000, 96, 2e-3
LANGUAGE_STEPS, LANGUAGE_RATE = 12_000, 1.2e-3

# If the reply is a letter, this layer is also trained to predict the word of the answer, and the layers above find the
# letter. Without this loss, the model learnt letters for what it sees, but stayed at the chance level for yes and no.
ANSWER_LAYER, ANSWER_WEIGHT = 3, 0.5

Facts = dict[str, torch.Tensor]


def main() -> None:
    """Reads the command line, trains and saves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the images and steps to use, for a trial run"
    )
    arguments = parser.parse_args()
    train(arguments.out, arguments.scale)


def train(out: Path, scale: float = 1.0) -> None:
    """Train the model and save it with its processor.

    Args:
        out: Folder to write to, created if absent.
        scale: Share of the images and steps to use; 1 is the released model.
    """
    torch.manual_seed(0)
    start = time.monotonic()
    lessons = draw_lessons(scale)
    samples = lessons.samples
    print(f"{len(samples)} images drawn in {time.monotonic() - start:.0f} s", flush=True)
    processor = build_processor(build_tokenizer(corpus_texts(lessons, max(1, int(TOKENIZER_TEXTS * scale)))))
    model = build_model(processor.tokenizer).to(DEVICE)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {DEVICE}", flush=True)
    images = torch.from_numpy(np.stack([np.asarray(sample.image) for sample in samples])).permute(0, 3, 1, 2)
    images = images.to(DEVICE)
    _train_vision(model, images, _facts(samples), processor, int(VISION_STEPS * scale))
    print(f"vision tower trained after {time.monotonic() - start:.0f} s", flush=True)
    features = _features(model, images, processor)
    _train_language(model, processor, lessons, features, int(LANGUAGE_STEPS * scale))
    # Saved as it is used, without dropout.
    _save(model.eval().cpu(), processor, out)
    print(f"saved to {out} after {time.monotonic() - start:.0f} s", flush=True)


def _facts(samples: list[Sample]) -> Facts:
    """The classes that the vision tower learns to distinguish, as one tensor of indices per fact."""
    classes: dict[str, tuple[Sequence[object], list[object]]] = {
        "distortion_type": (("", *DISTORTION_TYPES), [s.distortion_type for s in samples]),
        "level": ((0, *LEVELS), [s.level for s in samples]),
        "digit": (("", *FACTS["digit"]), [s.digit for s in samples]),
    }
    for fact in ("shape", "color", "background", "position", "size"):
        classes[fact] = FACTS[fact], [getattr(s.scene, fact) for s in samples]
    return {
        name: torch.tensor([names.index(value) for value in values]).to(DEVICE)
        for name, (names, values) in classes.items()
    }


def _normalize(images: torch.Tensor, processor: "LlavaProcessor") -> torch.Tensor:
    settings = processor.image_processor
    mean, std = (torch.tensor(v).view(3, 1, 1).to(DEVICE) for v in (settings.image_mean, settings.image_std))
    return (images.float() / 255 - mean) / std


def _optimizer(
    parameters: list[nn.Parameter], rate: float, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.02, betas=(0.9, 0.98))
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=max(steps, 20), pct_start=0.06)


def _train_vision(
    model: "LlavaForConditionalGeneration", images: torch.Tensor, facts: Facts, processor: "LlavaProcessor", steps: int
) -> None:
    tower = model.model.vision_tower
    width = tower.config.hidden_size
    heads = nn.ModuleDict({name: nn.Linear(width, int(values.max()) + 1) for name, values in facts.items()}).to(DEVICE)
    norm = nn.LayerNorm(width).to(DEVICE)
    parameters = [p for module in (tower, heads, norm) for p in module.parameters()]
    optimizer, schedule = _optimizer(parameters, VISION_RATE, steps)
    rng = np.random.default_rng([TRAINING_SEED, 2])
    # Shuffled with a fixed seed, so that the held-out images are of all kinds.
    order = torch.from_numpy(rng.permutation(len(images))).to(DEVICE)
    fitted, held_out = order[len(images) // 24 :], order[: len(images) // 24]
    for step in range(steps):
        chosen = fitted[torch.from_numpy(rng.integers(len(fitted), size=VISION_BATCH)).to(DEVICE)]
        tokens = norm(tower(pixel_values=_normalize(images[chosen], processor)).last_hidden_state)
        # The class token gives the language model one place to look; the mean keeps the patches informative, too.
        states = torch.cat([tokens[:, 0], tokens[:, 1:].mean(dim=1)])
        losses = {
            name: functional.cross_entropy(heads[name](states), values[chosen].repeat(2))
            for name, values in facts.items()
        }
        loss = sum(losses.values()) + losses["distortion_type"] + losses["level"]
        _step(loss, parameters, optimizer, schedule)
        if step % 250 == 0:
            print(f"vision {step}: " + " ".join(f"{n} {v.item():.2f}" for n, v in losses.items()), flush=True)
    with torch.no_grad():
        chunks = images[held_out].split(512)
        tokens = norm(torch.cat([tower(pixel_values=_normalize(c, processor)).last_hidden_state for c in chunks]))
        found = {name: heads[name](tokens[:, 0]).argmax(dim=1) == values[held_out] for name, values in facts.items()}
    print("held out: " + " ".join(f"{n} {v.float().mean():.3f}" for n, v in found.items()), flush=True)


def _step(
    loss: torch.Tensor,
    parameters: list[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
) -> None:
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    schedule.step()


@torch.no_grad()
def _features(
    model: "LlavaForConditionalGeneration", images: torch.Tensor, processor: "LlavaProcessor"
) -> torch.Tensor:
    """The frozen tower's output for every image, shape (images, tokens, width), in half precision to save memory."""
    # Frozen from here on, and without dropout.
    tower = model.model.vision_tower.requires_grad_(False).eval()
    chunks = [tower(pixel_values=_normalize(chunk, processor)).last_hidden_state.half() for chunk in images.split(512)]
    return torch.cat(chunks)


def _train_language(
    model: "LlavaForConditionalGeneration",
    processor: "LlavaProcessor",
    lessons: Lessons,
    features: torch.Tensor,
    steps: int,
) -> None:
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer, schedule = _optimizer(parameters, LANGUAGE_RATE, steps + BATCHES_AT_ONCE)
    running = torch.zeros((), device=DEVICE)
    # Other processes make the batches, so that the model does not wait for them.
    items = DataLoader(
        Batches(lessons, processor, steps),
        batch_size=None,
        collate_fn=lambda item: item,
        num_workers=max(1, (os.cpu_count() or 1) - 1),
        prefetch_factor=8,
        multiprocessing_context="fork",
    )
    for step, batch in enumerate(batch for item in items for batch in item):
        loss = _language_loss(model, processor, batch, features)
        _step(loss, parameters, optimizer, schedule)
        running = loss.detach() if step == 0 else 0.98 * running + 0.02 * loss.detach()
        if step % 250 == 0:
            print(f"language {step}: loss {running.item():.3f}", flush=True)


def _language_loss(
    model: "LlavaForConditionalGeneration", processor: "LlavaProcessor", batch: list[Example], features: torch.Tensor
) -> torch.Tensor:
    """Cross entropy of the replies, averaged over examples, and of the answers' words at `ANSWER_LAYER`."""
    length = max(len(example.prompt) + len(example.reply) for example in batch)
    ids = torch.full((len(batch), length), processor.tokenizer.pad_token_id)
    labels = torch.full((len(batch), length), IGNORED)
    for row, example in enumerate(batch):
        start, tokens = len(example.prompt), torch.tensor(example.prompt + example.reply)
        ids[row, : len(tokens)] = tokens
        labels[row, start : len(tokens)] = tokens[start:]
    ids, labels = ids.to(DEVICE), labels.to(DEVICE)
    shown = torch.tensor([index for example in batch for index in example.images], dtype=torch.long).to(DEVICE)
    projected = model.model.multi_modal_projector(features[shown].float())
    embeddings = model.get_input_embeddings()(ids)
    places = (ids == model.config.image_token_id).unsqueeze(-1).expand_as(embeddings)
    embeddings = embeddings.masked_scatter(places, projected)
    # Padding is on the right, where a causal model does not see it, so no mask is needed.
    states = model.model.language_model(inputs_embeds=embeddings, output_hidden_states=True).hidden_states
    learnt = labels[:, 1:] != IGNORED
    logits = model.lm_head(states[-1][:, :-1][learnt])
    losses = functional.cross_entropy(logits, labels[:, 1:][learnt], reduction="none")
    # Divided by the square root of the length, so that a description does not outweigh twenty letters.
    loss = (losses / learnt.sum(dim=1)[learnt.nonzero()[:, 0]].float().sqrt()).sum()
    answers = torch.tensor([example.answer for example in batch]).to(DEVICE)
    ends = torch.tensor([len(example.prompt) - 1 for example in batch])
    early = model.model.language_model.norm(states[ANSWER_LAYER][torch.arange(len(batch)), ends])
    words = functional.cross_entropy(model.lm_head(early), answers, ignore_index=IGNORED, reduction="sum")
    return (loss + ANSWER_WEIGHT * words) / len(batch)


def _save(model: "LlavaForConditionalGeneration", processor: "LlavaProcessor", out: Path) -> None:
    model.save_pretrained(out)
    processor.save_pretrained(out)
    file = out / "model.safetensors"
    # The vision tower's weights get the names of the original LLaVA, which vLLM loads; transformers knows both names.
    inner, outer = "vision_tower.vision_model.", "vision_tower."
    weights = {
        name if name.startswith(inner) else name.replace(outer, inner, 1): tensor
        for name, tensor in load_file(file).items()
    }
    save_file(weights, file, {"format": "pt"})


if __name__ == "__main__":
    main()
