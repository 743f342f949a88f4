"""Loading a model and its processor from a folder or the Hub, and telling one from another."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import ModelError, UsageError, unknown_name
from eyechart.evaluators.backends.file_digests import files_digest
from eyechart.evaluators.backends.image_sizes import size_settings
from eyechart.evaluators.backends.local.load_checks import check_options, loading_error

if TYPE_CHECKING:
    from transformers import Pipeline, PreTrainedModel

TASK = "image-text-to-text"
"""The kind of pipeline that answers with texts on images."""

ZERO_SHOT = "zero-shot-image-classification"
"""The kind of pipeline that compares images with texts."""

DUAL_ENCODERS = ("align", "altclip", "chinese_clip", "clip", "metaclip_2", "siglip", "siglip2")
"""Model types that compare by the cosine of an image's features and a text's."""

_WITHOUT_EFFECT = frozenset({"batch_size", "prefix_sharing", "revision", "name", "device_map"})
"""Settings that change no answer, or that the fingerprint stands for."""


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
        processor: Settings of the image processor by name, such as {"min_pixels": 200704}; the others are the model's.
        adapter: Folder or id of a PEFT adapter, whose weights are merged into the model's.
    """

    device: int | str | None = None
    dtype: str = "auto"
    device_map: str | None = None
    attention: str | None = None
    revision: str | None = None
    trust_remote_code: bool = False
    processor: Mapping[str, Any] = field(default_factory=dict)
    adapter: str | None = None

    def settings(self) -> dict[str, Any]:
        """What of it changes answers and does not show in the loaded model."""
        return {"processor": dict(self.processor), "adapter": self.adapter}

    def __post_init__(self) -> None:
        """Refuse two places for one model.

        Raises:
            UsageError: Both device and device map are given.
        """
        if self.device is not None and self.device_map is not None:
            raise UsageError(
                f"device={self.device!r} and device_map={self.device_map!r} are given, of which one is allowed. "
                "Several processes have a device each, so that a device map is for a single process."
            )


def load_pipeline(folder: str, name: str, options: LoadOptions) -> "Pipeline":
    """Load a model with its processor.

    Args:
        folder: Folder or model id.
        name: How errors call the model.
        options: How to load it.

    Raises:
        UsageError: A device, number format or implementation of attention does not exist.
        ModelError: The model does not exist, or is of an architecture that is unknown or for neither task.
    """
    from transformers import pipeline

    check_options(options)
    task = _task_of(folder, options)
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
    # Loading runs code of many libraries; whatever it raises, the user needs the model's name with it.
    except Exception as error:
        raise ModelError(f"model '{name}' cannot be loaded: {loading_error(error, folder)}") from error
    if options.processor:
        _set_image_processor(loaded, folder, options)
    if options.adapter is not None:
        _merge_adapter(loaded, options.adapter)
    return loaded


def _set_image_processor(loaded: "Pipeline", folder: str, options: LoadOptions) -> None:
    """Load the image processor again with other settings.

    Raises:
        UsageError: It has no such setting, or does not take the value.
    """
    owner = loaded if loaded.task == ZERO_SHOT else loaded.processor
    kind = type(owner.image_processor)
    known = {*owner.image_processor.to_dict(), *getattr(getattr(kind, "valid_kwargs", None), "__annotations__", ())}
    for setting in options.processor:
        if setting not in known:
            raise unknown_name("setting of the image processor", setting, sorted(known))
    try:
        owner.image_processor = kind.from_pretrained(folder, revision=options.revision, **options.processor)
    except (TypeError, ValueError) as error:
        raise UsageError(f"processor={dict(options.processor)}: the image processor refuses it: {error}") from error


def _merge_adapter(loaded: "Pipeline", adapter: str) -> None:
    """Merge a PEFT adapter into a model.

    Raises:
        ModelError: PEFT is not installed, or the adapter does not fit the model.
    """
    try:
        from peft import PeftModel
    except ImportError as error:
        raise ModelError("an adapter needs PEFT; install it with pip install peft") from error
    try:
        loaded.model = PeftModel.from_pretrained(loaded.model, adapter).merge_and_unload()
    # As for a model.
    except Exception as error:
        raise ModelError(f"adapter '{adapter}' cannot be merged: {loading_error(error, adapter)}") from error


