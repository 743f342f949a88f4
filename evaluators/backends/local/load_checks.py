"""Early checks of model options, and one-line messages for errors of loading a model."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from eyechart.evaluators.backends.local.loading import LoadOptions

_DTYPES = ("auto", "float32", "bfloat16", "float16")
_DEVICES = ("cpu", "cuda", "cuda:0", "mps")
_DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_TRACEBACK = "Traceback (most recent call last)"


def check_options(options: "LoadOptions") -> None:
    """Refuse devices, dtypes and attention implementations that do not exist.

    Raises:
        UsageError: One of them does not exist; the message lists the available ones.
    """
    import torch
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    if options.dtype not in _DTYPES and not isinstance(getattr(torch, options.dtype, None), torch.dtype):
        raise unknown_name("dtype", options.dtype, _DTYPES)
    attention = ["eager", *sorted(ALL_ATTENTION_FUNCTIONS.valid_keys())]
    # A name with a slash is a kernel on the Hub.
    if options.attention is not None and options.attention not in attention and "/" not in options.attention:
        raise unknown_name("attention", options.attention, attention)
    if isinstance(options.device, str):
        _check_device("device", options.device, _DEVICES)
    if options.device_map is not None and options.device_map not in _DEVICE_MAPS:
        _check_device("device_map", options.device_map, (*_DEVICE_MAPS, *_DEVICES))


def _check_device(option: str, name: str, known: Sequence[str]) -> None:
    """Refuse a device that does not exist, or that this machine does not have.

    Raises:
        UsageError: It does not exist here; the message lists the available ones.
    """
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise unknown_name(option, name, known) from None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    here = ["cpu", *(f"cuda:{place}" for place in range(count)), *["mps"] * torch.backends.mps.is_available()]
    is_here = device.type in ("cpu", "mps") or (device.index or 0) < count
    if device.type in ("cpu", "cuda", "mps") and not (is_here and any(one.startswith(device.type) for one in here)):
        why = ", as torch finds no CUDA GPU" if device.type == "cuda" and not count else ""
        raise UsageError(f"{option} {name!r} is not available on this machine{why}; available: {', '.join(here)}")


def loading_error(error: Exception, folder: str) -> str:
    """Why a model cannot be loaded, in one line, including problems with its weight files.

    Args:
        error: The error; if its text contains a traceback, only the last line is used.
        folder: The model's folder, or its id on the Hub.
    """
    text = str(error).strip()
    if isinstance(error, ImportError) and "torchvision" in text.lower():
        return f"the image processor needs torchvision. Install it: {_torchvision_command()}"
    last = text.splitlines()[-1] if _TRACEBACK in text else f"{type(error).__name__}: {text}"
    return f"{' '.join(last.split()):.400}{_about_weights(folder)}"


def _torchvision_command() -> str:
    """The command that installs the torchvision for the installed torch (minor version + 15), without dependencies.

    Any other version would replace torch, on a CPU by a build with gigabytes of CUDA.
    """
    import torch

    major, minor, *_ = torch.__version__.split(".")
    version = f"==0.{int(minor) + 15}.*" if major == "2" else ""
    return f"pip install --no-deps 'torchvision{version}'"


def _about_weights(folder: str) -> str:
    if not os.path.isdir(folder) or any(Path(folder).glob("*.safetensors")):
        return ""
    pickles = sorted(path.name for path in Path(folder).iterdir() if path.suffix in _PICKLES)
    if pickles:
        return f". Only tensors are read from pickled weights ({pickles[0]}); save them as safetensors"
    return ". The folder contains no weights; expected model.safetensors"
