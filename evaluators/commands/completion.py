"""Shell completion of names; `eyechart --install-completion` turns it on."""


def complete_task(incomplete: str) -> list[str]:
    """Tasks whose names start with the text."""
    from eyechart.evaluators.tasks import TASKS

    return [task.name for task in TASKS if task.name.startswith(incomplete)]


def complete_suite(incomplete: str) -> list[str]:
    """Suites whose names start with the text."""
    from eyechart.evaluators.evaluation.suites import list_suites

    return [name for name in list_suites() if name.startswith(incomplete)]


def complete_data_set(incomplete: str) -> list[str]:
    """Datasets whose names start with the text."""
    from eyechart.datasets_scripts import list_datasets

    return [name for name in list_datasets() if name.startswith(incomplete)]
