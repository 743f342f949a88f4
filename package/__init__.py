"""An eye chart for multimodal LLMs: `datasets_scripts`, `metrics`, `evaluators` and `hub_cards`."""

from importlib.metadata import version

__version__ = version("eyechart")
