"""What a model is loaded with is in its settings."""

import json
import shutil

import pytest
import torch
from transformers.utils import is_torchvision_available

from eyechart.datasets_scripts.common.errors import ModelError, UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.local.loading import LoadOptions, check_model, loading_error
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.backends import architectures

OWN_CODE = "from transformers import LlavaForConditionalGeneration as Llava\nclass Own(Llava):\n    pass\n"


def test_of_an_error_that_holds_tracebacks_the_last_line_is_said(tmp_path):
    held = "Could not load:\nTraceback (most recent call last):\n  File 'a', line 1\nOSError: config.json is gone\n"
    assert loading_error(ValueError(held), "org/name") == "OSError: config.json is gone"
    assert loading_error(ImportError("one\n  two"), "org/name") == "ImportError: one two"
    for name in ("b.bin", "a.pt"):
        (tmp_path / name).touch()
    assert "pickled weights (a.pt)" in loading_error(ValueError("one"), str(tmp_path))


@pytest.mark.parametrize(
    "options", [{"dtype": "float64"}, {"attention": "org/kernel"}, {"device_map": "balanced"}, {"device": 0}], ids=str
)
def test_what_torch_and_transformers_know_can_be_chosen(llava_folder, options):
    assert check_model(str(llava_folder), LoadOptions(**options)) == "image-text-to-text"


@pytest.mark.skipif(is_torchvision_available(), reason="torchvision is installed, so nothing is missing")
def test_a_model_whose_processor_needs_torchvision_is_answered_with_the_command_that_installs_it(tmp_path):
    architectures.build("qwen2_vl")[0].save_pretrained(tmp_path)
    for name in ("tokenizer.json", "chat_template.jinja"):
        shutil.copy(tiny_vlm.folder() / name, tmp_path)
    processor = {"image_processor_type": "Qwen2VLImageProcessor", "processor_class": "Qwen2VLProcessor"}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    # The torchvision of torch 2.13 is 0.28; without dependencies, pip leaves torch as it is.
    minor = int(torch.__version__.split(".")[1]) + 15
    with pytest.raises(ModelError, match=rf"needs torchvision.*pip install --no-deps 'torchvision==0\.{minor}\.\*'"):
        resolve_backend(tmp_path)


def test_options_reach_the_model_and_its_settings(llava_folder, make_picture):
    options = LoadOptions(dtype="bfloat16", device_map="cpu", attention="eager")
    backend = resolve_backend(llava_folder, options=options)
    (response,) = backend.answer([Request("1", ("What? ", IMAGE), (make_picture(1),), max_new_tokens=2)])
    assert response.error is None
    settings = backend.settings()
    assert (settings["dtype"], settings["attention"], settings["device"]) == ("bfloat16", "eager", "cpu")
    assert settings["quantization"] is None and settings["prefix_sharing"] == "on"
    assert settings["image_sizes"]["size"] == {"shortest_edge": 64} and json.loads(json.dumps(settings)) == settings
    assert resolve_backend(llava_folder).identity() != backend.identity()


def test_how_a_model_is_spread_is_a_setting_and_no_part_of_an_answer_and_its_quantisation_is(llava_folder, monkeypatch):
    backend = resolve_backend(llava_folder)
    assert backend.settings()["device_map"] is None and backend.settings()["batch_size"] == 8
    identity = backend.identity()
    # As accelerate leaves it where there is more than one device.
    monkeypatch.setattr(backend._model, "hf_device_map", {"model": 0, "lm_head": "cpu"}, raising=False)
    assert backend.settings()["device_map"] == {"model": "0", "lm_head": "cpu"}
    assert backend.identity() == identity
    monkeypatch.setattr(backend._model.config, "quantization_config", {"quant_method": "gptq"}, raising=False)
    assert backend.settings()["quantization"] == "gptq" and backend.identity() != identity


def test_two_places_for_one_model_are_refused():
    with pytest.raises(UsageError, match="device='cpu' and device_map='auto' cannot be combined"):
        LoadOptions(device="cpu", device_map="auto")


def test_code_of_a_models_own_is_run_only_if_asked_for_and_told(llava_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    (llava_folder / "own.py").write_text(OWN_CODE)
    config = json.loads((llava_folder / "config.json").read_text())
    config["auto_map"] = {"AutoModelForImageTextToText": "own.Own"}
    (llava_folder / "config.json").write_text(json.dumps(config))
    settings = resolve_backend(llava_folder).settings()
    assert (settings["architecture"], settings["trust_remote_code"]) == ("LlavaForConditionalGeneration", False)
    settings = resolve_backend(llava_folder, options=LoadOptions(trust_remote_code=True)).settings()
    assert (settings["architecture"], settings["trust_remote_code"]) == ("Own", True)
