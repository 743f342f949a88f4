"""A metric's Space on the Hub: a page with a table of rows in and a table of scores out, and the files of its folder.

`evaluate`'s own widget (0.4.6) calls `gradio.inputs`, which gradio removed in version 4, and its table supports neither
optional arguments nor lists of options. gradio is an extra, imported only here. To prepare a Space:
`python -m eyechart.metrics.space NAME FOLDER --install REQUIREMENT`.
"""

import argparse
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.whole import whole_folder
from eyechart.metrics import list_metrics, load
from eyechart.metrics.cards import card, examples
from eyechart.metrics.scores import specs_of
from eyechart.metrics.scoring.errors import InputError, ScoringWarning

if TYPE_CHECKING:
    import gradio

INSTALL: str | None = None
"""The requirement with which a Space installs eyechart; None as long as there is no public package."""
HEAD = ("score", "value", "95 % interval", "chance level", "items")
CONFIGURATIONS = {"softmax_iqa": ("logits", "scores")}
"""Configurations of the metrics that have several, the default first; their cards have an example of each, in order."""
_FOLDER = Path(__file__).parent
_GROUP = "group: "
_SEPARATOR = " | "
# Anybody can use a public page.
_MOST_CHARACTERS = 1_000_000


def prepare(name: str, folder: Path, install: str | None = INSTALL) -> None:
    """Write the folder of a metric's Space, ready to be uploaded to the Hub, which installs eyechart by `install`."""
    if install is None:
        raise UsageError(
            "eyechart is on no public index yet, so a Space cannot install it by name. Upload it to an address of your "
            "own and pass that: --install 'eyechart @ git+https://ADDRESS'"
        )
    if folder.exists():
        raise UsageError(f"{folder} exists; name a new folder")
    with whole_folder(folder) as made:
        shutil.copytree(_FOLDER / name, made, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        # A Space has no GPU unless it is paid for.
        text = f"--extra-index-url https://download.pytorch.org/whl/cpu\n{install}\n"
        (made / "requirements.txt").write_text(text, encoding="utf-8")
        code = f"from eyechart.metrics.space import interface\n\ndemo = interface({name!r})\ndemo.launch()\n"
        (made / "app.py").write_text(code, encoding="utf-8")


def columns(arguments: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The arguments with a value for each row; each group is a column of its own."""
    groups = {f"{_GROUP}{name}": values for name, values in arguments.get("groups", {}).items()}
    return {name: values for name, values in arguments.items() if isinstance(values, list)} | groups


def shown(value: Any) -> str:
    """The text of a cell.

    Examples:
        >>> shown(["Bright", "Dark"]), shown([17.5, 2]), shown(None)
        ('Bright | Dark', '17.5 | 2', '')
    """
    if isinstance(value, list):
        return _SEPARATOR.join(map(shown, value))
    return "" if value is None else str(value)


def cells(example: Mapping[str, Any]) -> list[list[str]]:
    """The rows of an example as texts."""
    return [[shown(value) for value in row] for row in zip(*columns(example).values(), strict=True)]


def _read(text: str, like: Sequence[Any], where: str) -> Any:
    """The value of a cell, of the type of the values in an example."""
    sample = next(value for value in like if value is not None)
    if not text and None in like:
        return None
    if isinstance(sample, list):
        return [_read(part.strip(), sample, where) for part in text.split(_SEPARATOR.strip())]
    if isinstance(sample, str):
        return text
    try:
        return type(sample)(text)
    except ValueError:
        raise InputError(f"{where} is {text!r}; it must be a {'whole ' * isinstance(sample, int)}number") from None


def compute(
    name: str, example: Mapping[str, Any], rows: Sequence[Sequence[Any]], configuration: str | None = None
) -> tuple[list[list[str]], str]:
    """Compute the scores of a page: the table of scores, with columns as in `HEAD`, and warnings; or [] and an error.

    `example` are the arguments that the page began with, and `rows` the cells that replace its rows; rows without text
    are left out.
    """
    try:
        # A new module for each call, because `evaluate` keeps the rows of a call that failed half-way.
        metric = load(name, configuration, keep_in_memory=True)
        arguments = _arguments(example, rows)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", ScoringWarning)
            scores = metric.compute(**arguments)
    except (TypeError, ValueError) as error:
        return [], str(error)
    return list(_table(name, scores)), "\n".join(dict.fromkeys(str(warning.message) for warning in caught))


def _arguments(example: Mapping[str, Any], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The arguments of an example, with the cells of a page in place of its rows."""
    texts = [[shown(cell).strip() for cell in row] for row in rows]
    n_characters = sum(len(text) for row in texts for text in row)
    if n_characters > _MOST_CHARACTERS:
        raise InputError(f"the table has {n_characters} characters; this page accepts at most {_MOST_CHARACTERS}")
    filled = {number: row for number, row in enumerate(texts, 1) if any(row)}
    arguments = dict(example)
    if "groups" in example:
        arguments["groups"] = {}
    for place, (column, like) in enumerate(columns(example).items()):
        target = arguments["groups"] if column.startswith(_GROUP) else arguments
        target[column.removeprefix(_GROUP)] = [
            _read(row[place], like, f"{column} in row {number}") for number, row in filled.items()
        ]
    return arguments


def _table(name: str, scores: Mapping[str, Any]) -> Iterator[list[str]]:
    """The scores that printed tables show, over all rows and then by group."""
    parts = {"": scores}
    for key, by_value in scores.items():
        if key.startswith("by_") and isinstance(by_value, dict):
            parts |= {f", {key.removeprefix('by_')} {value}": found for value, found in by_value.items()}
    for part, found in parts.items():
        for spec in specs_of(name):
            value = spec.value(found)
            if not spec.in_table or value is None or (spec.above_zero and not value > 0) or (part and "." in spec.key):
                continue
            bounds = [spec.shown(bound) for bound in spec.bounds(found) or ()]
            interval = "" if "undefined" in bounds else " to ".join(bounds)
            chance = spec.shown(spec.chance_level(found))
            yield [spec.label + part, spec.shown(value), interval, chance, str(spec.n(found))]


def interface(name: str) -> "gradio.Blocks":
    """The page of a metric, to be launched: the rows of its card's example, a button, the scores and the card."""
    try:
        import gradio
    except ImportError as error:
        raise ImportError('gradio is not installed; in a checkout: pip install ".[space]"') from error
    configurations = CONFIGURATIONS.get(name, ())
    # The first load imports evaluate, which is slow, so do it before the page is up.
    load(name, configurations[0] if configurations else None, keep_in_memory=True)
    shown_examples = dict(zip(configurations or ("default",), examples(name), strict=True))
    first, *_ = shown_examples
    with gradio.Blocks(title=f"{name} (eyechart)", analytics_enabled=False) as page:
        gradio.Markdown(f"# {name}\n\nEdit the rows, then press Compute. `|` separates the parts of a cell.")
        configuration = gradio.Dropdown(list(shown_examples), label="configuration", visible=bool(configurations))
        look: dict[str, Any] = {"type": "array", "datatype": "str", "wrap": True}
        headers, texts = list(columns(shown_examples[first])), cells(shown_examples[first])
        # By itself, gradio breaks the words of long headers above short cells. Long cells wrap between words.
        longest = [min(16, max(map(len, column))) for column in zip(*texts, strict=True)]
        widths = [24 + 9 * max(len(header), n) for header, n in zip(headers, longest, strict=True)]
        rows = gradio.Dataframe(texts, headers=headers, column_widths=widths, label="rows", interactive=True, **look)
        button = gradio.Button("Compute", variant="primary")
        # Messages are directly below the button, so that long tables do not push them out of sight.
        messages = gradio.Textbox(label="messages", lines=2, interactive=False)
        scores = gradio.Dataframe(headers=list(HEAD), label="scores", interactive=False, **look)
        gradio.Markdown(card(name))
        button.click(
            lambda rows, chosen: compute(name, shown_examples[chosen], rows, chosen if configurations else None),
            [rows, configuration],
            [scores, messages],
            api_name="compute",
        )
        configuration.change(lambda chosen: cells(shown_examples[chosen]), configuration, rows, api_name=False)
    return page


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the folder of a metric's Space, to be uploaded to the Hub.")
    parser.add_argument("name", choices=list_metrics(), metavar="NAME", help="one of: %(choices)s")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder to make")
    parser.add_argument("--install", default=INSTALL, metavar="REQUIREMENT", help="how the Space installs eyechart")
    arguments = parser.parse_args()
    try:
        prepare(arguments.name, arguments.folder, arguments.install)
    except UsageError as error:
        parser.error(str(error))
