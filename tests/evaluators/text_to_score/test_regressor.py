import dataclasses
import json

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.text_to_score import TrainingSettings
from eyechart.evaluators.text_to_score.regressor import RECORD_FILE, TextToScore, assign_folds, cross_validate, train
from eyechart.metrics.scoring.errors import SmallSampleWarning


def test_what_was_trained_on_is_scored_in_the_unit_of_the_scores(regressor, descriptions):
    texts, scores = descriptions
    predicted = regressor.predict(texts)
    assert spearmanr(predicted, scores).statistic > 0.9
    assert np.abs(predicted - scores).mean() < 10
    good, poor = regressor.predict(["Overall, the quality is good.", "Overall, the quality is poor."])
    assert 100 > good > 60 > 40 > poor > 0


def test_scores_in_another_unit_are_predicted_in_that_unit(regressor, descriptions, settings):
    texts, scores = descriptions
    other = train(texts, [3 - score / 1000 for score in scores], settings)
    assert other.record.standard_deviation == pytest.approx(regressor.record.standard_deviation / 1000)
    assert other.record.mean == pytest.approx(3 - regressor.record.mean / 1000)
    assert spearmanr(other.predict(texts), scores).statistic < -0.9


def test_a_saved_regressor_has_the_same_weights_bit_for_bit_and_gives_the_same_predictions(
    regressor, descriptions, tmp_path
):
    regressor.save(tmp_path / "saved")
    loaded = TextToScore.load(tmp_path / "saved", cpu_only=True)
    saved = regressor.model.state_dict()
    assert loaded.model.state_dict().keys() == saved.keys()
    assert all(torch.equal(values, saved[name]) for name, values in loaded.model.state_dict().items())
    # Kernels may round otherwise where weights lie elsewhere in memory.
    np.testing.assert_allclose(loaded.predict(descriptions[0]), regressor.predict(descriptions[0]), rtol=1e-4)
    assert loaded.record == regressor.record


def test_a_folder_holds_safetensors_and_a_record_and_nothing_of_the_training(descriptions, settings, tmp_path):
    short = dataclasses.replace(settings, epochs=1)
    (first, *others), scores = descriptions
    with pytest.warns(UserWarning, match="1 of 72 texts .* max_length=64"):
        train([first * 20, *others], scores, short, tmp_path / "new" / "out")
    names = {path.name for path in (tmp_path / "new" / "out").rglob("*")}
    assert names == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", RECORD_FILE}
    text = (tmp_path / "new" / "out" / RECORD_FILE).read_text()
    record = json.loads(text)
    assert record["settings"] == dataclasses.asdict(short) and text.startswith('{\n  "schema": 1,')
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


@pytest.mark.parametrize(
    ("texts", "scores", "message"),
    [
        *((["a", "b"], [1.0], "scores has 1"), (["a", "b"], [1.0, float("nan")], "scores[1] is nan")),
        *((["a", "b"], [2.0, 2.0], "scores are all 2.0"), ([], [], "scores is empty")),
        (["a", "b"], ["good", 1.0], "scores must contain one number per row"),
        (["a", " \n"], [1.0, 2.0], "descriptions[1] is ' \\n'"),
        (["a", None], [1.0, 2.0], "descriptions[1] is None"),
        ("ab", [1.0, 2.0], "descriptions[0] is 'a'; expected a list"),
    ],
)
def test_unusable_pairs_are_refused_before_anything_is_loaded(texts, scores, message):
    with pytest.raises(UsageError) as caught:
        train(texts, scores, TrainingSettings("./nowhere"))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("epochs", 0), ("batch_size", 0), ("max_length", 2), ("seed", -1), ("learning_rate", 0.0)),
        *(("learning_rate", float("nan")), ("warmup", 1.0), ("warmup", -0.1), ("weight_decay", -0.1)),
    ],
)
def test_settings_out_of_range_are_refused(setting, value):
    with pytest.raises(UsageError, match=f"{setting}={value} is not allowed; expected a number from"):
        TrainingSettings(**{setting: value})


def test_defaults_are_those_of_bert_and_the_ends_of_ranges_are_allowed():
    """Appendix A.3 of https://arxiv.org/abs/1810.04805, for fine-tuning."""
    published = {"epochs": 4, "learning_rate": 3e-5, "warmup": 0.1, "weight_decay": 0.01, "batch_size": 16}
    defaults = dataclasses.asdict(TrainingSettings())
    assert defaults.items() >= {**published, "max_length": 256, "seed": 0, "cpu_only": False}.items()
    TrainingSettings(batch_size=1, max_length=3, warmup=0.99)


def test_encoders_that_cannot_be_used_are_refused(descriptions, settings, tmp_path):
    with pytest.raises(ModelError, match=r"encoder './nowhere' cannot be loaded"):
        train(*descriptions, dataclasses.replace(settings, model="./nowhere"))
    (tmp_path / "config.json").write_text('{"model_type": "clip"}')
    with pytest.raises(ModelError, match=f"encoder '{tmp_path}' cannot be loaded"):
        train(*descriptions, dataclasses.replace(settings, model=str(tmp_path)))
    with pytest.raises(UsageError, match=r"max_length=65 is not allowed"):
        train(*descriptions, dataclasses.replace(settings, max_length=65))


