"""Shell completion of names; `eyechart --install-completion` turns it on."""


def complete_task(incomplete: str) -> list[str]:
    """Papers and tasks whose names start with the text."""
    from eyechart.evaluators.tasks import TASKS

    papers = dict.fromkeys(task.name.partition("/")[0] for task in TASKS)
    return [name for name in (*papers, *(task.name for task in TASKS)) if name.startswith(incomplete)]


def complete_data_set(incomplete: str) -> list[str]:
    """Datasets whose names start with the text."""
    from eyechart.datasets_scripts import list_datasets

    return [name for name in list_datasets() if name.startswith(incomplete)]
