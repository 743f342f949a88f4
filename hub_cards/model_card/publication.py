"""A publication: the changed files of a model repository, read from the Hub and written to it or to a folder.

The text of a card stays unchanged outside our section. Its metadata are written by `huggingface_hub.RepoCard`: values
stay; comments and nulls are lost. (`ModelCard` would also lose all models of a `model-index` but one.)
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, HubError, MissingFileError, UsageError
from eyechart.datasets_scripts.common.files.yaml_text import read_yaml
from eyechart.datasets_scripts.common.paths import open_regular
from eyechart.evaluators.results.notes import grouped
from eyechart.hub_cards.model_card.entries import OURS, hub_entries, index_entries, missing_reason, to_yaml
from eyechart.hub_cards.model_card.section import card_section
from eyechart.hub_cards.model_card.selection import Published
from eyechart.metrics.score_spec import value_at

CARD = "README.md"
ENTRIES = ".eval_results/eyechart.yaml"
BEGIN = "<!-- eyechart: begin -->"
END = "<!-- eyechart: end -->"
_KEY = "model-index"
_LINE_END = re.compile(r"\r\n|\r|\n")
_METADATA = re.compile(r"\A\s*---[ \t]*\n((?:(?!---).*\n)*?)(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
"""A card's metadata, which YAML allows to end with dots and marks to end with blanks; `huggingface_hub` does not."""
_MAX_BYTES = 10_000_000


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


def changes(published: Sequence[Published], repo: str, files: Mapping[str, str]) -> list[Change]:
    """The changes that a publication makes to a model repository's files, which are given by path."""
    from huggingface_hub import eval_result_entries_to_yaml

    card, entries = files.get(CARD, ""), eval_result_entries_to_yaml(hub_entries(published))
    after = {CARD: merged_card(card, repo.rpartition("/")[2], index_entries(published), card_section(published))}
    if entries or ENTRIES in files:
        after[ENTRIES] = to_yaml(entries)
    return [Change(path, files.get(path, ""), text) for path, text in after.items() if text != files.get(path, "")]


def gaps(published: Sequence[Published]) -> list[str]:
    """What a publication lacks, and what to pass; a line for each reason."""
    titles = grouped((missing_reason(entry), entry.title) for entry in published)
    lines = [f"not in .eval_results: {', '.join(results)}: {reason}" for reason, results in titles.items() if reason]
    if any(entry.consent.source is None for entry in published):
        lines.append("no link to the run: pass --source URL with the address of its report or logs")
    return lines


def read_files(repo: str) -> tuple[dict[str, str], str]:
    """The card and the `.eval_results` of a model repository on the Hub, as texts by path, and their commit."""
    from huggingface_hub import HfApi

    api = HfApi()
    with _explained(f"{repo} could not be read", repo, "Or use --card FILE with a local copy of the card."):
        info = api.model_info(repo)
        revision, names = info.sha or "main", {file.rfilename for file in info.siblings or []}
        paths = {path: api.hf_hub_download(repo, path, revision=revision) for path in (CARD, ENTRIES) if path in names}
    return {path: read_text(Path(file), f"{repo}/{path}") for path, file in paths.items()}, revision


def read_text(file: Path, name: str) -> str:
    """The text of a file of a model repository, in UTF-8; raises `DataError`, which calls the file `name`."""
    try:
        with open_regular(file, _MAX_BYTES) as opened:
            return opened.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error}; correct the file first", path=name) from error
    except OSError as error:
        raise MissingFileError(f"cannot be read: {error.strerror or error}", path=name) from error


def push_changes(repo: str, changed: Sequence[Change], *, parent: str, create_pr: bool = False) -> str:
    """Write changes to the Hub in one commit or pull request; return the address of that.

    The Hub refuses them if there is a newer commit than `parent`.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    files = [CommitOperationAdd(change.path, change.after.encode()) for change in changed]
    message = "Evaluation results from eyechart"
    with _explained(f"{repo} was not changed", repo, "Without write access, use --create-pr to open a pull request."):
        done = HfApi().create_commit(repo, files, commit_message=message, create_pr=create_pr, parent_commit=parent)
    return str(done.pr_url if create_pr else done.commit_url)


@contextmanager
def _explained(what: str, repo: str, advice: str) -> Iterator[None]:
    from huggingface_hub.errors import HFValidationError

    try:
        yield
    except HFValidationError as error:
        raise UsageError(f"--model-repo {repo!r} is not a valid repository name: {error}") from error
    # The library's HTTP client, and so the error class, differs between versions.
    except Exception as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        hint = "Log in with `hf auth login`; the token needs read and write access to the repository."
        raise HubError(f"{what}: {error}{cause}\n{hint} {advice}") from error


def merged_card(card: str, model: str, entries: Sequence[Mapping[str, Any]], section: str) -> str:
    """Put entries and the section into a card ("" if missing), in place of those of an earlier publication.

    If no model in the `model-index` is `model`, the first one gets the entries; without entries, the metadata stay
    unchanged.
    """
    first = _LINE_END.search(card)
    text = _LINE_END.sub("\n", card)
    if entries:
        text = _with_results(text, model, entries)
    return _with_section(text, section).replace("\n", first[0] if first else "\n")


def _with_results(text: str, model: str, entries: Sequence[Mapping[str, Any]]) -> str:
    from huggingface_hub.repocard import REGEX_YAML_BLOCK, RepoCard

    text = _METADATA.sub(lambda block: f"---\n{block[1]}---" if block[1] else "", text)
    block = REGEX_YAML_BLOCK.match(text)
    if not block and text.lstrip().startswith("---"):
        raise DataError("the card begins with --- but has no metadata that end with ---; correct its first lines")
    try:
        # Its errors name the line of the card.
        read_yaml(f"\n{block[2]}" if block else "")
        card = RepoCard(text if block else f"---\n\n---\n\n{text}")
        card.data[_KEY] = _merged_index(card.data.get(_KEY), model, entries)
        return str(card)
    # A number can be too long to be written.
    except (ValueError, TypeError) as error:
        raise DataError(f"the card's metadata cannot be read: {error}") from error


def _merged_index(index: Any, model: str, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The `model-index` with the entries in place of ours of earlier."""
    if not index:
        return [{"name": model, "results": [*entries]}]
    is_list = isinstance(index, list) and all(isinstance(item, dict) for item in index)
    if not is_list or not all(isinstance(item.get("results") or [], list) for item in index):
        raise DataError(f"the card's {_KEY} is {index!r:.80}; expected a list of models, each with a list of `results`")
    names = [item.get("name") for item in index]
    target = names.index(model) if model in names else 0
    results = index[target].get("results") or []
    others = [entry for entry in results if not str(value_at(entry, "task.name")).endswith(OURS)]
    return [*index[:target], {**index[target], "results": [*others, *entries]}, *index[target + 1 :]]


def _with_section(text: str, section: str) -> str:
    marked = f"{BEGIN}\n{section.strip()}\n{END}"
    if BEGIN not in text and END not in text:
        return f"{text.rstrip()}\n\n{marked}\n" if text.strip() else f"{marked}\n"
    before, _, inside = text.partition(BEGIN)
    _, _, after = inside.partition(END)
    if (text.count(BEGIN), text.count(END)) != (1, 1) or END in before:
        raise DataError(f"the card's marks {BEGIN} and {END} are not one pair in this order; correct or remove them")
    return before + marked + after
