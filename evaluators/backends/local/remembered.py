"""A local model that was used before is loaded only when an answer is missing: that takes torch and its weights."""

import contextlib
import hashlib
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from eyechart.datasets_scripts.common.paths import eyechart_home
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.backends import folder_of
from eyechart.evaluators.backends.chat import ChatOptions
from eyechart.evaluators.backends.local.loading import LoadOptions
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.keys import files_digest
from eyechart.evaluators.requests.types import Backend, OutputType, Request, Response
from eyechart.evaluators.requests.values import decode, encode

_PACKAGES = ("eyechart", "torch", "transformers", "tokenizers", "pillow")


class _Record(BaseModel):
    """What a model said of itself when it was loaded."""

    name: str
    samples: bool
    kinds: list[OutputType]
    identity: dict[str, Any]
    settings: dict[str, Any]


class RememberedBackend(Backend):
    """The model of a record, which `load` loads."""

    def __init__(self, record: Path, load: Callable[[], Backend]) -> None:
        """Read the record, or load the model; it is then written, unless the model has no identity."""
        self._load = load
        self._record: _Record | None = None
        try:
            self._record = _Record.model_validate(decode(record.read_bytes()))
        # It is missing or damaged.
        except (OSError, ValueError):
            model = self._model
            kinds = [kind.value for kind in OutputType if _gives(model, kind)]
            about = {"identity": model.identity(), "settings": model.settings()}
            if about["identity"] is not None:
                write_whole(record, encode({"name": model.name, "samples": model.samples, "kinds": kinds, **about}))
        known = self._record or self._model
        self.name, self.samples = known.name, known.samples

    @cached_property
    def _model(self) -> Backend:
        return self._load()

    def check(self, output_type: OutputType) -> None:
        """Raise `ModelError` if the model cannot give this."""
        if self._record is None or output_type not in self._record.kinds:
            self._model.check(output_type)

    def identity(self) -> dict[str, Any] | None:
        """The identity of the model, as when it was loaded."""
        return self._model.identity() if self._record is None else self._record.identity

    def settings(self) -> dict[str, Any]:
        """The settings of the model."""
        return self._model.settings() if self._record is None or "_model" in vars(self) else self._record.settings

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Load the model, if it is not, and let it answer."""
        if encode(self._model.identity()) != encode(self.identity()):
            raise ModelError(
                f"model '{self.name}' is not what it was when its answers were stored; remove the folder "
                f"{_folder()} and run again."
            )
        yield from self._model.answer(requests)


def record_of(model: str | None, options: LoadOptions, chat: ChatOptions, batch_size: int | None) -> Path | None:
    """Where the record of a model is, or would be written; the arguments are those of `resolve_backend`.

    None if the model cannot be identified without loading it.
    """
    folder, adapter = folder_of(model), options.adapter
    if adapter is not None and not os.path.isdir(adapter):
        return None
    try:
        digests = [files_digest(folder) if os.path.isdir(folder) else _commit(folder, options.revision)]
        digests += [files_digest(adapter)] if adapter else []
    # The Hub's client can raise any kind of error; loading the model will report it.
    except Exception:
        return None
    # A home folder may be shared by machines with different devices.
    machine = (platform.node(), os.environ.get("CUDA_VISIBLE_DEVICES"), os.path.exists("/dev/nvidiactl"))
    versions = [metadata.version(package) for package in _PACKAGES]
    versions.append(files_digest(Path(__file__).parent))
    # By name too: the bundled model may also be given by its folder.
    about = [model, folder, digests, asdict(options), chat.settings(), batch_size, machine, versions]
    key = encode(about, sort_keys=True)
    return _folder() / f"{hashlib.sha256(key).hexdigest()}.json"


def _folder() -> Path:
    return eyechart_home() / "models"


def _gives(model: Backend, kind: OutputType) -> bool:
    with contextlib.suppress(ModelError):
        model.check(kind)
        return True
    return False


@cache
def _commit(repo: str, revision: str | None) -> str:
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(repo, "config.json", revision=revision)).parent.name
