"""Regressors from descriptions to scores: training, folders, validation, and their commands, on a tiny encoder."""

import csv
import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel
from transformers.utils import logging

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.results.items import MAIN, Item
from eyechart.evaluators.results.items import write_predictions as write_items
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.text_to_score import TrainingSettings
from eyechart.evaluators.text_to_score.regressor import RECORD_FILE, TextToScore, assign_folds, cross_validate, train
from eyechart.metrics.scoring.errors import SmallSampleWarning
from tests.evaluators import command_line

QUALITY = {"low": 20.0, "medium": 50.0, "high": 80.0}
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


@pytest.fixture(scope="session")
def descriptions():
    """Texts and qualities of the interpretations of the mini AesBench."""
    rows = load_dataset("aesbench", "interpretation", split="test", data_dir=mini.release("aesbench"))
    return list(rows["description"]), [QUALITY[level] for level in rows["level"]]


@pytest.fixture(scope="session")
def encoder(descriptions, tmp_path_factory) -> str:
    """A folder with a BERT of one layer and a tokenizer that knows the words of the mini descriptions."""
    folder: Path = tmp_path_factory.mktemp("encoder")
    words = Tokenizer(models.WordLevel(unk_token=SPECIAL["unk_token"]))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(descriptions[0], trainers.WordLevelTrainer(special_tokens=list(SPECIAL.values())))
    marks = [(mark, words.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    words.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    PreTrainedTokenizerFast(tokenizer_object=words, **SPECIAL).save_pretrained(folder)
    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 128}
    # Without earlier training, wide beginnings and no dropout make it learn from few texts whatever the seed.
    easy = {"initializer_range": 0.1, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(vocab_size=words.get_vocab_size(), max_position_embeddings=64, **sizes, **easy)
        BertModel(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def settings(encoder) -> TrainingSettings:
    """Settings with which the small encoder learns the mini descriptions."""
    return TrainingSettings(encoder, epochs=10, learning_rate=3e-3, batch_size=8, max_length=64, cpu_only=True)


@pytest.fixture(scope="session")
def regressor(descriptions, settings):
    """A regressor that was trained on all mini descriptions."""
    return train(*descriptions, settings)


def test_what_was_trained_on_is_scored_in_the_unit_of_the_scores(regressor, descriptions):
    texts, scores = descriptions
    predicted = regressor.predict(texts)
    assert spearmanr(predicted, scores).statistic > 0.9
    assert np.abs(predicted - scores).mean() < 10
    good, poor = regressor.predict(["Overall, the quality is good.", "Overall, the quality is poor."])
    assert 100 > good > 60 > 40 > poor > 0


def test_a_saved_regressor_has_the_same_weights_bit_for_bit_and_a_record(regressor, descriptions, settings, tmp_path):
    regressor.save(tmp_path / "saved")
    loaded = TextToScore.load(tmp_path / "saved", cpu_only=True)
    saved = regressor.model.state_dict()
    assert loaded.model.state_dict().keys() == saved.keys()
    assert all(torch.equal(values, saved[name]) for name, values in loaded.model.state_dict().items())
    # Kernels may round otherwise where weights lie elsewhere in memory.
    np.testing.assert_allclose(loaded.predict(descriptions[0]), regressor.predict(descriptions[0]), rtol=1e-4)
    assert loaded.record == regressor.record
    names = {path.name for path in (tmp_path / "saved").rglob("*")}
    assert names == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", RECORD_FILE}
    record = json.loads((tmp_path / "saved" / RECORD_FILE).read_text())
    assert (record["schema"], record["settings"]) == (1, dataclasses.asdict(settings))
    assert record["mean"] == pytest.approx(np.mean(descriptions[1]))
    assert record["standard_deviation"] == pytest.approx(np.std(descriptions[1]))
    assert record["base_model"]["architecture"] == "BertForSequenceClassification"
    assert len(record["base_model"]["fingerprint"]) == 64
    assert {"eyechart", "torch", "transformers"} <= set(record["versions"])


def test_of_a_long_text_the_beginning_is_read_and_that_is_told(regressor):
    with pytest.warns(UserWarning, match="1 of 2 texts .* max_length=64") as caught:
        cut, _ = regressor.predict(["the image is good " * 40, "good"])
    begun = regressor.predict([" ".join(("the image is good " * 40).split()[:62])])[0]
    assert cut == pytest.approx(begun, abs=1e-3) and caught[0].filename == __file__


def test_defaults_are_those_of_bert_and_settings_out_of_range_are_refused():
    """Appendix A.3 of https://arxiv.org/abs/1810.04805, for fine-tuning."""
    published = {"epochs": 4, "learning_rate": 3e-5, "warmup": 0.1, "weight_decay": 0.01, "batch_size": 16}
    defaults = dataclasses.asdict(TrainingSettings())
    assert defaults.items() >= {**published, "max_length": 256, "seed": 0, "cpu_only": False}.items()
    for setting, value in (("epochs", 0), ("learning_rate", float("nan")), ("warmup", 1.0)):
        with pytest.raises(UsageError, match=f"{setting}={value} is not allowed; expected a number from"):
            TrainingSettings(**{setting: value})
    pairs = {"scores has 1": [1.0], "scores[1] is nan": [1.0, float("nan")], "scores are all 2.0": [2.0, 2.0]}
    for problem, scores in pairs.items():
        with pytest.raises(UsageError, match=re.escape(problem)):
            train(["a", "b"], scores, TrainingSettings("./nowhere"))


def test_encoders_and_settings_that_cannot_be_used_are_refused(descriptions, settings):
    with pytest.raises(ModelError, match=r"encoder './nowhere' cannot be loaded"):
        train(*descriptions, dataclasses.replace(settings, model="./nowhere"))
    with pytest.raises(UsageError, match=r"max_length=65 is not allowed"):
        train(*descriptions, dataclasses.replace(settings, max_length=65))
    with pytest.raises(ModelError, match=r"training diverged with learning_rate=1e\+30; try a smaller value"):
        train(*descriptions, dataclasses.replace(settings, epochs=1, learning_rate=1e30, warmup=0.0))


def test_other_families_and_number_formats_are_trained_in_float32(descriptions, settings, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(settings.model)
    tokenizer.save_pretrained(tmp_path)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = RobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=64, pad_token_id=0, **sizes)
    RobertaModel(config).to(torch.bfloat16).save_pretrained(tmp_path)
    short = dataclasses.replace(settings, model=str(tmp_path), epochs=1)
    # Its configuration names 64 positions, of which the first is that of padding.
    with pytest.raises(UsageError, match=r"max_length=64 is not allowed; encoder .* cannot read that many tokens"):
        train(*descriptions, short)
    regressor = train(*descriptions, dataclasses.replace(short, max_length=63))
    regressor.save(tmp_path / "saved")
    loaded = TextToScore.load(tmp_path / "saved", cpu_only=True)
    np.testing.assert_allclose(loaded.predict(descriptions[0]), regressor.predict(descriptions[0]), rtol=1e-4)
    assert loaded.record.base_model["architecture"] == "RobertaForSequenceClassification"
    assert {str(values.dtype) for values in loaded.model.parameters()} == {"torch.float32"}


def test_a_regressor_depends_on_its_seed_alone_and_prints_nothing_where_there_is_no_terminal(
    descriptions, settings, capfd
):
    logging.disable_progress_bar()
    logging.set_verbosity_error()

    texts, scores = descriptions[0][::3], descriptions[1][::3]

    def predictions(seed):
        return train(texts, scores, dataclasses.replace(settings, seed=seed, epochs=1)).predict(texts)

    first = predictions(1)
    np.testing.assert_allclose(predictions(1), first, rtol=1e-4)
    assert np.abs(predictions(2) - first).max() > 1
    assert capfd.readouterr() == ("", "")


def test_folders_that_are_not_empty_or_damaged_are_refused(descriptions, settings, regressor, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        train(*descriptions, settings, tmp_path)
    with pytest.raises(ModelError, match=f"is not a regressor.*{RECORD_FILE}"):
        TextToScore.load(tmp_path)
    regressor.save(tmp_path / "saved")
    record, weights = tmp_path / "saved" / RECORD_FILE, tmp_path / "saved" / "model.safetensors"
    complete = record.read_text()
    record.write_text(json.dumps(json.loads(complete) | {"standard_deviation": 0}))
    with pytest.raises(ModelError, match="cannot be read"):
        TextToScore.load(tmp_path / "saved")
    record.write_text(complete)
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(ModelError, match="cannot be loaded"):
        TextToScore.load(tmp_path / "saved")


def test_unseen_descriptions_are_ranked_far_above_chance(descriptions, settings):
    validated = cross_validate(*descriptions, settings, folds=2, image_ids=[f"{row}" for row in range(72)])
    assert validated.settings == {**dataclasses.asdict(settings), "folds": 2, "images": 72}
    assert validated.scores["n"] == 72
    assert validated.scores["srcc"] > 0.85 and validated.scores["plcc"] > 0.85
    assert validated.scores["srcc_ci95"][0] > 0.8


def test_a_fold_of_whole_images_is_predicted_by_a_regressor_trained_on_the_others(descriptions, settings):
    texts, scores = descriptions[0][:24], descriptions[1][:24]
    short = dataclasses.replace(settings, epochs=1)
    with pytest.warns(SmallSampleWarning, match="the fit inflates plcc_fitted"):
        validation = cross_validate(texts, scores, short, folds=2, image_ids=[f"{row // 3}" for row in range(24)])
    assert (validation.folds.reshape(8, 3) == validation.folds[::3, None]).all()
    assert sorted(np.bincount(validation.folds)) == [0, 12, 12]
    assert (validation.settings["images"], validation.scores["n"]) == (8, 24)
    others, asked = (np.flatnonzero(rows) for rows in (validation.folds != 2, validation.folds == 2))
    regressor = train([texts[row] for row in others], [scores[row] for row in others], short)
    np.testing.assert_allclose(
        regressor.predict([texts[row] for row in asked]), validation.predictions[asked], rtol=1e-4
    )
    with pytest.raises(UsageError, match="folds=9 is not allowed; expected 2 to 8, the number of images"):
        cross_validate(texts, scores, short, folds=9, image_ids=[f"{row // 3}" for row in range(24)])
    # Whatever the order of the images, and another for another seed.
    ids = [f"image {number % 20}" for number in range(50)]
    folds = assign_folds(ids, 3, seed=4)
    assert (assign_folds(ids[::-1], 3, seed=4)[::-1] == folds).all()
    assert (assign_folds(ids, 3, seed=5) != folds).any()


DESCRIPTION_TASKS = ("aes_bench/interpretation", "q_bench/description")


def invoke(*arguments, code=None):
    return command_line.invoke("text-to-score", *arguments, code=code)


def options(settings):
    values = {**dataclasses.asdict(settings), "epochs": 1}
    names = ("model", "epochs", "learning_rate", "batch_size", "max_length")
    return ["--cpu-only", *(part for name in names for part in (f"--{name.replace('_', '-')}", values[name]))]


def write_predictions(path, rows):
    """A predictions.parquet of (task, id, text), and the repeat if it is not the first."""
    results = [
        TaskResult(task=task, dataset="d", split="test", items=[Item(id, MAIN, *repeat, text=text)])
        for task, id, text, *repeat in rows
    ]
    write_items(path, results)
    return path


def read_scores(path):
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["id", "score"]
    return {name: float(score) for name, score in rows}


def same(scores):
    """What equals the scores but for rounding: in batches of another shape, a network's last digits differ."""
    return pytest.approx(scores, rel=1e-4)


def test_train_apply_and_the_same_from_python_agree(descriptions, settings, tmp_path):
    texts, scores = descriptions[0][::3], descriptions[1][::3]
    rows = [(f"{row}.png", text, score) for row, (text, score) in enumerate(zip(texts, scores, strict=True))]
    pairs_file = tmp_path / "pairs.csv"
    with pairs_file.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "description", "score"), *rows])
    done = invoke("train", pairs_file, "--out", tmp_path / "regressor", *options(settings), code=0)
    assert done.output == f"Trained on 24 descriptions; the regressor is in {tmp_path / 'regressor'}\n"
    out = tmp_path / "new" / "folder" / "scores.csv"
    done = invoke("apply", tmp_path / "regressor", pairs_file, "--out", out, "--cpu-only")
    assert (done.exit_code, done.output) == (0, f"24 scores are in {out}\n")
    applied = read_scores(out)
    assert list(applied) == [f"{row}.png" for row in range(24)]
    regressor = train(texts, scores, dataclasses.replace(settings, epochs=1))
    assert list(applied.values()) == same(regressor.predict(texts).tolist())
    loaded = TextToScore.load(tmp_path / "regressor", cpu_only=True)
    assert loaded.record.settings == regressor.record.settings


def test_apply_takes_one_task_of_a_run_and_leaves_out_empty_texts_on_request(regressor, tmp_path):
    regressor.save(tmp_path / "regressor")
    aesthetics, quality = DESCRIPTION_TASKS
    rows = [(aesthetics, "a", "It is good."), (quality, "a", "It is poor."), (quality, "b", None), (quality, "c", " ")]
    # The first of the repeats is used.
    rows += [("q_bench/perception", "a", "A"), (quality, "d", "It is good."), (quality, "d", "It is poor.", 2)]
    write_predictions(tmp_path / "predictions.parquet", rows)
    out = tmp_path / "scores.csv"
    apply = ["apply", tmp_path / "regressor", tmp_path, "--out", out, "--cpu-only"]
    done = invoke(*apply, code=2)
    assert f"answers to {aesthetics} and {quality}; choose one" in done.output
    done = invoke(*apply, "--task", quality, code=1)
    assert "2 texts are empty, the first with id 'b'; --skip-bad leaves them out" in done.output
    assert not out.exists()
    done = invoke(*apply, "--task", quality, "--skip-bad", code=0)
    assert "left out: id 'b'" in done.output and "left out: id 'c'" in done.output
    expected = regressor.predict(["It is poor.", "It is good."])
    assert read_scores(out) == same(dict(zip("ad", expected, strict=True)))
    done = invoke(*apply, "--task", aesthetics, code=0)
    assert "do not measure what the model saw" in done.output
    assert list(read_scores(out)) == ["a"]


def test_validate_prints_every_fold_and_writes_every_prediction(descriptions, settings, tmp_path):
    texts, scores = descriptions[0][::2], descriptions[1][::2]
    pairs = enumerate(zip(texts, scores, strict=True))
    rows = [{"id": f"{row // 2}", "description": text, "score": score} for row, (text, score) in pairs]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "validation.json"
    done = invoke("validate", tmp_path / "pairs.jsonl", "--folds", "2", "--out", out, *options(settings), code=0)
    contents = json.loads(out.read_text())
    table = [line.split("│")[1:-1] for line in done.output.splitlines() if "│" in line]
    expected = [*sorted(contents["scores"]["by_fold"].items()), ("all", contents["scores"])]
    assert [[cell.strip() for cell in row] for row in table] == [
        [name, str(part["n"]), f"{part['srcc']:.3f}", f"{part['plcc']:.3f}"] for name, part in expected
    ]
    assert contents["settings"]["images"] == 18 and "torch" in contents["versions"]
    assert [item["id"] for item in contents["predictions"]] == [row["id"] for row in rows]
    assert [item["score"] for item in contents["predictions"]] == scores
    assert {item["fold"] for item in contents["predictions"]} == {1, 2}


@pytest.mark.parametrize(
    ("name", "text", "code", "message"),
    [
        ("pairs.txt", "", 2, "expected a CSV (.csv) or JSON Lines (.jsonl) file"),
        ("pairs.csv", "id,description,score\na,good,high\n", 1, "row 2: field 'score' must be a number, found 'high'"),
        ("pairs.csv", "id,description,score\na,,1\n", 1, "row 2: field 'description' is empty"),
        ("pairs.jsonl", '{"id": "a"\n', 1, "row 1: not valid JSON"),
    ],
)
def test_bad_files_of_pairs_are_refused(settings, tmp_path, name, text, code, message):
    (tmp_path / name).write_text(text)
    done = invoke("train", tmp_path / name, "--out", tmp_path / "out", *options(settings))
    assert (done.exit_code, message in done.output) == (code, True), done.output
    assert not (tmp_path / "out").exists()


def test_predictions_of_which_no_scores_can_be_made_are_refused(regressor, tmp_path):
    rows = [(DESCRIPTION_TASKS[1], "a", "good")] * 2
    predictions = write_predictions(tmp_path / "p.parquet", rows)
    regressor.save(tmp_path / "regressor")
    apply = ("apply", tmp_path / "regressor", predictions, "--out", tmp_path / "scores.csv")
    assert "row 2: duplicate id 'a'" in invoke(*apply, code=1).output
    assert "unknown task" in invoke(*apply, "--task", "q_bench/descriptions", code=2).output
