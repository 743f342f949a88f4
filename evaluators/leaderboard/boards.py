"""The boards, one explicit table: which results stand beside each other, and under which settings.

The settings are written out, not taken from the tasks: a change of a task must not change what a published board
means. A test compares them with what the tasks do today.
"""

from eyechart.evaluators.leaderboard.board import Board
from eyechart.evaluators.leaderboard.board import Settings
from eyechart.evaluators.leaderboard.columns import Column
from eyechart.evaluators.leaderboard.columns import broken_down
from eyechart.evaluators.leaderboard.columns import number
from eyechart.evaluators.leaderboard.columns import percent

_LENGTHS = (32, 4096)
"""Longest replies to questions with options: the default, and that for models that reason first."""
_ALL: Settings = {"limit": (None,), "data.is_mini": (False,)}
_RELEASE: Settings = {**_ALL, "data.options": ({},)}
_CHOICE: Settings = {
    **_RELEASE,
    "prefill": ("",),
    "inference": ("options",),
    "max_new_tokens": _LENGTHS,
    "option_order": ("release",),
    "shuffle_seed": (None,),
}
_NO_GUESS: Settings = {"extraction.random": (0.0,)}
_TYPES = {"yes-or-no": "Yes or no", "what": "What", "how": "How"}
_CONCERNS = {
    "distortion": "Distortion",
    "other": "Other",
    "in-context distortion": "In-context distortion",
    "in-context other": "In-context other",
}
_ACCURACY = percent("accuracy", "Accuracy", "accuracy_ci95")
_UNBIASED = Column("yes_no", "Yes/no, unbiased", ("yes_no", "mean"), scale=100, digits=2, unit="%")


def _perception(name: str, title: str, about: str, subset: str, items: int, parts: tuple[Column, ...]) -> Board:
    return Board(
        name=name,
        benchmark="Q-Bench",
        title=title,
        about=about,
        task=name,
        subset=subset,
        split="dev",
        settings={**_CHOICE, "prompt_id": ("q_bench_a1/1",)},
        score_settings=_NO_GUESS,
        columns=(_ACCURACY, _UNBIASED, *parts),
        count="n",
        items=items,
    )


_BY_TYPE = broken_down(_ACCURACY, "by type", "by_question_type", _TYPES)
_Q_BENCH = (
    _perception(
        "q_bench/perception",
        "A1 perception",
        "Multiple choice on the low-level look of single images.",
        "llvisionqa",
        1495,
        (*_BY_TYPE, *broken_down(_ACCURACY, "by concern", "by_concern", _CONCERNS)),
    ),
    _perception(
        "q_bench/perception_pairs",
        "A1 perception, pairs",
        "The same on two images. Three of the 1,000 released questions cannot be asked.",
        "llvisionqa_pairs",
        997,
        _BY_TYPE,
    ),
)


def _rated(*dimensions: str) -> tuple[Column, ...]:
    return tuple(
        Column(name, name.capitalize(), (name, "score"), (name, "score_ci95"), digits=3) for name in dimensions
    )


