"""The file changes of a publication."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eyechart.datasets_scripts.common.whole import unwritable, write_whole
from eyechart.evaluators.results.finished_runs import result_title
from eyechart.hub_cards.model_card.card import merged_card
from eyechart.hub_cards.model_card.entries import hub_entries, index_entries, missing_reason
from eyechart.hub_cards.model_card.section import card_section
from eyechart.hub_cards.model_card.selection import Published

CARD = "README.md"
ENTRIES = ".eval_results/eyechart.yaml"


@dataclass(frozen=True)
class Change:
    """One file of the repository."""

    path: str
    before: str
    """"" if the file does not exist."""
    after: str

    def diff(self) -> str:
        """A unified diff; "" if nothing changes."""
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        lines = difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def changes(
    published: Sequence[Published],
    repo: str,
    held: Mapping[str, str],
    *,
    data_repos: Mapping[str, str] | None = None,
    source: str | None = None,
) -> list[Change]:
    """The changes that a publication makes in a model repository.

    Args:
        published: The results to publish, all of one model.
        repo: The model repository, "user/name".
        held: The repository's current files by path.
        data_repos: Benchmark repositories on the Hub by dataset name, as ID or ID@REVISION.
        source: Address of the run's report or logs.

    Returns:
        A change of the card, and one of `.eval_results/eyechart.yaml` if it has entries or exists already. Unchanged
        files are left out.

    Raises:
        DataError: The card cannot be read.
    """
    import yaml
    from huggingface_hub import eval_result_entries_to_yaml

    repos = data_repos or {}
    card = held.get(CARD, "")
    name = repo.rpartition("/")[2]
    entries = eval_result_entries_to_yaml(hub_entries(published, repos, source))
    after = merged_card(card, name, index_entries(published, repos, source), card_section(published, source))
    found = [Change(CARD, card, after)]
    if entries or ENTRIES in held:
        text = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=float("inf"))
        found.append(Change(ENTRIES, held.get(ENTRIES, ""), text))
    return [change for change in found if change.before != change.after]


def gaps(published: Sequence[Published], data_repos: Mapping[str, str], source: str | None) -> list[str]:
    """What a publication lacks, and what to pass; a line for each reason."""
    found: dict[str, list[str]] = {}
    for one in published:
        if reason := missing_reason(one, data_repos):
            title = result_title(one.result.task, one.result.dataset, one.result.split)
            found.setdefault(reason, []).append(title)
    lines = [f"not in .eval_results: {', '.join(results)}: {reason}" for reason, results in found.items()]
    return lines if source else [*lines, "no link to the run: pass --source URL with the address of its report or logs"]


def write_changes(found: Sequence[Change], folder: Path) -> None:
    """Write the changed files into a folder.

    Raises:
        UsageError: The folder cannot be written.
    """
    for change in found:
        path = folder / change.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, change.after)
        except OSError as error:
            raise unwritable(f"--out {folder}", error) from error
