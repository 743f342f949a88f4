"""Backends answer requests: a transformers model, a server, a file of precomputed predictions, a Python function."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.paths import check_not_empty
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import Backend

if TYPE_CHECKING:
    from transformers import Pipeline

    from eyechart.evaluators.backends.chat import ChatOptions
    from eyechart.evaluators.backends.endpoint.options import EndpointOptions
    from eyechart.evaluators.backends.local.loading import LoadOptions


def resolve_backend(
    model: "str | Path | Pipeline | Backend | Callable[..., Any] | None",
    *,
    batch_size: int | None = None,
    options: "LoadOptions | None" = None,
    endpoint: "EndpointOptions | None" = None,
    chat: "ChatOptions | None" = None,
) -> Backend:
    """Make a backend from a model, whichever way the model is given.

    Args:
        model: A transformers "image-text-to-text" or "zero-shot-image-classification" pipeline; the id or folder of a
            model for one of these (for the latter, CLIP and similar models); a backend; or a callable. A callable takes
            chat messages and returns text, or takes messages and words and returns {word: logit}. None is the bundled
            tiny model `eyechart/tiny-vlm`.
        batch_size: Requests per forward pass of a transformers model; None chooses it automatically.
        options: How to load a model that is given by id or folder.
        chat: Options for every chat with a transformers model; for a server they are part of `endpoint`.
        endpoint: Options of the server to use; `model` is then the model's name on that server. None loads the model on
            this machine.

    Raises:
        UsageError: `model` is of another type, or "".
        ModelError: The model cannot be loaded.
    """
    if isinstance(model, str):
        check_not_empty("model", model)
    if endpoint is not None:
        from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend

        if not isinstance(model, str):
            raise UsageError(f"model_or_pipeline={model!r} is not supported with a server; give the model's name.")
        return OpenAIBackend(model, endpoint)
    if model is None or isinstance(model, str | Path):
        from eyechart.evaluators.backends.local.loading import LoadOptions, Origin, load_pipeline, model_fingerprint

        name, folder = str(model or tiny_vlm.NAME), folder_of(model)
        options = options or LoadOptions()
        pipe = load_pipeline(folder, name, options)
        origin = Origin(options, model_fingerprint(folder, pipe.model.config, options.adapter))
        return _local_backend(pipe, batch_size, chat, name=name, origin=origin)
    if hasattr(model, "task") and hasattr(model, "model"):
        # Responses of a pipeline are not stored: its weights are unknown.
        return _local_backend(model, batch_size, chat)
    if isinstance(model, Backend):
        return model
    is_bare_model = hasattr(model, "generate") and hasattr(model, "config")
    if is_bare_model or not callable(model):
        raise UsageError(
            f"model_or_pipeline={type(model).__name__ if is_bare_model else repr(model)} is not supported; give a "
            'pipeline("image-text-to-text", model=..., processor=...), a model id or folder, a backend, a callable, or '
            "None for the bundled tiny model."
        )
    from eyechart.evaluators.backends.function import FunctionBackend

    return FunctionBackend(model)


def folder_of(model: str | Path | None) -> str:
    """The folder or Hub id of a model, given as for `resolve_backend`."""
    return str(tiny_vlm.folder() if model in (None, tiny_vlm.NAME) else model)


def _local_backend(
    pipe: Any, batch_size: int | None, chat: "ChatOptions | None", *, name: str = "", **origin: Any
) -> Backend:
    from eyechart.evaluators.backends.clip import ClipZeroShotBackend
    from eyechart.evaluators.backends.local.backend import TransformersBackend
    from eyechart.evaluators.backends.local.loading import TASK, ZERO_SHOT

    if pipe.task not in (TASK, ZERO_SHOT):
        raise ModelError(f"the pipeline's task is '{pipe.task}'; expected '{TASK}' or '{ZERO_SHOT}'.")
    name = name or str(pipe.model.config.name_or_path) or type(pipe.model).__name__
    options = {"name": name, "batch_size": pipe._batch_size or batch_size, **origin}
    if pipe.task == TASK:
        return TransformersBackend(pipe.model, pipe.processor, chat=chat, **options)
    if chat is not None and any(value is not None for value in chat.settings().values()):
        raise UsageError(
            f"model '{name}' only compares images with texts; leave out system prompt, thinking and sampling options."
        )
    return ClipZeroShotBackend(pipe.model, pipe.tokenizer, pipe.image_processor, **options)
