"""Loads a model and its processor from a folder or the Hub, and identifies the model."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.datasets_scripts.common.paths import open_regular
from eyechart.evaluators.backends.local.rendering import size_settings
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.keys import files_digest

if TYPE_CHECKING:
    from transformers import Pipeline, PreTrainedConfig, PreTrainedModel

TASK = "image-text-to-text"
"""The pipeline task of models that answer prompts with images by text."""

ZERO_SHOT = "zero-shot-image-classification"
"""The pipeline task of models that compare images with texts."""

DUAL_ENCODERS = ("align", "altclip", "chinese_clip", "clip", "metaclip_2", "siglip", "siglip2")
"""Model types that compare images and texts by the cosine of their features."""

_MAX_TEMPLATE = 1_000_000
_DTYPES = ("auto", "float32", "bfloat16", "float16")
_DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


@dataclass(frozen=True)
class LoadOptions:
    """How to load a model that is given by id or folder.

    Attributes:
        device: Device, as in `transformers.pipeline`; None chooses the fastest device available.
        dtype: Data type of the weights, such as "bfloat16"; "auto" keeps the stored type.
        device_map: Device map, as in transformers, such as "auto", to spread a model over several devices.
        attention: Attention implementation, such as "sdpa" or "flash_attention_2"; None is the model's default.
        revision: Branch, tag or commit of a model on the Hub.
        trust_remote_code: Run the code in the model's repository.
        processor: Settings of the image processor to change, by name, such as {"min_pixels": 200704}.
        adapter: Folder or id of a PEFT adapter to merge into the model.
        chat_template: Chat template (Jinja) to use instead of the model's own; --model-arg takes the path of a file.
    """

    device: int | str | None = None
    dtype: str = "auto"
    device_map: str | None = None
    attention: str | None = None
    revision: str | None = None
    trust_remote_code: bool = False
    processor: Mapping[str, Any] = field(default_factory=dict)
    adapter: str | None = None
    chat_template: str | None = None

    def __post_init__(self) -> None:
        """Raise `UsageError` for a device together with a device map."""
        if self.device is not None and self.device_map is not None:
            raise UsageError(
                f"device={self.device!r} and device_map={self.device_map!r} cannot be combined. With several "
                "processes, each uses its own device; a device map is for a single process."
            )


class Origin(NamedTuple):
    """Where a model comes from."""

    options: LoadOptions = LoadOptions()
    """How it was loaded."""
    fingerprint: str | None = None
    """Identifies its weights; None if unknown, so that its responses are not stored."""


def read_template(path: str) -> str:
    """Read a chat template from a file, which must not be empty."""
    try:
        with open_regular(path, _MAX_TEMPLATE) as file:
            text = file.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--model-arg chat_template={path}: the file cannot be read: {error}") from error
    if not text.strip():
        raise UsageError(f"--model-arg chat_template={path}: the file is empty; expected a Jinja template")
    return text


def load_pipeline(folder: str, name: str, options: LoadOptions) -> "Pipeline":
    """Load a model with its processor from a folder or the Hub; `name` is its name in errors."""
    from transformers import pipeline

    from eyechart.evaluators.backends.local.packed import pack

    task = check_model(folder, options)
    try:
        loaded = pipeline(
            task,
            model=folder,
            device=options.device,
            dtype=options.dtype,
            device_map=options.device_map,
            revision=options.revision,
            trust_remote_code=options.trust_remote_code,
            model_kwargs={"attn_implementation": options.attention} if options.attention else None,
        )
    # Loading runs code of many libraries; whatever it raises, the message must name the model.
    except Exception as error:
        raise ModelError(f"model '{name}' cannot be loaded: {loading_error(error, folder)}") from error
    if options.processor:
        _set_image_processor(loaded, folder, options)
    if options.chat_template is not None:
        if loaded.task == ZERO_SHOT:
            raise UsageError(f"model '{name}' only compares images with texts; leave chat_template out")
        loaded.processor.chat_template = options.chat_template
    if options.adapter is not None:
        _merge_adapter(loaded, options.adapter)
    # The model's own code may do anything with a weight.
    if not options.trust_remote_code:
        pack(loaded.model)
    return loaded


def check_model(folder: str, options: LoadOptions) -> str:
    """`TASK` or `ZERO_SHOT`, for a model that can be loaded, as far as its config shows; no weights are read."""
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    if options.dtype not in _DTYPES and not isinstance(getattr(torch, options.dtype, None), torch.dtype):
        raise unknown_name("dtype", options.dtype, _DTYPES)
    attention = ["eager", *sorted(ALL_ATTENTION_FUNCTIONS.valid_keys())]
    # A name with a slash is a kernel on the Hub.
    if options.attention is not None and options.attention not in attention and "/" not in options.attention:
        raise unknown_name("attention", options.attention, attention)
    if isinstance(options.device, str):
        _check_device("device", options.device)
    if options.device_map is not None and options.device_map not in _DEVICE_MAPS:
        _check_device("device_map", options.device_map, _DEVICE_MAPS)
    if os.path.sep in folder and folder.startswith((".", os.path.sep)) and not os.path.isdir(folder):
        raise ModelError(f"model folder '{folder}' does not exist.")
    try:
        config = AutoConfig.from_pretrained(
            folder, revision=options.revision, trust_remote_code=options.trust_remote_code
        )
    except (ValueError, KeyError) as error:
        raise ModelError(f"transformers does not know the architecture of model '{folder}': {error}") from error
    except OSError as error:
        raise ModelError(f"model '{folder}' cannot be found: {error}") from error
    has_code = "AutoModelForImageTextToText" in (getattr(config, "auto_map", None) or {})
    if type(config) in AutoModelForImageTextToText._model_mapping or has_code:
        return TASK
    if config.model_type in DUAL_ENCODERS:
        return ZERO_SHOT
    raise ModelError(
        f"model '{folder}' is of type '{config.model_type}', which is not supported. Supported are {TASK} models, and "
        f"models that compare images with texts: {', '.join(DUAL_ENCODERS)}."
    )


def _check_device(option: str, name: str, others: Sequence[str] = ()) -> None:
    """Refuse a device that this machine does not have; `others` are allowed besides devices."""
    import torch

    try:
        torch.empty(0, device=name)
    # torch raises one for a device that is missing, the other for a type of device that it was built without.
    except (RuntimeError, AssertionError) as error:
        available = [*others, "cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
        available += ["mps"] * torch.backends.mps.is_available()
        raise unknown_name(option, name, available, "on this machine") from error


def _set_image_processor(loaded: "Pipeline", folder: str, options: LoadOptions) -> None:
    """Load the image processor again with changed settings."""
    owner = loaded if loaded.task == ZERO_SHOT else loaded.processor
    kind = type(owner.image_processor)
    known = {*owner.image_processor.to_dict(), *getattr(getattr(kind, "valid_kwargs", None), "__annotations__", ())}
    for setting in options.processor:
        if setting not in known:
            raise unknown_name("setting", setting, sorted(known), "of the image processor")
    try:
        owner.image_processor = kind.from_pretrained(folder, revision=options.revision, **options.processor)
    except (TypeError, ValueError) as error:
        raise UsageError(f"processor={dict(options.processor)}: the image processor refused it: {error}") from error


def _merge_adapter(loaded: "Pipeline", adapter: str) -> None:
    """Merge a PEFT adapter into a model."""
    try:
        from peft import PeftModel
    except ImportError as error:
        raise ModelError("an adapter needs PEFT; install it with pip install peft") from error
    try:
        loaded.model = PeftModel.from_pretrained(loaded.model, adapter).merge_and_unload()
    # As in `load_pipeline`.
    except Exception as error:
        raise ModelError(f"adapter '{adapter}' cannot be merged: {loading_error(error, adapter)}") from error


def model_fingerprint(folder: str, config: "PreTrainedConfig", adapter: str | None = None) -> str | None:
    """A folder's `files_digest` or the Hub's commit, and an adapter folder's digest; None if one is unknown."""
    weights = files_digest(folder) if os.path.isdir(folder) else getattr(config, "_commit_hash", None)
    if adapter is None or weights is None:
        return weights
    return f"{weights}+{files_digest(adapter)}" if os.path.isdir(adapter) else None


