r"""The pairs of Q-Bench2 (Q-Bench+): multiple-choice questions that compare two images or ask about both.

A Benchmark for Multi-modal Foundation Models on Low-level Vision: from Single Images to Pairs,
https://arxiv.org/abs/2402.07116. 1,000 questions in `dev` and 999 in `test`; the answers of `test` are private.

Layouts that are read, see `common/choice/q_bench.py`: the release and the Hub's Parquet form `q-future/Q-Bench2-HF`.
The release's field `img_path`, of the form `<folder>\<first>_cat_<second>.jpg`, names a file with both images side by
side, which is not used: the two single images are read instead.

Three released rows of `dev` have options that look wrong, and are read unchanged: row 129 has a single option, rows 873
and 965 list an option twice. In 873 the duplicate is the correct option, and `correct_choice` gives its letter.
"""

from types import MappingProxyType

from eyechart.datasets_scripts.common.choice.q_bench import QuestionBuilder, QuestionSet

CONCERNS = ("distortion", "concern 1", "concern 2", "concern 3")
"""Names of the codes of `concern`: 0 is distortion (checked on the release), the others are not documented."""


def pair_names(img_path: str) -> list[str]:
    r"""Return the names of the two images of a pair; raises ValueError for a path of another form.

    Examples:
        >>> pair_names("llvisionqa_compare_dev\\00079.jpg_cat_09769.jpg.jpg")
        ['00079.jpg', '09769.jpg']
    """
    file = img_path.replace("\\", "/").rpartition("/")[2]
    names = file.removesuffix(".jpg").split("_cat_")
    if not file.endswith(".jpg") or len(names) != 2 or not all(names):
        raise ValueError(f"field 'img_path' must be <first>_cat_<second>.jpg, found {img_path!r}")
    return names


QUESTIONS = QuestionSet(
    title="Q-Bench2's set of pairs",
    hub="https://huggingface.co/datasets/q-future/q-bench2",
    license="mit",
    files=MappingProxyType({"dev": "q-bench2-a1-dev.jsonl", "test": "q-bench2-a1-test.jsonl"}),
    image_archive="all_single_images.zip",
    image_folders=("all_single_images", "", "images"),
    image_columns=("image1", "image2"),
    image_names=pair_names,
    concerns=CONCERNS,
)


class LLVisionQAPairs(QuestionBuilder):
    """Loads Q-Bench2's pairs from their release, from its Parquet form, or from the Hub."""

    QUESTION_SETS = MappingProxyType({"default": QUESTIONS})
