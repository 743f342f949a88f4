"""The page that follows a row from its file to a board names the functions that it passes, in their order."""

import json
import re
import shutil
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from tests.evaluators.tasks.own_data import write_questions

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^\| (\d) \| `([^`]+)` \| `(\w+)` \|", re.MULTILINE)
TASK = """name: my_questions
protocol: multiple_choice
data: {path: my_questions.tsv}
columns: {id: index, images: image, options: [A, B, C, D]}
prompt: "{images}\\n{question}\\n{options}"
"""


def test_a_run_and_a_board_call_the_functions_in_this_order(tmp_path: Path) -> None:
    listed = LINE.findall((ROOT / "docs" / "topics" / "one_row.md").read_text(encoding="utf-8"))
    files = {number: file for number, file, _ in listed}
    assert len(listed) == 11 and len(files) == len(set(files.values())) == 8
    wanted = {(str(ROOT / file), function) for _, file, function in listed}
    called: dict[tuple[str, str], None] = {}

    def see(frame: FrameType, event: str, _: Any) -> None:
        place = (frame.f_code.co_filename, frame.f_code.co_name)
        # Requests are also made in advance, to find mistakes early.
        is_early = place[1] == "requests" and "ask_rows" not in {name for _, name in called}
        if event == "call" and place in wanted and not is_early:
            called.setdefault(place)

    write_questions(tmp_path)
    (tmp_path / "task.yaml").write_text(TASK, encoding="utf-8")
    entry = tmp_path / "entries" / "me"
    sys.setprofile(see)
    try:
        done = CliRunner().invoke(app, ["run", str(tmp_path / "task.yaml"), "--out", str(entry)])
        assert done.exit_code == 0, done.output
        for name in ("task.yaml", "my_questions.tsv"):
            shutil.copy(tmp_path / name, entry)
        board = ["leaderboard", "build", str(tmp_path / "entries"), "--tasks", str(entry / "task.yaml")]
        built = CliRunner().invoke(app, [*board, "--out", str(tmp_path / "space")])
        assert built.exit_code == 0, built.output
    finally:
        sys.setprofile(None)
    (on_board,) = (tmp_path / "space" / "results" / "boards").glob("my_questions*.json")
    assert len(json.loads(on_board.read_text(encoding="utf-8"))["rows"]) == 1
    assert list(called) == [(str(ROOT / file), function) for _, file, function in listed]