def load_settings(model: "PreTrainedModel", image_processor: Any, name: str, origin: Origin) -> dict[str, Any]:
    """The settings of a local model, as part of a result."""
    options = origin.options
    quantization = getattr(model.config, "quantization_config", None) or {}
    method = (quantization if isinstance(quantization, dict) else vars(quantization)).get("quant_method")
    modules = [type(part).__module__.partition(".")[0] for part in (model, image_processor)]
    return {
        "name": name,
        "processor": dict(options.processor),
        "adapter": options.adapter,
        "chat_template": options.chat_template and hashlib.sha256(options.chat_template.encode()).hexdigest(),
        "architecture": type(model).__name__,
        "revision": getattr(model.config, "_commit_hash", None),
        "parameters": model.num_parameters(),
        "dtype": str(model.dtype).removeprefix("torch."),
        "quantization": None if method is None else str(getattr(method, "value", method)),
        "device": " and ".join(sorted({value.device.type for value in model.parameters()} - {"meta"})),
        "device_map": {part: str(device) for part, device in getattr(model, "hf_device_map", {}).items()} or None,
        "attention": getattr(model.config, "_attn_implementation", None),
        # transformers loads code from a model's repository into a module of this name.
        "trust_remote_code": "transformers_modules" in modules,
        "image_processor": type(image_processor).__name__,
        "image_sizes": size_settings(image_processor),
    }


def loading_error(error: Exception, folder: str) -> str:
    """Why a model cannot be loaded, in one line: of a traceback the last, and problems with the weight files."""
    text = str(error).strip()
    if isinstance(error, ImportError) and "torchvision" in text.lower():
        import torch

        # The minor version is torch's + 15. Any other would replace torch, on a CPU by gigabytes of CUDA.
        major, minor, *_ = torch.__version__.split(".")
        version = f"==0.{int(minor) + 15}.*" if major == "2" else ""
        return f"the image processor needs torchvision. Install it: pip install --no-deps 'torchvision{version}'"
    last = text.splitlines()[-1] if "Traceback (most recent call last)" in text else f"{type(error).__name__}: {text}"
    reason = f"{' '.join(last.split()):.400}"
    if not os.path.isdir(folder) or any(Path(folder).glob("*.safetensors")):
        return reason
    pickles = sorted(path.name for path in Path(folder).iterdir() if path.suffix in _PICKLES)
    if pickles:
        return f"{reason}. Only tensors are read from pickled weights ({pickles[0]}); save them as safetensors"
    return f"{reason}. The folder contains no weights; expected model.safetensors"
