"""The metrics of eyechart: `evaluate` modules over pure scoring functions.

`load(name)` calls `evaluate.load` on the installed folder of the metric, so it needs no network. Importing this package
loads neither `evaluate` nor torch.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluate import EvaluationModule

__all__ = ["list_metrics", "load"]

_FOLDER = Path(__file__).parent


def __dir__() -> list[str]:
    return __all__


def list_metrics() -> list[str]:
    """Names of the metrics that `load` accepts, sorted."""
    return sorted(path.parent.name for path in _FOLDER.glob("*/*.py") if path.stem == path.parent.name)


def load(
    name: str,
    config_name: str | None = None,
    *,
    num_process: int = 1,
    process_id: int = 0,
    experiment_id: str | None = None,
    keep_in_memory: bool = False,
    cache_dir: str | None = None,
) -> "EvaluationModule":
    """Load one of the installed metrics.

    Args:
        name: One of `list_metrics()`.
        config_name: The metric's configuration, such as "logits" or "scores" for `softmax_iqa`.
        num_process: Number of processes whose predictions are gathered.
        process_id: Number of this process, from 0.
        experiment_id: Name that distinguishes runs on a shared file system.
        keep_in_memory: Keep predictions in memory instead of in a cache file; one process only.
        cache_dir: Folder of the cache files.

    Returns:
        The metric, as `evaluate.load` returns it.

    Raises:
        InputError: The name is unknown.

    Examples:
        >>> load("choice_accuracy").name
        'choice_accuracy'
    """
    from eyechart.metrics.scoring.inputs import check_member

    check_member("name", name, list_metrics())
    import evaluate

    return evaluate.load(
        str(_FOLDER / name),
        config_name,
        num_process=num_process,
        process_id=process_id,
        experiment_id=experiment_id,
        keep_in_memory=keep_in_memory,
        cache_dir=cache_dir,
    )
