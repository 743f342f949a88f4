"""Loading a model and its processor from a folder or the Hub, and telling one from another."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.datasets_scripts.common.errors import ModelError

if TYPE_CHECKING:
    from transformers import Pipeline

TASK = "image-text-to-text"
"""The kind of pipeline that answers with texts on images."""

# Weights are told apart by size and time of change, as reading them takes longer than loading them.
_LARGEST_READ = 4 * 2**20


@dataclass(frozen=True)
class LoadOptions:
    """How to load a model given by id or folder.

    Attributes:
        device: As `transformers.pipeline` takes it; None is the best there is.
        dtype: Number format, such as "bfloat16"; "auto" is that of the weights.
        device_map: As transformers takes it, such as "auto", to spread a model over devices.
        attention: Attention implementation, such as "sdpa" or "flash_attention_2"; None is the model's default.
        revision: Branch, tag or commit of a model on the Hub.
        trust_remote_code: Run the code that the model's repository brings.
    """

    device: int | str | None = None
    dtype: str = "auto"
    device_map: str | None = None
    attention: str | None = None
    revision: str | None = None
    trust_remote_code: bool = False


def load_pipeline(folder: str, name: str, options: LoadOptions) -> "Pipeline":
    """Load a model with its processor.

    Args:
        folder: Folder or model id.
        name: How errors call the model.
        options: How to load it.

    Raises:
        ModelError: The model does not exist, is of an unknown architecture, or is no image-text-to-text model.
    """
    if os.path.sep in folder and folder.startswith((".", os.path.sep)) and not os.path.isdir(folder):
        raise ModelError(f"model folder '{folder}' does not exist.")
    from transformers import pipeline

    _check_config(folder, options)
    try:
        return pipeline(
            TASK,
            model=folder,
            device=options.device,
            dtype=options.dtype,
            device_map=options.device_map,
            revision=options.revision,
            trust_remote_code=options.trust_remote_code,
            model_kwargs={"attn_implementation": options.attention} if options.attention else None,
        )
    # Loading runs code of many libraries; whatever it raises, the user needs the model's name beside it.
    except Exception as error:
        raise ModelError(f"model '{name}' cannot be loaded: {type(error).__name__}: {error}") from error


def folder_fingerprint(folder: str | Path) -> str:
    """A text that changes with the files of a model's folder.

    Args:
        folder: The folder.

    Returns:
        SHA-256, in hexadecimal, over the names of its files and the contents of small ones, or the sizes and times of
        change of large ones.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            status = path.stat()
            small = status.st_size <= _LARGEST_READ
            content = path.read_bytes() if small else f"{status.st_size} {status.st_mtime_ns}".encode()
            name = path.relative_to(folder).as_posix().encode()
            digest.update(b"%d %s %d " % (len(name), name, len(content)) + content)
    return digest.hexdigest()


def _check_config(folder: str, options: LoadOptions) -> None:
    """Raise `ModelError` for a model of an unknown or text-only architecture, before its weights are read."""
    from transformers import AutoConfig
    from transformers import AutoModelForImageTextToText

    try:
        config = AutoConfig.from_pretrained(
            folder, revision=options.revision, trust_remote_code=options.trust_remote_code
        )
    except (ValueError, KeyError) as error:
        raise ModelError(f"model '{folder}' has an architecture that transformers does not know: {error}") from error
    except OSError as error:
        raise ModelError(f"model '{folder}' cannot be found: {error}") from error
    own_code = "AutoModelForImageTextToText" in (getattr(config, "auto_map", None) or {})
    if type(config) not in AutoModelForImageTextToText._model_mapping and not own_code:
        raise ModelError(f"model '{folder}' is of type '{config.model_type}', which is not an {TASK} architecture.")
