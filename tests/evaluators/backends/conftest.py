"""Untrained models of real architectures; weights drawn wide enough that answers differ between prompts."""

import pytest
import torch

from tests.tiny_vlm.architecture import build_model, build_processor, build_tokenizer

TEXTS = [
    "USER: What distortion degrades the quality of the image?\nASSISTANT: A",
    "USER: Rate the quality of the image.\nASSISTANT: The quality of the image is good",
    "USER: Rate the quality of the image.\nASSISTANT: The quality of the image is poor",
] * 20


@pytest.fixture(scope="session")
def llava():
    """An untrained model and its processor."""
    torch.manual_seed(7)
    processor = build_processor(build_tokenizer(TEXTS))
    return build_model(processor.tokenizer).eval(), processor


@pytest.fixture
def llava_folder(llava, tmp_path):
    """The same on disk."""
    model, processor = llava
    model.save_pretrained(tmp_path / "model")
    processor.save_pretrained(tmp_path / "model")
    return tmp_path / "model"