_JUDGED = "Scores of different judges are not ranked together."
_DESCRIPTION = Board(
    name="q_bench/description",
    benchmark="Q-Bench",
    title="A2 description",
    about="Descriptions of images, rated by a judge against experts' texts: three scores from 0 to 2 and their sum.",
    task="q_bench/description",
    subset="lldescribe",
    split="test",
    settings={**_RELEASE, "prompt_id": ("q_bench_a2/1",), "prefill": ("",), "max_new_tokens": (512,)},
    score_settings={"template": ("q_bench",), "wording": ("published",), "rounds": (5,)},
    columns=(number("sum", "Sum", "sum_ci95"), *_rated("completeness", "preciseness", "relevance")),
    count="n",
    items=499,
    judged=True,
    note=f"{_JUDGED} The experts' texts are private: submissions come from those who hold them.",
)
_DATABASES = {
    "koniq10k": ("KonIQ-10k", 10_073),
    "spaq": ("SPAQ", 11_125),
    "live_fb": ("LIVE-FB", 39_810),
    "live_itw": ("LIVE-itw", 1_169),
    "cgiqa6k": ("CGIQA-6K", 6_000),
    "agiqa3k": ("AGIQA-3K", 2_982),
    "kadid10k": ("KADID-10k", 10_125),
}
"""The databases of A3 with their numbers of images: Q-Bench, Table 1 and its lists."""
_QUALITY: Settings = {
    "prompt_id": ("q_bench_a3/1",),
    "prefill": ("The quality of the image is",),
    "prediction": ("pooled logits of words",),
    "words": ("good/poor",),
    "temperature": (100.0,),
    "ties": ("exact",),
}
_SRCC, _PLCC = number("srcc", "SRCC"), number("plcc", "PLCC")
_NAMES = {key: name for key, (name, _) in _DATABASES.items()}
_ASSESSMENT = (
    Board(
        name="q_bench/assessment",
        benchmark="Q-Bench",
        title="A3 assessment, average",
        about="Correlation of predicted and human quality, the plain mean over seven databases.",
        task="q_bench/assessment",
        subset="average",
        split="test",
        settings={**_ALL, **_QUALITY, "average": ("plain mean over databases",), "databases": (list(_DATABASES),)},
        columns=(
            *(_SRCC, _PLCC, number("plcc_fitted", "PLCC, fitted")),
            *broken_down(_SRCC, "SRCC by database", "by_database", _NAMES),
            *broken_down(_PLCC, "PLCC by database", "by_database", _NAMES),
        ),
        count="n",
        items=sum(images for _, images in _DATABASES.values()),
        note="An average of databases has no interval, so only scores that are equal as printed share a rank.",
    ),
    *(
        Board(
            name=f"q_bench/assessment/{key}",
            benchmark="Q-Bench",
            title=f"A3, {name}",
            about=f"Correlation of predicted and human quality on {name}.",
            task="q_bench/assessment",
            subset=key,
            split="test",
            settings={**_RELEASE, **_QUALITY, "data.config": (None,)},
            columns=(
                number("srcc", "SRCC", "srcc_ci95"),
                number("plcc", "PLCC", "plcc_ci95"),
                number("plcc_fitted", "PLCC, fitted"),
                number("krcc", "KRCC"),
            ),
            count="n",
            items=images,
        )
        for key, (name, images) in _DATABASES.items()
    ),
)
_ABILITIES = {
    "coarse perception": "CP",
    "fine-grained perception (single-instance)": "FP-S",
    "fine-grained perception (cross-instance)": "FP-C",
    "attribute reasoning": "AR",
    "logic reasoning": "LR",
    "relation reasoning": "RR",
}
_CIRCULAR = percent("circular_accuracy", "CircularEval", "circular_ci95")


def _circular(config: str, title: str, items: int | None) -> Board:
    parts = () if config == "cc" else broken_down(_CIRCULAR, "by ability", "by_l2_category", _ABILITIES)
    return Board(
        name=f"mmbench/{config}",
        benchmark="MMBench",
        title=title,
        about="Multiple choice; a question counts only if it is answered rightly in every rotation of its options.",
        task=f"mmbench/{config}",
        subset="mmbench",
        split="dev",
        settings={
            **_RELEASE,
            "data.config": (config,),
            "prompt_id": ("mmbench/1",),
            "option_order": ("release, turned by one place from pass to pass",),
            "blind": (False,),
            "fallback": ("wrong",),
            "rounds": (1,),
            "missing": ("error",),
            "max_new_tokens": _LENGTHS,
        },
        score_settings={**_NO_GUESS, "dropped": (0,)},
        columns=(_CIRCULAR, percent("vanilla_accuracy", "VanillaEval", "vanilla_ci95"), *parts),
        count="n_questions",
        items=items,
    )


_MMBENCH = (
    _circular("en", "English", 1164),
    _circular("cn", "Chinese", 1164),
    _circular("en_v11", "English, version 1.1", None),
    _circular("cn_v11", "Chinese, version 1.1", None),
    _circular("cc", "CCBench", None),
)


def _without_options(settings: Settings) -> Settings:
    return {name: allowed for name, allowed in settings.items() if name != "data.options"}


def _points(name: str, label: str) -> Column:
    """A column for a score that is a percentage as it stands."""
    return Column(name, label, (name,), (f"{name}_ci95",), digits=2, unit="%")


_AWARENESS = _points("score_sa", "Self-awareness")


def _self_awareness(config: str, title: str, items: int) -> Board:
    return Board(
        name=f"ql_bench/{config}",
        benchmark="QL-Bench",
        title=title,
        about="Right answers and right refusals, in percent, where `I don't know` is among the options.",
        task=f"ql_bench/{config}",
        subset="llsavisionqa",
        split="dev",
        settings={
            **_without_options(_CHOICE),
            "data.options.refusal_position": ("last",),
            "data.config": (config,),
            "prompt_id": ("q_bench_a1/1",),
            "fallback": ("wrong",),
        },
        score_settings=_NO_GUESS,
        columns=(
            _AWARENESS,
            _points("score_cc", "Right answers"),
            _points("score_rc", "Right refusals"),
            percent("answer_rate", "Answer rate", "answer_rate_ci95"),
            percent("answer_accuracy", "Answer accuracy", "answer_accuracy_ci95"),
            *broken_down(_AWARENESS, "by type", "by_question_type", _TYPES),
        ),
        count="n",
        items=items,
    )


