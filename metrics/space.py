"""The page of a metric's Space on the Hub: arguments as JSON in, scores out.

`evaluate`'s own widget (0.4.6) calls `gradio.inputs`, which gradio removed in version 4, and its table supports neither
optional arguments nor lists of options. gradio is an extra, imported only here: `pip install "eyechart[space]"`.
"""

import inspect
import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.metrics import load
from eyechart.metrics.scoring.errors import InputError, ScoringWarning
from eyechart.metrics.scoring.inputs import check_member

if TYPE_CHECKING:
    import gradio

_FOLDER = Path(__file__).parent
_EXAMPLE = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Anybody can use a public page, so its computations are limited.
_MOST_CHARACTERS = 1_000_000
_MOST = {"rounds": 20, "resamples": 10_000}


def card(name: str) -> str:
    """The text of a metric's card, without its front matter.

    Args:
        name: One of `eyechart.metrics.list_metrics()`.
    """
    text = (_FOLDER / name / "README.md").read_text(encoding="utf-8")
    return text.removeprefix("---\n").partition("\n---\n")[2].lstrip()


def examples(name: str) -> list[str]:
    """The JSON examples in a metric's card, one for each configuration.

    Examples:
        >>> sorted(json.loads(examples("judge_answer")[0]))
        ['groups', 'predictions', 'questions', 'references']
    """
    return [found.strip() for found in _EXAMPLE.findall(card(name))]


def compute(name: str, text: str, configuration: str | None = None) -> tuple[str, str]:
    """Compute scores from arguments in JSON.

    Args:
        name: One of `eyechart.metrics.list_metrics()`.
        text: A JSON object of the metric's arguments.
        configuration: The metric's configuration, if it has several.

    Returns:
        The scores as JSON, in which an undefined score is NaN, and the metric's warnings; or "" and the error message.

    Examples:
        >>> text = '{"predictions": ["B"], "references": ["A"], "choices": [["Dark", "Bright"]]}'
        >>> scores, messages = compute("choice_accuracy", text)
        >>> json.loads(scores)["accuracy"], messages
        (0.0, '')
        >>> compute("choice_accuracy", "[1]")
        ('', 'the input must be a JSON object of arguments; it is a list')
    """
    try:
        # A new module for each call, because `evaluate` keeps the rows of a call that failed half-way.
        metric = load(name, configuration, keep_in_memory=True)
        arguments = _read(text, inspect.signature(metric._compute).parameters)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", ScoringWarning)
            scores = metric.compute(**arguments)
    except (TypeError, ValueError) as error:
        return "", str(error)
    messages = dict.fromkeys(str(warning.message) for warning in caught)
    return json.dumps(scores, indent=2, ensure_ascii=False), "\n".join(messages)


def _read(text: str, parameters: Any) -> dict[str, Any]:
    """Arguments from JSON, with names and sizes checked."""
    if len(text) > _MOST_CHARACTERS:
        raise InputError(f"the input has {len(text)} characters; this page accepts at most {_MOST_CHARACTERS}")
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the input is not valid JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise InputError(f"the input must be a JSON object of arguments; it is a {type(arguments).__name__}")
    # A judge is a function, which JSON cannot contain.
    allowed = [parameter for parameter in parameters if parameter != "judge"]
    for argument, value in arguments.items():
        check_member("argument", argument, allowed)
        if isinstance(value, int) and value > _MOST.get(argument, value):
            raise InputError(f"{argument} is {value}; this page accepts at most {_MOST[argument]}")
    needed = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    missing = [name for name in needed if arguments.get(name) is None]
    if missing:
        raise InputError(f"missing arguments: {', '.join(missing)}; required: {', '.join(needed)}")
    return arguments


def interface(name: str, configurations: Sequence[str] = ()) -> "gradio.Blocks":
    """The page of a metric: its card's example, a button, the scores and the card.

    Args:
        name: One of `eyechart.metrics.list_metrics()`.
        configurations: The metric's configurations, if it has several, the default first. Its card must have an
            example of each, in this order.

    Returns:
        The page; its method `launch()` serves it.

    Raises:
        ImportError: gradio is not installed.
    """
    try:
        import gradio
    except ImportError as error:
        raise ImportError('gradio is not installed; pip install "eyechart[space]"') from error
    # The first load imports evaluate, which is slow, so do it before the page is up.
    load(name, configurations[0] if configurations else None, keep_in_memory=True)
    shown = examples(name)
    with gradio.Blocks(title=f"{name} (eyechart)", analytics_enabled=False) as page:
        gradio.Markdown(f"# {name}\n\nEnter the metric's arguments as JSON, then press Compute.")
        with gradio.Row():
            # Messages are directly below the button, so that long scores do not push them out of sight.
            with gradio.Column():
                configuration = gradio.Dropdown(
                    list(configurations) or ["default"], label="configuration", visible=bool(configurations)
                )
                given = gradio.Code(
                    shown[0], language="json", label="arguments", lines=12, max_lines=24, wrap_lines=True
                )
                button = gradio.Button("Compute", variant="primary")
                messages = gradio.Textbox(label="messages", lines=2, interactive=False)
            with gradio.Column():
                scores = gradio.Code(
                    language="json", label="scores", lines=24, max_lines=36, wrap_lines=True, interactive=False
                )
        gradio.Markdown(card(name))
        button.click(
            lambda text, chosen: compute(name, text, chosen if configurations else None),
            [given, configuration],
            [scores, messages],
            api_name="compute",
        )
        if configurations:
            by_name = dict(zip(configurations, shown, strict=True))
            configuration.change(by_name.__getitem__, configuration, given, api_name=False)
    return page
