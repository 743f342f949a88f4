"""Multiple-choice prompts of other toolkits, so that scores can be compared with theirs.

- VLMEvalKit (https://github.com/open-compass/VLMEvalKit), `ImageMCQDataset.build_prompt` in
  `vlmeval/dataset/image_mcq.py` at e8e78f0, for MMBench, CCBench, Q-Bench and AesBench. Some of its models replace
  these prompts with their own.
- lmms-eval (https://github.com/EvolvingLMMs-Lab/lmms-eval) at 75571cf: `lmms_eval/tasks/mmbench`, `mmbench_doc_to_text`
  in `en_utils.py`, `cn_utils.py` and `cc_utils.py` with `create_options_prompt` and the default `post_prompt` of the
  tasks' files (the line before the options is English in the Chinese tasks too); `lmms_eval/tasks/qbench`,
  `q_bench_doc_to_text`.
"""

from string import ascii_uppercase

from eyechart.evaluators.requests.types import IMAGE, Prompt, Row

VLMEVALKIT, LMMS_EVAL = "vlmevalkit", "lmms-eval"
_DIRECTLY = "Answer with the option's letter from the given choices directly."


def vlmevalkit_prompt(row: Row) -> Prompt:
    """Images; hint, question, options, instruction."""
    hint = f"Hint: {row['hint']}\n" if row.get("hint") else ""
    instruction = "Please select the correct answer from the options above. \n"
    return (*_images(row), f"{hint}Question: {row['question']}\nOptions:\n{listed_options(row)}\n{instruction}")


def lmms_eval_mmbench_prompt(row: Row) -> Prompt:
    """Images; hint, question, options, instruction: MMBench in English."""
    return _lmms_eval_mmbench(row, _DIRECTLY)


def lmms_eval_mmbench_cn_prompt(row: Row) -> Prompt:
    """The same with the instruction in Chinese: MMBench in Chinese, CCBench."""
    return _lmms_eval_mmbench(row, "请直接使用所提供的选项字母作为答案回答。")


def lmms_eval_q_bench_prompt(row: Row) -> Prompt:
    """Images; question, options, instruction: Q-Bench and its pairs."""
    return (*_images(row), f"{row['question']}\n{listed_options(row)}\n{_DIRECTLY}\n")


def _lmms_eval_mmbench(row: Row, instruction: str) -> Prompt:
    hint = f"{row['hint']} " if row.get("hint") else ""
    return (
        *_images(row),
        f"{hint}{row['question']} There are several options:\n{listed_options(row)}\n\n{instruction}",
    )


def _images(row: Row) -> Prompt:
    return (IMAGE,) * max(1, len(row.get("images") or ()))


def listed_options(row: Row) -> str:
    """The options with their letters, one per line."""
    return "\n".join(f"{letter}. {option}" for letter, option in zip(ascii_uppercase, row["options"], strict=False))
