"""Closed-set inference: on a backend with known losses, and on the tiny model against a plain loop."""

import functools

import pytest

from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, Backend, Loss, Response
from eyechart.evaluators.tasks import get_task
from tests.evaluators import running

TASK = "q_bench/perception"


class Losses(Backend):
    """A backend that knows the losses of options."""

    name = "losses"
    needs_images = True

    def __init__(self, of):
        self.of, self.asked = of, []

    def check(self, output_type):
        pass

    def settings(self):
        return {}

    def answer(self, requests):
        self.asked += requests
        for request in requests:
            yield Response(request, losses=tuple(self.of(request.id, option) for option in request.continuations))


def run(questions, of, **options):
    return running.run(TASK, Losses(of), questions, inference="closed-set", **options)


def test_the_model_sees_no_options_and_is_asked_for_their_losses(questions):
    backend = Losses(lambda id, option: Loss(1.0, 1))
    running.run(TASK, backend, questions, inference="closed-set")
    first = backend.asked[0]
    assert first.prompt == ("How is picture 0? ", IMAGE) and first.prefill == "#Answer:"
    assert first.continuations == first.options == ("Good", "Fair", "Poor")


def test_the_option_of_the_lowest_loss_per_token_is_the_answer(questions):
    # Per token, Good is best (1.0); the sum of Poor is lower. Right answers are Good, Fair, Poor in turn.
    losses = {"Good": Loss(4.0, 4), "Fair": Loss(9.0, 3), "Poor": Loss(2.0, 1)}
    result = run(questions, lambda id, option: losses[option])
    assert result.scores["accuracy"] == pytest.approx(2 / 6)
    assert result.scores["choice_distribution"]["predicted"]["A"] == 1.0
    item = result.items[0]
    assert (item.choice, item.losses, item.loss_tokens) == ("A", [4.0, 9.0, 2.0], [4, 3, 1])
    assert result.settings["inference"] == "closed-set" and result.variants == {}
    assert result.settings["prompt_id"].endswith("/closed-set") and result.settings["prefill"] == "#Answer:"


def test_of_equal_losses_the_first_option_counts_and_the_questions_are_counted(questions):
    result = run(questions, lambda id, option: Loss(2.0 if id == "q0" or option == "Poor" else 3.0, 2))
    assert [item.choice for item in result.items] == ["A", "C", "C", "C", "C", "C"]
    assert result.diagnostics["equal_lowest_losses"] == 1


def test_of_options_with_the_same_text_the_correct_one_is_chosen(questions):
    repeated = questions.map(lambda row: {"options": ["Good", "Good", "Poor"], "answer": "B"})
    result = run(repeated, lambda id, option: Loss(1.0 if option == "Good" else 2.0, 1))
    assert result.scores["accuracy"] == 1.0 and {item.choice for item in result.items} == {"B"}


def test_an_answer_file_has_the_release_s_letter_and_the_text_of_the_lowest_loss(questions):
    task = evaluator(TASK, settings={"inference": "closed-set", "shuffle_seed": 3})
    private = questions.map(lambda row: {"answer": ""})
    backend = Losses(lambda id, option: Loss(1.0 if option == "Fair" else 2.0, 1))
    result = task.run(backend, running.loaded(private))
    assert any(item.options != ["Good", "Fair", "Poor"] for item in result.items)
    assert [reply for _, reply in task.protocol.released(list(private), result.items)] == ["B. Fair"] * 6


def test_what_gives_no_losses_is_refused(tmp_path, questions):
    file = running.predictions(tmp_path, [{"id": "q0", "text": "A"}])
    for model in (lambda messages: "A", file):
        with pytest.raises(ModelError, match="losses of given continuations"):
            evaluator(TASK, settings={"inference": "closed-set"}).compute(model, questions)


@pytest.mark.parametrize("task", [TASK, "q_bench/perception_pairs"])
def test_the_tiny_models_losses_are_those_of_a_plain_loop(task):
    data = load_data(get_task(task), DataRequest(is_mini=True, limit=8))
    bound = evaluator(task, settings={"inference": "closed-set"})
    result = bound.run(bound.prepare_pipeline(), data)
    for item, row in zip(result.items, data.dataset, strict=False):
        totals, counts = plain_losses(row["question"], row["images"], row["options"])
        assert item.losses == pytest.approx(totals, abs=1e-3)
        assert item.loss_tokens == counts
        means = [total / count for total, count in zip(totals, counts, strict=True)]
        assert item.choice == "ABCD"[means.index(min(means))]
    assert result.scores["accuracy"] > result.scores["random_guess"]


def plain_losses(question, images, options):
    """Loss and number of tokens of each option behind `#Answer:`, one forward pass each."""
    import torch

    model, processor = tiny()
    content = [{"type": "text", "text": f"{question} "}, *({"type": "image"} for _ in images)]
    chat = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": [{"type": "text", "text": "#Answer:"}]},
    ]
    text = processor.apply_chat_template(chat, tokenize=False, continue_final_message=True)
    before = processor(text=text, images=images, return_tensors="pt")["input_ids"].shape[1]
    totals, counts = [], []
    for option in options:
        inputs = processor(text=f"{text} {option}", images=images, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**inputs).logits[0, before - 1 : -1]
        tokens = inputs["input_ids"][0, before:]
        totals.append(torch.nn.functional.cross_entropy(logits, tokens, reduction="sum").item())
        counts.append(len(tokens))
    return totals, counts


@functools.cache
def tiny():
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from eyechart.evaluators import tiny_vlm

    folder = tiny_vlm.folder()
    return AutoModelForImageTextToText.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
