"""The answer files of Q-Bench and AesBench, as written by `eyechart.evaluators.answer_files`.

Q-Bench, Q-Bench2 and LLDescribe: rows of the release's test file (`img_path`; `question`, `candidates`), each with the
reply as `response`. AesBench: an object that maps image names to objects with one key, `AesP_response` or the key of
another part; a file is about one part. MMBench's answer file has VLMEvalKit's columns (see `vlmevalkit`).

Options are in the release's order. eyechart's id of a second question about an image differs from that of the first, so
both ids are tried, and the question decides.
"""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.backends.predictions.cells import name_of, text_of
from eyechart.evaluators.backends.predictions.prediction import Prediction
from eyechart.evaluators.requests.values import brief

_PAIR = "_cat_"


def parse_q_bench(row: Mapping[str, Any]) -> Prediction:
    """Parse one row of Q-Bench's, Q-Bench2's or LLDescribe's file; raises ValueError if it is malformed."""
    name = name_of(row, "img_path")
    question, options = text_of(row.get("question")), row.get("candidates")
    if options is not None and not isinstance(options, list):
        raise ValueError(f"'candidates' is {brief(options)}; expected a list of strings")
    image = name.removesuffix(".jpg") if _PAIR in name else name
    return Prediction(
        # The first name distinguishes questions about the same image.
        names=(f"{image}: {question}", image) if question else (image,),
        text=text_of(row["response"]),
        options=None if options is None else tuple(map(text_of, options)),
        question=question,
    )


def parse_aes_bench(row: Mapping[str, Any]) -> Prediction:
    """Parse the reply about one image, which `containers` made a row; raises ValueError if it is malformed."""
    answers = [value for key, value in row.items() if key != "image"]
    if len(answers) != 1:
        raise ValueError(f"{len(answers)} values for an image; expected only its reply")
    return Prediction(names=(name_of(row, "image"),), text=text_of(answers[0]))