def model_fingerprint(folder: str, model: "PreTrainedModel", adapter: str | None = None) -> str | None:
    """Identifies a model's weights.

    Args:
        folder: Its folder or its id on the Hub.
        model: The model.
        adapter: Folder or id of an adapter that was merged into it; None for none.

    Returns:
        The model's commit on the Hub, None if it is not known; `files_digest` of a folder. With an adapter, that of
        both; None for an adapter from the Hub.
    """
    found = files_digest(folder) if os.path.isdir(folder) else getattr(model.config, "_commit_hash", None)
    if adapter is None or found is None:
        return found
    return f"{found}+{files_digest(adapter)}" if os.path.isdir(adapter) else None


def model_settings(
    model: "PreTrainedModel", image_processor: Any, *, name: str, loaded: LoadOptions | None = None
) -> dict[str, Any]:
    """What a result says of any model that was run here.

    Args:
        model: The model.
        image_processor: Its image processor.
        name: How results call the model.
        loaded: How it was loaded; None where that is not known.
    """
    return {
        "name": name,
        **(loaded or LoadOptions()).settings(),
        "architecture": type(model).__name__,
        "revision": getattr(model.config, "_commit_hash", None),
        "parameters": model.num_parameters(),
        "dtype": str(model.dtype).removeprefix("torch."),
        "quantization": _quantization(model.config),
        "device": " and ".join(sorted({value.device.type for value in model.parameters()} - {"meta"})),
        "device_map": {part: str(place) for part, place in getattr(model, "hf_device_map", {}).items()} or None,
        "attention": getattr(model.config, "_attn_implementation", None),
        "trust_remote_code": any(map(_is_remote_code, (model, image_processor))),
        "image_processor": type(image_processor).__name__,
        "image_sizes": size_settings(image_processor),
    }


def _quantization(config: Any) -> str | None:
    """The method by which weights were packed, such as "bitsandbytes"; None for plain ones."""
    found = getattr(config, "quantization_config", None)
    method = found.get("quant_method") if isinstance(found, dict) else getattr(found, "quant_method", None)
    return None if method is None else str(getattr(method, "value", method))


def _is_remote_code(part: Any) -> bool:
    """Whether this is an object of code that came with a model: transformers puts it under a name of its own."""
    return type(part).__module__.split(".")[0] == "transformers_modules"


def model_identity(settings: dict[str, Any], fingerprint: str) -> dict[str, Any]:
    """What answers depend on.

    Args:
        settings: The backend's.
        fingerprint: From `model_fingerprint`.
    """
    import transformers

    with_effect = {name: value for name, value in settings.items() if name not in _WITHOUT_EFFECT}
    return {**with_effect, "fingerprint": fingerprint, "transformers": transformers.__version__}


def _task_of(folder: str, options: LoadOptions) -> str:
    """What a model is for, `TASK` or `ZERO_SHOT`, read from its configuration before its weights are."""
    if os.path.sep in folder and folder.startswith((".", os.path.sep)) and not os.path.isdir(folder):
        raise ModelError(f"model folder '{folder}' does not exist.")
    from transformers import AutoConfig, AutoModelForImageTextToText

    try:
        config = AutoConfig.from_pretrained(
            folder, revision=options.revision, trust_remote_code=options.trust_remote_code
        )
    except (ValueError, KeyError) as error:
        raise ModelError(f"model '{folder}' has an architecture that transformers does not know: {error}") from error
    except OSError as error:
        raise ModelError(f"model '{folder}' cannot be found: {error}") from error
    own_code = "AutoModelForImageTextToText" in (getattr(config, "auto_map", None) or {})
    if type(config) in AutoModelForImageTextToText._model_mapping or own_code:
        return TASK
    if config.model_type in DUAL_ENCODERS:
        return ZERO_SHOT
    raise ModelError(
        f"model '{folder}' is of type '{config.model_type}', which is not an {TASK} architecture, nor among those that "
        f"compare images with texts: {', '.join(DUAL_ENCODERS)}."
    )
