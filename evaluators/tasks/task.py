"""What a task is made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.evaluators.protocols.quality.word_pairs import WordPair
from eyechart.evaluators.requests.types import Prompt, Row


class Kind(Enum):
    """The evaluator classes, by their names in `eyechart.evaluators`."""

    MULTIPLE_CHOICE = "MultipleChoiceEvaluator"
    CIRCULAR_EVAL = "CircularEvaluator"
    SELF_AWARENESS = "SelfAwarenessEvaluator"
    DESCRIPTION = "DescriptionEvaluator"
    QUALITY_ASSESSMENT = "QualityAssessmentEvaluator"
    PAIRED_COMPARISON = "PairedComparisonEvaluator"


@dataclass(frozen=True)
class Published:
    """A setting with which a paper's numbers were made, where the task's default is another one."""

    name: str
    """An option of the task, an argument of its metric, or a setting of its data set."""
    value: Any
    """The paper's."""
    source: str
    """Where the paper or its code says so."""
    default: Any = None
    """The task's; that of a data set's setting is the data set's to say."""
    of_data: bool = False
    """Whether it is a setting of the data set."""


@dataclass(frozen=True)
class Task:
    """One row of `eyechart tasks`: which data, which prompt, which evaluator, which metric."""

    name: str
    """`<paper>/<part>`."""
    description: str
    """One line, for the table of tasks."""
    paper: str
    """Title and section."""
    evaluator: Kind
    """Which evaluator class runs it."""
    subsets: tuple[str, ...]
    """Data sets it runs on."""
    splits: tuple[str, ...]
    """Splits it runs on; the first is the default."""
    metric: str
    """Name of the evaluate module."""
    metric_config: str | None
    """Configuration of the evaluate module."""
    prompt: Callable[[Row], Prompt]
    """From a row to what the model sees; options are shown in the row's order."""
    prompt_id: str
    """Names the wording in the result; a change of wording is a new id."""
    config: str | None = None
    """Configuration of the data set."""
    runs_on: tuple[str, ...] = ()
    """The subsets that it runs on where none is named; the first of `subsets` if empty."""
    wordings: Mapping[str, Callable[[Row], Prompt]] = field(default_factory=dict)
    """Other wordings of the prompt, by the name that the option `wording` gives."""
    groups: tuple[str, ...] = ()
    """Columns to break the scores down by."""
    part_of_pool: Callable[[str], str] | None = None
    """From the name of a pool of pairs to the part of the data that makes a row of the benchmark's table; None where
    every pool does."""
    crossed_groups: tuple[tuple[str, str], ...] = ()
    """Pairs of these columns to break them down by together."""
    open_prompt: Callable[[Row], Prompt] | None = None
    """The prompt without options, for closed-set inference; None where the task has none."""
    open_prefill: str = ""
    """How the reply to it begins."""
    prefill: str = ""
    """How the reply begins, given to the model."""
    word_pairs: tuple[WordPair, ...] = ()
    """Pairs of words and of sets of words whose next-token logits can be pooled, the task's own first."""
    max_new_tokens: int = 32
    metric_arguments: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the metric's compute."""
    published: tuple[Published, ...] = ()
    """What the paper did otherwise than the task does by default; in force with the option `as_published`."""
    published_judge: bool = False
    """Whether the paper's numbers are a judge's, or of a judge where exact matching finds no option."""
    by_response: bool = False
    """Whether answers that name an option and all others, which are a judge's, are scored apart too (AesBench)."""
    check: Callable[[Row], None] | None = None
    """Raises `DataError` for a row that must not be asked."""
    after: tuple[str, ...] = ()
    """Tasks that a model must have answered first, where a run holds them."""
    note: str = ""
    """What the reader of its scores has to know."""
    answer_file: Callable[[Sequence[Row], Sequence[str]], Mapping[str, bytes]] | None = None
    """From rows whose answers are private, and the replies to them, to the benchmark's own files by name; letters stand
    for the rows' order of options. None where the benchmark takes none."""

    @property
    def default_subsets(self) -> tuple[str, ...]:
        """What it runs on where no subset is named."""
        return self.runs_on or self.subsets[:1]

    def worded(self, wording: str | None) -> tuple[Callable[[Row], Prompt], str]:
        """The prompt function of a wording and the id that names it in results.

        Args:
            wording: One of `wordings`; None is the task's own.

        Raises:
            UsageError: There is no such wording.
        """
        if wording is None:
            return self.prompt, self.prompt_id
        if wording not in self.wordings:
            raise unknown_name(f"wording of {self.name}", wording, self.wordings)
        return self.wordings[wording], f"{self.prompt_id}/{wording}"
