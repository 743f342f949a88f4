"""Synthetic demo data of LLSAVisionQA, which has no separate files: LLVisionQA's and the pairs' in one folder."""

from pathlib import Path

from eyechart.datasets_scripts.mini import llvisionqa, llvisionqa_pairs


def write(folder: Path) -> None:
    """Write both releases into `folder`."""
    llvisionqa.write(folder)
    llvisionqa_pairs.write(folder)
