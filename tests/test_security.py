"""Every promise of SECURITY.md names rows of the fault list, and these are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_promises_name_rows_that_are_there():
    rows = [line.split(" | ")[-1] for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()]
    named = [name for cell in rows for name in re.findall(r'"([^"]+)"', cell)]
    faults = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "faults").glob("test_*.py"))
    assert len(named) > 30
    assert [name for name in named if f'"{name}"' not in faults] == []
