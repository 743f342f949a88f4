"""Synthetic demo data of Q-Bench, Q-Bench2 and AesBench, in the file layouts of their releases.

All combinations of question type and concern are equally frequent. As in the real releases, the test files of Q-Bench
and Q-Bench2 have no answers, a pair's `img_path` names a file with both images side by side, and AesBench's names show
the source of an image. One of ten images of LLDescribe has no golden text, as in a partial copy.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any
from uuid import UUID

import numpy as np

from eyechart.datasets_scripts.mini import MINI_SEED, questions, write_json
from eyechart.datasets_scripts.mini.questions import CONCERNS, PAIR_CONCERNS, QUESTION_TYPES, Question
from eyechart.datasets_scripts.mini.scenes import DISTORTION_TYPES, LEVELS, Look, draw_scene, save


def write_llvisionqa(folder: Path) -> None:
    """Write `llvisionqa_dev.json`, `llvisionqa_test.json` and `images_llvisionqa/`."""
    for number, (split, count) in enumerate({"dev": 180, "test": 72}.items()):
        rows = []
        for index, kind, concern, rng in _combinations(1, number, count):
            look = questions.draw_look(rng)
            asked = questions.ask(look, rng, QUESTION_TYPES[kind], CONCERNS[concern])
            name = f"mini_{split}_{index:04d}.png"
            save(look.draw(rng), folder / "images_llvisionqa" / name)
            answer = {"correct_ans": asked.answer} if split == "dev" else {}
            rows.append(_row(kind, concern, asked, name) | answer)
        write_json(folder / f"llvisionqa_{split}.json", rows)


def write_llvisionqa_pairs(folder: Path) -> None:
    """Write `q-bench2-a1-dev.jsonl`, `q-bench2-a1-test.jsonl` and `all_single_images/`."""
    for number, (split, count) in enumerate({"dev": 96, "test": 24}.items()):
        lines = []
        for index, kind, concern, rng in _combinations(3, number, count):
            looks, asked = questions.ask_pair(rng, QUESTION_TYPES[kind], PAIR_CONCERNS[concern])
            names = [f"mini_{split}_{index:04d}_{place}.png" for place in (1, 2)]
            for name, look in zip(names, looks, strict=True):
                save(look.draw(rng), folder / "all_single_images" / name)
            row = _row(kind, concern, asked, f"llvisionqa_compare_{split}\\{'_cat_'.join(names)}.jpg")
            if split == "dev":
                row |= {"correct_ans": asked.answer, "correct_choice": "ABCD"[asked.options.index(asked.answer)]}
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        (folder / f"q-bench2-a1-{split}.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")


def write_llsavisionqa(folder: Path) -> None:
    """Write the files of LLVisionQA and of the pairs: LLSAVisionQA has none of its own."""
    write_llvisionqa(folder)
    write_llvisionqa_pairs(folder)


def write_lldescribe(folder: Path) -> None:
    """Write `images_lldescribe/` and `descriptions.json`, with every distortion type at every level."""
    golden = []
    for index in range(70):
        rng = np.random.default_rng([MINI_SEED, 4, index])
        look = Look(draw_scene(rng), DISTORTION_TYPES[index % 10], LEVELS[index // 10 % 5])
        name = f"mini_{index:04d}.png"
        save(look.draw(rng), folder / "images_lldescribe" / name)
        if index % 10 != 9:
            golden.append({"img_path": name, "description": questions.describe(look)})
    write_json(folder / "descriptions.json", golden)


def write_aesbench(folder: Path) -> None:
    """Write `AesBench_evaluation.json`, with answers, and `images/`, each with all four questions."""
    entries = {}
    for index in range(72):
        rng = np.random.default_rng([MINI_SEED, 11, index])
        look = Look(draw_scene(rng), DISTORTION_TYPES[index % 10], LEVELS[(index + index // 10) % 5])
        kind = questions.AESTHETIC_TYPES[(index + index // 4) % 4]
        identifier = str(UUID(bytes=rng.bytes(16), version=4)).replace("-", "_")
        # A natural, an artistic and an AI-generated image, and a name that shows no source.
        names = (f"spaq_{index:05d}.png", f"baid_{index}.png", f"{identifier}.png", f"{10_000 + index}.png")
        name = names[index % 4]
        save(look.draw(rng), folder / "images" / name)
        entries[name] = {
            "AesP": _released(questions.ask(look, rng, kind, CONCERNS[index % 4])),
            "AesE": _released(questions.ask_empathy(look.scene, rng, kind)),
            "AesA1": _released(questions.ask_assessment(look.level)),
            "AesI": {"Question": questions.interpretation_question(look.level), "Answer": questions.describe(look)},
        }
    write_json(folder / "AesBench_evaluation.json", entries)


def released_options(options: Sequence[str]) -> str:
    """AesBench's options as one string, as in the release; the fourth one lacks its blank, as some released ones do."""
    return "\n".join(
        f"{letter}){'' if letter == 'D' else ' '}{option}"
        for letter, option in zip(ascii_uppercase, options, strict=False)
    )


def _combinations(stream: int, number: int, count: int) -> Iterator[tuple[int, int, int, np.random.Generator]]:
    """Yield index, codes of question type and concern, and the generator of every question of a split."""
    for index in range(count):
        yield index, *divmod(index % 12, 4), np.random.default_rng([MINI_SEED, stream, number, index])


def _row(kind: int, concern: int, asked: Question, path: str) -> dict[str, Any]:
    options = list(asked.options)
    return {"type": kind, "concern": concern, "question": asked.question, "img_path": path, "candidates": options}


def _released(asked: Question) -> dict[str, str]:
    options = released_options(asked.options)
    right = options.splitlines()[asked.options.index(asked.answer)]
    return {"Question": asked.question, "Options": options, "Answer": right}
