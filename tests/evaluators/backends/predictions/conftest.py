"""Questions of mini releases, without their images."""

from typing import Any

import pytest

from eyechart.datasets_scripts import load_dataset, mini


def rows_of(name: str, config: str | None = None) -> list[dict[str, Any]]:
    return load_dataset(name, config, split="dev", data_dir=mini.release(name), images="skip").to_list()


@pytest.fixture(scope="session")
def perception_rows() -> list[dict[str, Any]]:
    """The questions of LLVisionQA, many of which are asked of several images."""
    return rows_of("llvisionqa")


@pytest.fixture(scope="session")
def ability_rows() -> list[dict[str, Any]]:
    """The questions of MMBench."""
    return rows_of("mmbench", "en")
