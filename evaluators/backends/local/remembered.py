"""A local model that was used before is loaded only when an answer is missing: that takes torch and its weights."""

import contextlib
import hashlib
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.paths import eyechart_home
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.backends.chat import ChatOptions
from eyechart.evaluators.backends.local.loading import LoadOptions
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.keys import files_digest
from eyechart.evaluators.requests.types import Backend, OutputType, Request, Response
from eyechart.evaluators.requests.values import decode, encode

_PACKAGES = ("eyechart", "torch", "transformers", "tokenizers", "pillow")


class RememberedBackend(Backend):
    """The model of a record, which `load` loads."""

    def __init__(self, record: Path, load: Callable[[], Backend]) -> None:
        """Read the record, or load the model and write it; of a model without an identity, nothing is written."""
        self._load = load
        try:
            self._record = decode(record.read_bytes())
        except (OSError, ValueError):
            model = self._model
            kinds = [kind.value for kind in OutputType if _gives(model, kind)]
            about = {"identity": model.identity(), "settings": model.settings()}
            self._record = {"name": model.name, "samples": model.samples, "kinds": kinds, **about}
            if self._record["identity"] is not None:
                write_whole(record, encode(self._record))
        self.name = self._record["name"]
        self.samples = self._record["samples"]

    @cached_property
    def _model(self) -> Backend:
        return self._load()

    def check(self, output_type: OutputType) -> None:
        """Raise `ModelError` if the model cannot give this."""
        if output_type.value not in self._record["kinds"]:
            self._model.check(output_type)

    def identity(self) -> dict[str, Any] | None:
        """The identity of the model, as when it was loaded."""
        return self._record["identity"]

    def settings(self) -> dict[str, Any]:
        """The settings of the model."""
        return self._model.settings() if "_model" in vars(self) else self._record["settings"]

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Load the model, if it is not, and let it answer."""
        if encode(self._model.identity()) != encode(self.identity()):
            raise ModelError(
                f"model '{self.name}' is not what it was when its answers were stored; remove the folder "
                f"{_folder()} and run again."
            )
        yield from self._model.answer(requests)


def record_of(folder: str, options: LoadOptions, *others: Any) -> Path | None:
    """Where a model's record is, or would be written; `others` are further arguments of `resolve_backend`, as JSON.

    None if the model cannot be identified without loading it.
    """
    digests = []
    for part in (folder, options.adapter):
        with contextlib.suppress(Exception):
            digests.append(part and (files_digest(part) if os.path.isdir(part) else _commit(part, options.revision)))
    if len(digests) < 2:
        return None
    # A home folder may be shared by machines with different devices.
    machine = (platform.node(), os.environ.get("CUDA_VISIBLE_DEVICES"), os.path.exists("/dev/nvidiactl"))
    versions = [metadata.version(package) for package in _PACKAGES]
    versions.append(files_digest(Path(__file__).parent))
    key = encode([folder, digests, asdict(options), machine, versions, *others], sort_keys=True)
    return _folder() / f"{hashlib.sha256(key).hexdigest()}.json"


def remembered(
    model: str, options: LoadOptions, chat: ChatOptions, batch_size: int | None, load: Callable[[], Backend]
) -> Backend:
    """A model that `load` loads when it is needed."""
    record = record_of(model, options, chat.settings(), batch_size)
    return load() if record is None else RememberedBackend(record, load)


def _folder() -> Path:
    return eyechart_home() / "models"


def _gives(model: Backend, kind: OutputType) -> bool:
    with contextlib.suppress(ModelError):
        model.check(kind)
        return True
    return False


def _commit(repo: str, revision: str | None) -> str:
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(repo, "config.json", revision=revision)).parent.name
