"""Closed-set inference: on a backend with known losses, and on the tiny model against a plain loop."""

import functools

import pytest

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import DataRequest, LoadedData, load_data
from eyechart.evaluators.requests.types import IMAGE, Backend, Loss, Request, Response, RowResponses
from eyechart.evaluators.tasks import get_task


class Losses(Backend):
    """A backend that knows the losses of options."""

    name = "losses"
    needs_images = True
    billed_per_request = False

    def __init__(self, of):
        self.of, self.asked = of, []

    def check(self, wanted):
        pass

    def for_data(self, subset):
        return self

    def identity(self):
        return None

    def settings(self):
        return {}

    def answer(self, requests):
        self.asked += requests
        for request in requests:
            yield Response(request, losses=tuple(self.of(request.id, option) for option in request.continuations))


def run(questions, of, *, task="q_bench/perception", **options):
    backend = Losses(of)
    loaded = LoadedData(questions, "own data", "given", "given")
    made = evaluator(task, settings=dict(inference="closed-set", **options))
    return made.run(backend, loaded), backend.asked


def test_the_model_sees_no_options_and_is_asked_for_their_losses(questions):
    _, asked = run(questions, lambda id, option: Loss(1.0, 1))
    first = asked[0]
    assert first.prompt == ("How is picture 0? ", IMAGE) and first.prefill == "#Answer:"
    assert first.continuations == first.options == ("Good", "Fair", "Poor")


def test_the_option_of_the_lowest_loss_per_token_is_the_answer_and_the_sum_a_variant(questions):
    # Per token, Good is best (1.0); in all, Poor (2.0). Right answers are Good, Fair, Poor in turn.
    losses = {"Good": Loss(4.0, 4), "Fair": Loss(9.0, 3), "Poor": Loss(2.0, 1)}
    found, _ = run(questions, lambda id, option: losses[option])
    assert found.scores["accuracy"] == pytest.approx(2 / 6)
    assert found.scores["choice_distribution"]["predicted"]["A"] == 1.0
    assert list(found.variants) == ["loss=sum"]
    assert found.variants["loss=sum"]["choice_distribution"]["predicted"]["C"] == 1.0
    assert {"by_question_type", "by_concern", "by_question_type_by_concern"} <= set(found.variants["loss=sum"])
    line = found.items[0]
    assert (line["choice"], line["losses"], line["loss_tokens"]) == ("A", [4.0, 9.0, 2.0], [4, 3, 1])
    assert (found.settings["inference"], found.settings["loss"]) == ("closed-set", "mean")
    assert found.settings["prompt_id"].endswith("/closed-set") and found.settings["prefill"] == "#Answer:"

    swapped, _ = run(questions, lambda id, option: losses[option], loss="sum")
    assert swapped.scores == found.variants["loss=sum"] and swapped.variants == {"loss=mean": found.scores}
    assert swapped.settings["loss"] == "sum" and swapped.items[0].choice == "C"


def test_of_equal_losses_the_first_option_counts_and_the_questions_are_counted(questions):
    def of(id, option):
        return Loss(2.0, 2) if id == "q0" or option == "Poor" else Loss(3.0, 2)

    found, _ = run(questions, of)
    assert [line.choice for line in found.items] == ["A", "C", "C", "C", "C", "C"]
    assert found.diagnostics["equal_lowest_losses"] == {"mean": 1, "sum": 1}


def test_of_options_with_the_same_text_the_correct_one_is_chosen(questions):
    def repeat(row):
        return {"options": ["Good", "Good", "Poor"], "answer": "B"}

    found, _ = run(questions.map(repeat), lambda id, option: Loss(1.0 if option == "Good" else 2.0, 1))
    assert found.scores["accuracy"] == 1.0 and {line.choice for line in found.items} == {"B"}


def test_shuffled_options_change_letters_and_no_score(questions):
    good = {f"q{i}": ["Good", "Fair", "Poor"][i % 3] for i in range(6)}
    for seed in (None, 1, 2):
        found, _ = run(questions, lambda id, option: Loss(1.0 if option == good[id] else 2.0, 1), shuffle_seed=seed)
        assert found.scores["accuracy"] == 1.0


def test_an_answer_file_has_the_release_s_letter_and_the_text_of_the_lowest_loss():
    protocol = evaluator("q_bench/perception", settings={"inference": "closed-set"}).protocol
    shown = ("Poor", "Good", "Fair")
    losses = (Loss(3.0, 1), Loss(2.0, 1), Loss(1.0, 1))
    request = Request("1", ("How?",), (), options=shown, continuations=shown)
    row = {"id": "1", "options": ["Good", "Fair", "Poor"], "answer": ""}
    answered = RowResponses(row, (Response(request, losses=losses),))
    assert protocol.released_reply(answered) == "B. Fair"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "sum"}, "loss='sum' has no effect on q_bench/perception with its other settings"),
        ({"inference": "top-token"}, "inference='top-token': .*expected options | closed-set"),
        ({"inference": "closed-set", "prompt": "answer-mark"}, "prompt='answer-mark' has no effect"),
        ({"inference": "closed-set", "max_new_tokens": 8}, "max_new_tokens=8 has no effect"),
        ({"inference": "closed-set", "fallback": "random"}, "fallback='random' has no effect"),
    ],
    ids=str,
)
def test_settings_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        evaluator("q_bench/perception", settings=options)


def test_what_gives_no_losses_is_refused(tmp_path):
    (tmp_path / "answers.jsonl").write_text('{"id": "q0", "text": "A"}\n')
    task = evaluator("q_bench/perception", settings=dict(inference="closed-set"))
    for model in (lambda messages: "A", PredictionsFileBackend(tmp_path / "answers.jsonl")):
        with pytest.raises(ModelError, match="losses of given continuations"):
            task.compute(model)


@pytest.mark.parametrize("task", ["q_bench/perception", "q_bench/perception_pairs"])
def test_the_tiny_models_losses_are_those_of_a_plain_loop(task):
    loaded = load_data(get_task(task), DataRequest(is_mini=True, limit=8))
    made = evaluator(task, settings=dict(inference="closed-set"))
    found = made.run(made.prepare_pipeline(), loaded)
    for line, row in zip(found.items, loaded.dataset, strict=False):
        totals, counts = plain_losses(row["question"], row["images"], row["options"])
        assert line["losses"] == pytest.approx(totals, abs=1e-3)
        assert line["loss_tokens"] == counts
        means = [total / count for total, count in zip(totals, counts, strict=True)]
        assert line["choice"] == "ABCD"[means.index(min(means))]
    assert found.scores["accuracy"] > found.scores["random_guess"]


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
