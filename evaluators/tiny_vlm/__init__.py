"""The bundled tiny model: a LLaVA-architecture model of one million parameters.

`README.md` next to this file is its card; `tests/tiny_vlm` has the scripts that trained and measured it.
"""

from eyechart.evaluators.backends.bundled import NAME, folder

__all__ = ["NAME", "folder"]
