"""Scoring against private answers: numbers by hand, and nothing of an answer in anything that comes out."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.choice.rotations import rotated_letter
from eyechart.evaluators.answer_files.aes_bench import interpretation_submission, perception_submission
from eyechart.evaluators.answer_files.mmbench import AnsweredPass, mmbench_submission
from eyechart.evaluators.answer_files.q_bench import description_submission
from eyechart.evaluators.cli import app
from eyechart.evaluators.protocols.choice.passes import passes_of
from tests.evaluators.scripted_server import completion, refusal

SECRETS = ("heliotrope", "vermilion", "cerulean")
"""The options, of which the right one is secret."""
LETTERS = "ABC"
COUNT = 80


def secret(number: int) -> int:
    """Place of the right option."""
    return random.Random(number).randrange(3)


def q_bench(replies: list[str]) -> tuple[str, bytes, str, str]:
    rows = [
        {"type": n % 2, "concern": n % 4, "question": "Which?", "img_path": f"{n}.jpg", "candidates": list(SECRETS)}
        for n in range(len(replies))
    ]
    held = [{**row, "correct_ans": SECRETS[secret(n)]} for n, row in enumerate(rows)]
    given = [{**row, "response": reply} for row, reply in zip(rows, replies, strict=True)]
    return "llvisionqa_responses.json", json.dumps(given).encode(), "llvisionqa_test.json", json.dumps(held)


def q_bench_pairs(replies: list[str]) -> tuple[str, bytes, str, str]:
    _, given, _, held = q_bench(replies)
    lines = ["\n".join(json.dumps(row) for row in json.loads(text)) for text in (given, held)]
    return "q-bench2-a1_responses.jsonl", lines[0].encode(), "q-bench2-a1-test.jsonl", lines[1]


def aes_bench(replies: list[str]) -> tuple[str, bytes, str, str]:
    ((name, content),) = perception_submission([{"id": f"baid_{n}.jpg"} for n in range(len(replies))], replies).items()
    options = "\n".join(f"{letter}) {text}" for letter, text in zip(LETTERS, SECRETS, strict=True))
    held = {
        f"baid_{n}.jpg": {"AesP": {"Question": "Which?", "Options": options, "Answer": f"{LETTERS[secret(n)]})"}}
        for n in range(len(replies))
    }
    for n, entry in enumerate(held.values()):
        entry["AesP"]["Answer"] = LETTERS[secret(n)]
    return name, content, "AesBench_evaluation.json", json.dumps(held)


def mmbench(replies: list[str]) -> tuple[str, bytes, str, str]:
    """Every rotation of a question is answered by the option that its reply names unrotated."""
    passes = []
    for n, reply in enumerate(replies):
        row = {"question_id": str(n), "question": "Which?", "hint": "", "options": list(SECRETS), "answer": ""}
        row |= {"category": "OCR" if n % 2 else "image style", "l2_category": ""}
        for one in passes_of(row):
            named = rotated_letter(reply, one.number, 3) if reply in LETTERS else reply
            passes.append(AnsweredPass(row, one, named))
    ((name, content),) = mmbench_submission(passes, "en", "test").items()
    lines = ["\t".join(["index", "question", *"ABCD", "answer", "category", "image"])]
    for n in range(len(replies)):
        category = "ocr" if n % 2 else "image_style"
        lines.append("\t".join([str(n), "Which?", *SECRETS, "", LETTERS[secret(n)], category, "x" * 200_000]))
    return name, content, "MMBench_TEST_EN.tsv", "\n".join(lines)


BENCHMARKS = [q_bench, q_bench_pairs, aes_bench, mmbench]
Made = Callable[[list[str]], tuple[str, bytes, str, str]]


def call(tmp_path: Path, files: tuple[str, bytes, str, str], *arguments: Any, code: int = 0) -> str:
    """Run the command; nothing of an answer may be in what it prints or in any file but the one that holds them."""
    name, content, held_name, held = files
    (tmp_path / name).write_bytes(content)
    (tmp_path / "held").mkdir(exist_ok=True)
    (tmp_path / "held" / held_name).write_text(held)
    command = ["score-private", tmp_path / name, tmp_path / "held" / held_name, *arguments]
    done = CliRunner().invoke(app, [str(part) for part in command])
    assert done.exit_code == code, done.output
    written = [path.read_text() for path in tmp_path.iterdir() if path.is_file() and path.name != name]
    for text in (done.output, repr(done.exception), *written):
        assert not any(word in text for word in SECRETS)
        assert not any(letters in text.replace(" ", "") for letters in ('"A"', "'A'", "ABC", "A,B"))
    return done.output


@pytest.mark.parametrize("make", BENCHMARKS)
def test_scores_by_hand(tmp_path: Path, make: Made) -> None:
    # The first 40 right, 30 wrong, 10 that name nothing.
    replies = [LETTERS[(secret(n) + (n >= 40)) % 3] if n < 70 else "I cannot tell." for n in range(COUNT)]
    shown = call(tmp_path, make(replies), "--out", tmp_path / "scores.json")
    found = json.loads(shown)
    assert found == json.loads((tmp_path / "scores.json").read_text())
    name = "circular_accuracy" if make is mmbench else "accuracy"
    assert found[name] == 0.5 and found[f"{name}_ci95"] == pytest.approx([0.3927, 0.6073], abs=1e-3)
    assert found["n"] == COUNT and found["unmatched"] == (30 if make is mmbench else 10)
    assert found["random_guess"] == pytest.approx(3**-3 if make is mmbench else 1 / 3)
    groups = {key: value for key, value in found.items() if key.startswith("by_")}
    assert all(part["n"] >= 30 for group in groups.values() for part in group.values())
    # Concerns have 20 questions each.
    expected = {q_bench: {"by_question_type"}, q_bench_pairs: {"by_question_type"}, mmbench: {"by_category"}}
    assert set(groups) == expected.get(make, {"by_image_source"})


@pytest.mark.parametrize("make", BENCHMARKS)
def test_a_submission_that_lacks_answers(tmp_path: Path, make: Made) -> None:
    name, content, _, _ = make(["A"] * 10)
    _, _, held_name, held = make(["A"] * 12)
    shown = call(tmp_path, (name, content, held_name, held), code=1)
    assert "10 of 12" in shown or "2 of 12" in shown


@pytest.mark.parametrize("make", BENCHMARKS)
def test_answers_to_other_questions(tmp_path: Path, make: Made) -> None:
    name, content, _, _ = make(["A"] * 12)
    _, _, held_name, held = make(["A"] * 10)
    assert "none of the benchmark's" in (shown := call(tmp_path, (name, content, held_name, held), code=1)) or (
        "about no question of the answers file" in shown
    )


@pytest.mark.parametrize("make", BENCHMARKS)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(SECRETS[0], "x", 1),
        lambda text: text.replace('"correct_ans": "', '"correct_ans": "heliotrope of ').replace("\tA\t", "\tZ\t"),
        lambda text: text.replace("Answer", "Reply").replace("correct_ans", "right").replace("\tanswer", "\tx"),
        lambda text: f"[{json.dumps(SECRETS)}]",
        lambda text: json.dumps(SECRETS),
        lambda text: "",
        lambda text: text.replace("index", "x").replace('"type": 0', '"type": "vermilion"').replace("Options", "O"),
    ],
    ids=["cut", "option", "answer", "without", "list", "texts", "empty", "keys"],
)
def test_errors_tell_nothing(tmp_path: Path, make: Made, spoil: Callable[[str], str]) -> None:
    name, content, held_name, held = make(["A"] * 40)
    spoilt = spoil(held)
    # Some change nothing in some files; AesBench's submissions hold no options that could differ.
    same = spoilt == held or (make is aes_bench and "Options" in spoilt and spoilt.count("x") == held.count("x") + 1)
    call(tmp_path, (name, content, held_name, spoilt), code=0 if same else 1)


def interpretations(replies: list[str]) -> tuple[str, bytes, str, str]:
    ((name, content),) = interpretation_submission([{"id": f"{n}.jpg"} for n in range(len(replies))], replies).items()
    held = {f"{n}.jpg": {"AesI": {"Question": "?", "Answer": SECRETS[secret(n)]}} for n in range(len(replies))}
    return name, content, "AesBench_evaluation.json", json.dumps(held)


def descriptions(replies: list[str]) -> tuple[str, bytes, str, str]:
    ((name, content),) = description_submission([{"id": f"{n}.jpg"} for n in range(len(replies))], replies).items()
    held = [{"image": f"{n}.jpg", "text": SECRETS[secret(n)]} for n in range(len(replies))]
    return name, content, "descriptions.jsonl", "\n".join(map(json.dumps, held))


def descriptions_csv(replies: list[str]) -> tuple[str, bytes, str, str]:
    name, content, _, held = descriptions(replies)
    rows = [json.loads(line) for line in held.split("\n")]
    return name, content, "descriptions.csv", "id,text\n" + "\n".join(f"{row['image']},{row['text']}" for row in rows)


TEXTS = [interpretations, descriptions, descriptions_csv]


@pytest.mark.parametrize("make", TEXTS)
def test_texts_are_scored_by_the_lexical_baseline(tmp_path: Path, make: Made) -> None:
    found = json.loads(call(tmp_path, make(["It is dark.", "", "A calm picture."]), "--out", tmp_path / "scores.json"))
    assert found["judge"] == "lexical" and found["n"] == 3 and found["empty_predictions"] == 1
    assert found["template"] == ("aesbench" if make is interpretations else "q_bench")
    assert "image_scores" not in found
    assert json.loads((tmp_path / "scores.json").read_text()) == found


@pytest.mark.parametrize("make", TEXTS)
def test_texts_are_scored_by_a_judge(tmp_path: Path, make: Made, http: Any, script: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    right = [SECRETS[secret(n)] for n in range(6)]
    replies = [*right[:4], "mauve", "mauve"]

    def respond(request: Any) -> Any:
        """2 where the text is the golden one."""
        body = json.loads(request.data)
        told = str(body["messages"])
        named = [word for word in SECRETS if word in told]
        return completion(*[f"Score: {2 if named and 'mauve' not in told else 0}"] * body["n"])

    script.say(respond)
    found = json.loads(
        call(tmp_path, make(replies), "--judge", "j", "--judge-base-url", http.url_for("/v1"), "--rounds", 3)
    )
    assert (found["judge"], found["rounds"], found["n"], found["failed_rounds"]) == ("j", 3, 6, 0)
    assert found["completeness"]["score"] == pytest.approx(2 * 4 / 6)
    assert found["judge_settings"]["lost_rounds"] == 0 and found["judge_settings"]["requests"] == len(script.bodies)
    # Equal conversations are asked once.
    assert 0 < len(script.bodies) <= 18
    assert not (tmp_path / "home").exists() or not [path for path in (tmp_path / "home").rglob("*") if path.is_file()]


@pytest.mark.parametrize(("status", "is_lost"), [(400, True), (401, False), (404, False)])
def test_what_a_judges_server_says_is_not_shown(
    tmp_path: Path, http: Any, script: Any, status: int, is_lost: bool
) -> None:
    script.say(lambda request: refusal(status, f"cannot judge {request.data.decode()}"))
    judge = ("--judge", "j", "--judge-base-url", http.url_for("/v1"))
    shown = call(tmp_path, descriptions(["It is dark."] * 3), *judge, code=0 if is_lost else 1)
    if is_lost:
        found = json.loads(shown)
        assert found["sum"] is None and found["judge_settings"]["lost_rounds"] == found["failed_rounds"] == 45
    else:
        assert "the judge 'j' cannot be asked" in shown


@pytest.mark.parametrize("make", TEXTS)
def test_golden_texts_that_are_lacking(tmp_path: Path, make: Made) -> None:
    name, content, held_name, held = make(["It is dark."] * 3)
    for spoilt in (
        held.replace(SECRETS[secret(1)], ""),
        held.replace("text", "txt").replace("Answer", "x"),
        "",
        "[[1]]",
    ):
        call(tmp_path, (name, content, held_name, spoilt), code=1)
    shown = call(tmp_path, (*make(["It is dark."] * 2)[:2], held_name, held), code=1)
    assert "answers 2 of 3 questions" in shown
    shown = call(tmp_path, (*make(["It is dark."] * 4)[:2], held_name, held), code=1)
    assert "row 4: is about no question of the answers file" in shown


def test_choices_need_no_judge(tmp_path: Path) -> None:
    shown = call(tmp_path, q_bench(["A"] * 40), "--rounds", 3, code=2)
    assert "--judge and --rounds have no effect on choices" in shown
    shown = call(tmp_path, q_bench(["A"] * 40), "--judge-max-cost", 3, code=2)
    assert "has no effect without --judge" in shown


def test_an_unknown_part_is_named(tmp_path: Path) -> None:
    content = json.dumps({"1.jpg": {"AesX_response": "It is calm."}}).encode()
    shown = call(tmp_path, ("test_AesX.json", content, "AesBench_evaluation.json", "{}"), code=1)
    assert "is of the part 'AesX'; expected one of AesP, AesE, AesA1, AesI" in shown


def test_answers_of_several_parts_are_refused(tmp_path: Path) -> None:
    content = json.dumps({"1.jpg": {"AesP_response": "A"}, "2.jpg": {"AesE_response": "A"}}).encode()
    shown = call(tmp_path, ("test_AesP.json", content, "AesBench_evaluation.json", "{}"), code=1)
    assert "row 2: holds answers of several parts; give one file for each" in shown


def test_neither_file_is_written_over(tmp_path: Path) -> None:
    name, content, held_name, held = q_bench(["A"] * 40)
    for path in (tmp_path / name, tmp_path / "held" / held_name):
        shown = call(tmp_path, (name, content, held_name, held), "--out", path, code=2)
        assert "which is one of the files that are read" in shown.replace("\n", " ")
    assert (tmp_path / "held" / held_name).read_text() == held and (tmp_path / name).read_bytes() == content


def test_line_separators_within_texts_end_no_line(tmp_path: Path) -> None:
    name, content, held_name, held = q_bench_pairs([f"{LETTERS[secret(n)]}. It is\u2028so\x85." for n in range(40)])
    lines = [json.loads(line) for line in content.decode().split("\n")]
    content = "\r\n".join(json.dumps(row, ensure_ascii=False) for row in lines).encode()
    held = "\n".join(json.dumps({**json.loads(row), "x": "a\u2028b"}, ensure_ascii=False) for row in held.split("\n"))
    assert json.loads(call(tmp_path, (name, content, held_name, held)))["accuracy"] == 1.0


def test_a_small_group_alone_is_not_told_by_the_others(tmp_path: Path) -> None:
    name, content, held_name, held = q_bench(["A"] * 64)
    rows = json.loads(held)
    given = json.loads(content)
    for row in (*rows, *given):
        row["type"] = 1 if row["img_path"] in ("1.jpg", "2.jpg") else 0
    found = json.loads(call(tmp_path, (name, json.dumps(given).encode(), held_name, json.dumps(rows))))
    assert "by_question_type" not in found


def test_an_index_with_two_answers_is_refused_and_neither_is_told(tmp_path: Path) -> None:
    name, content, held_name, held = mmbench(["A"] * 12)
    first = held.split("\n")[1]
    other = first.replace(f"\t{LETTERS[secret(0)]}\t", f"\t{LETTERS[(secret(0) + 1) % 3]}\t")
    shown = call(tmp_path, (name, content, held_name, f"{held}\n{other}"), code=1)
    assert "has an index that an earlier row has with other contents" in shown
    # A row that is there twice counts once.
    assert json.loads(call(tmp_path, (name, content, held_name, f"{held}\n{first}")))["n"] == 12