def test_other_families_and_number_formats_are_trained_in_float32(descriptions, settings, tmp_path):
    from transformers import AutoTokenizer, RobertaConfig, RobertaModel

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


def test_a_training_that_diverges_says_so(descriptions, settings):
    with pytest.raises(ModelError, match=r"training diverged with learning_rate=1e\+30; try a smaller value"):
        train(*descriptions, dataclasses.replace(settings, epochs=1, learning_rate=1e30, warmup=0.0))


def test_a_regressor_depends_on_its_seed_alone_and_prints_nothing_where_there_is_no_terminal(
    descriptions, settings, capfd
):
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()

    def predictions(seed):
        return train(*descriptions, dataclasses.replace(settings, seed=seed, epochs=1)).predict(descriptions[0])

    first = predictions(1)
    np.testing.assert_allclose(predictions(1), first, rtol=1e-4)
    assert np.abs(predictions(2) - first).max() > 1
    assert capfd.readouterr() == ("", "")


def test_folders_that_are_not_empty_or_damaged_are_refused(descriptions, settings, regressor, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for write in (regressor.save, lambda out: train(*descriptions, settings, out)):
        with pytest.raises(UsageError, match="is not empty"):
            write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(ModelError, match=f"is not a regressor.*{RECORD_FILE}"):
        TextToScore.load(tmp_path)
    regressor.save(tmp_path / "saved")
    record, weights = tmp_path / "saved" / RECORD_FILE, tmp_path / "saved" / "model.safetensors"
    complete = record.read_text()
    for damage in ({"schema": 2}, {"standard_deviation": 0}, {"more": 1}):
        record.write_text(json.dumps(json.loads(complete) | damage))
        with pytest.raises(ModelError, match="cannot be read"):
            TextToScore.load(tmp_path / "saved")
    record.write_text(complete)
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(ModelError, match="cannot be loaded"):
        TextToScore.load(tmp_path / "saved")


@pytest.fixture(scope="module")
def validated(descriptions, settings):
    with pytest.warns(SmallSampleWarning, match="with n=24 images, the fit inflates plcc_fitted"):
        return cross_validate(*descriptions, settings, folds=3, image_ids=[f"{row}" for row in range(72)])


def test_unseen_descriptions_are_ranked_far_above_chance(validated, settings):
    assert validated.settings == {**dataclasses.asdict(settings), "folds": 3, "images": 72}
    assert validated.scores["n"] == 72
    assert validated.scores["srcc"] > 0.85 and validated.scores["plcc"] > 0.85
    assert validated.scores["srcc_ci95"][0] > 0.8


def test_a_fold_is_predicted_by_a_regressor_trained_on_the_others(validated, descriptions, settings):
    texts, scores = descriptions
    others = [row for row, fold in enumerate(validated.folds) if fold != 2]
    asked = [row for row, fold in enumerate(validated.folds) if fold == 2]
    regressor = train([texts[row] for row in others], [scores[row] for row in others], settings)
    predicted = regressor.predict([texts[row] for row in asked])
    np.testing.assert_allclose(predicted, validated.predictions[asked], rtol=1e-4)


def test_images_with_several_descriptions_are_validated_image_by_image(descriptions, settings):
    texts, scores = descriptions[0][:24], descriptions[1][:24]
    short = dataclasses.replace(settings, epochs=1)
    with pytest.warns(SmallSampleWarning):
        validation = cross_validate(texts, scores, short, folds=2, image_ids=[f"{row // 3}" for row in range(24)])
    assert (validation.folds.reshape(8, 3) == validation.folds[::3, None]).all()
    assert sorted(np.bincount(validation.folds)) == [0, 12, 12]
    assert (validation.settings["images"], validation.scores["n"]) == (8, 24)
    # Whatever the order of the images, and another for another seed.
    ids = [f"image {number % 20}" for number in range(50)]
    folds = assign_folds(ids, 3, seed=4)
    assert (assign_folds(ids[::-1], 3, seed=4)[::-1] == folds).all()
    assert (assign_folds(ids, 3, seed=5) != folds).any()


@pytest.mark.parametrize(
    ("texts", "scores", "ids", "message"),
    [
        (["a", "b"], [1.0, 2.0], ["x", "y"], "folds=3 is not allowed; expected 2 to 2, the number of images"),
        (["a", "b", "c"], [1.0, 2.0, 3.0], ["x", "y", "y"], "folds=3 is not allowed; expected 2 to 2"),
        (["a", "b", "c"], [1.0, 2.0, 3.0], ["x", "y"], "image_ids has 2 items; expected one for each of 3"),
        (["a", "b", "c"], [1.0, 2.0, 3.0], list("xyzx"), "image_ids has 4 items; expected one for each of 3"),
        (["a", "b", "c"], [1.0, 2.0], ["x", "y", "z"], "scores has 2"),
    ],
)
def test_what_cannot_be_validated_is_refused(settings, texts, scores, ids, message):
    with pytest.raises(UsageError) as caught:
        cross_validate(texts, scores, settings, folds=3, image_ids=ids)
    assert message in str(caught.value)