_QL_BENCH = (_self_awareness("single", "Single images", 1495), _self_awareness("pair", "Pairs", 997))
_SOURCES = {"natural": "Natural", "artistic": "Artistic", "AI-generated": "AI-generated"}
_BY_SOURCE = broken_down(_ACCURACY, "by source", "by_image_source", _SOURCES)
_BY_ALL_TYPES = broken_down(_ACCURACY, "by type", "by_question_type", {**_TYPES, "why": "Why"})
_PRIVATE = "The answers are given on request: submissions come from those who hold them."


def _aesthetics(config: str, title: str, about: str, parts: tuple[Column, ...]) -> Board:
    return Board(
        name=f"aes_bench/{config}",
        benchmark="AesBench",
        title=title,
        about=about,
        task=f"aes_bench/{config}",
        subset="aesbench",
        split="test",
        settings={**_CHOICE, "data.config": (config,), "prompt_id": ("aes_bench_choice/1",)},
        score_settings=_NO_GUESS,
        columns=(_ACCURACY, *parts),
        count="n",
        items=2800,
        note=_PRIVATE,
    )


_AES_BENCH = (
    _aesthetics(
        "perception", "AesP perception", "Multiple choice on what makes an image's look.", (*_BY_SOURCE, *_BY_ALL_TYPES)
    ),
    _aesthetics(
        "empathy", "AesE empathy", "Multiple choice on what an image makes people feel.", (*_BY_SOURCE, *_BY_ALL_TYPES)
    ),
    _aesthetics("assessment", "AesA assessment", "High, medium or low aesthetics.", _BY_SOURCE),
    Board(
        name="aes_bench/interpretation",
        benchmark="AesBench",
        title="AesI interpretation",
        about="Reasons for a given aesthetic level, rated by a judge against experts' ones: three scores from 0 to 2.",
        task="aes_bench/interpretation",
        subset="aesbench",
        split="test",
        settings={
            **_RELEASE,
            "data.config": ("interpretation",),
            "prompt_id": ("aes_bench_interpretation/1",),
            "prefill": ("",),
            "max_new_tokens": (512,),
        },
        score_settings={"template": ("aesbench",), "rounds": (5,)},
        columns=(number("mean", "Mean", "mean_ci95"), *_rated("relevance", "precision", "completeness")),
        count="n",
        items=2800,
        judged=True,
        note=f"{_JUDGED} {_PRIVATE} The paper does not print its judge's instruction, so it is not the one used here.",
    ),
)
_PAIRING: Settings = {
    "data.options.rounds": (12,),
    "data.options.pairing": ("random",),
    "data.options.seed": (0,),
    "data.options.databases": ([],),
    "data.options.mm21_scores": ("mos",),
    "data.options.source": (None,),
    "data.options.sample": (None,),
}
"""How the pairs are drawn from the authors' label files."""


def _pairs(config: str, title: str, about: str, weights: str) -> Board:
    return Board(
        name=f"two_afc/{config}",
        benchmark="2AFC",
        title=title,
        about=about,
        task=f"two_afc/{config}",
        subset="two_afc",
        split="test",
        settings={
            **_ALL,
            **_PAIRING,
            "data.config": (config,),
            "prompt_id": ("two_afc/1",),
            "orders": (["main", "reversed"],),
            "aggregator": ("map",),
            "max_new_tokens": _LENGTHS,
        },
        score_settings={"aggregator": ("map",), "pool_weights": (weights,)},
        columns=(
            percent("accuracy_all", "Accuracy, all pairs", "accuracy_all_ci95"),
            percent("consistency", "Consistency", "consistency_ci95"),
            percent("accuracy_consistent", "Accuracy, consistent pairs", "accuracy_consistent_ci95"),
            number("plcc_fitted", "PLCC, fitted"),
            number("srcc", "SRCC", "srcc_ci95"),
            number("plcc", "PLCC", "plcc_ci95"),
        ),
        count="n_pairs",
    )


_TWO_AFC = (
    _pairs("coarse", "Coarse", "Which of two images of one database is better, asked in both orders.", "images"),
    _pairs("fine_levels", "Fine, levels", "One content and distortion type at two levels (CSIQ).", "equal"),
    _pairs("fine_types", "Fine, types", "One content and level with two types of distortion (CSIQ).", "equal"),
    _pairs("fine_mos", "Fine, scores", "Two images with scores of one interval (SPAQ).", "equal"),
)
BOARDS: tuple[Board, ...] = (*_Q_BENCH, _DESCRIPTION, *_ASSESSMENT, *_MMBENCH, *_QL_BENCH, *_AES_BENCH, *_TWO_AFC)


def find_board(task: str, subset: str) -> Board | None:
    """The board of a task's results on a data set; None if there is none."""
    return next((board for board in BOARDS if (board.task, board.subset) == (task, subset)), None)
