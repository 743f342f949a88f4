"""Prompts as templates, and the multiple-choice prompts of other toolkits, so that scores can be compared with theirs.

VLMEvalKit (https://github.com/open-compass/VLMEvalKit) at e8e78f0: `ImageMCQDataset.build_prompt` in
`vlmeval/dataset/image_mcq.py`, which some of its models replace. lmms-eval
(https://github.com/EvolvingLMMs-Lab/lmms-eval) at 75571cf: `mmbench_doc_to_text` in `lmms_eval/tasks/mmbench`, where
the line before the options is English in the Chinese tasks too, and `q_bench_doc_to_text` in `lmms_eval/tasks/qbench`.
"""

from string import Formatter, ascii_uppercase
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.protocols.protocol import PromptFunction
from eyechart.evaluators.requests.types import IMAGE, Prompt, Row

VLMEVALKIT, LMMS_EVAL = "vlmevalkit", "lmms-eval"
_DIRECTLY = "Answer with the option's letter from the given choices directly."


def prompt_function(template: str, *, hint: str | None = None, separator: str = "\n") -> PromptFunction:
    """The prompt function of a template; raises UsageError if the template is malformed.

    `{images}` stands for all images of the row; `{image}` for the first one, written again for the second one, and so
    on; `{options}` for the lettered options, with `separator` between them; `{hint}` for the row's hint, if any, in the
    form `hint`, such as "Hint: {}"; `{column}` for any other column; `{{` for a literal brace.

    Examples:
        >>> prompt_function("{image} {question}")({"question": "Which?", "images": [0]})
        (<ImagePlace.IMAGE: 'image'>, ' Which?')
    """
    pieces = template_pieces(template)

    def fill(name: str | None, row: Row) -> Prompt:
        if name is None:
            return ()
        if name == "image":
            return (IMAGE,)
        if name == "images":
            # A row that was loaded without its images has an empty list.
            return (IMAGE,) * max(1, len(row.get("images") or ()))
        if name == "options":
            return (listed_options(row, separator=separator),)
        if name == "hint" and hint is not None:
            return (hint.format(row["hint"]),) if row.get("hint") else ()
        return (str(row[name]),)

    def prompt(row: Row) -> Prompt:
        parts: list[Any] = [""]
        for text, name in pieces:
            for part in (text, *fill(name, row)):
                if isinstance(part, str) and isinstance(parts[-1], str):
                    parts[-1] += part
                else:
                    parts.append(part)
        return tuple(part for part in parts if part != "")

    return prompt


def template_pieces(template: str) -> list[tuple[str, str | None]]:
    """Pieces of text, each with the name of the column that follows it; raises UsageError like `prompt_function`."""
    try:
        parsed = list(Formatter().parse(template))
        if any(name == "" or form or conversion for _, name, form, conversion in parsed):
            raise ValueError("write a field as {column}, and literal braces as {{ and }}")
    except ValueError as error:
        raise UsageError(f"prompt {template!r} is not a valid template: {error}") from error
    return [(text, name) for text, name, _, _ in parsed]


def listed_options(row: Row, form: str = "{}. {}", *, separator: str = "\n") -> str:
    """The options with their letters."""
    return separator.join(form.format(*option) for option in zip(ascii_uppercase, row["options"], strict=False))


vlmevalkit_prompt = prompt_function(
    "{images}{hint}Question: {question}\nOptions:\n{options}\nPlease select the correct answer from the options above. "
    "\n",
    hint="Hint: {}\n",
)
_MMBENCH = "{images}{hint}{question} There are several options:\n{options}\n\n"
lmms_eval_mmbench_prompt = prompt_function(_MMBENCH + _DIRECTLY, hint="{} ")
lmms_eval_mmbench_cn_prompt = prompt_function(f"{_MMBENCH}请直接使用所提供的选项字母作为答案回答。", hint="{} ")
lmms_eval_q_bench_prompt = prompt_function(f"{{images}}{{question}}\n{{options}}\n{_DIRECTLY}\n")
