from string import ascii_uppercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.datasets_scripts.common.choice.rotations import STRIDE, Pass, numbered_passes, rotate, rotated_letter


@given(st.lists(st.text(), min_size=1, max_size=6), st.integers(0, 12), st.data())
def test_rotating_moves_each_option_and_its_letter(options: list[str], places: int, data: st.DataObject) -> None:
    turned = rotate(options, places)
    assert rotate(turned, -places) == tuple(options)
    place = data.draw(st.integers(0, len(options) - 1))
    letter = rotated_letter(ascii_uppercase[place], places, len(options))
    assert turned[ascii_uppercase.index(letter)] == options[place]
    assert rotated_letter("", places, len(options)) == ""


def _passes(*indices: tuple[int, int | None]) -> list[Pass]:
    return [Pass(index, "Which?", "", ("red", "green"), "A", group) for index, group in indices]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(7, None), (STRIDE + 7, None), (8, None)], {7: {0: 7, 1: STRIDE + 7}, 8: {0: 8}}),
        ([(3 * STRIDE + 7, None), (7, None)], {7: {0: 7, 3: 3 * STRIDE + 7}}),
        ([(STRIDE + 7, None)], {7: {1: STRIDE + 7}}),
        ([(7, 7), (2 * STRIDE + 7, 7), (STRIDE + 7, 7)], {7: {0: 7, 1: STRIDE + 7, 2: 2 * STRIDE + 7}}),
        # Other strides, and questions whose numbers go beyond a million.
        ([(30, 5), (10, 5), (20, 5)], {5: {0: 10, 1: 20, 2: 30}}),
        ([(2 * STRIDE, 2 * STRIDE), (3 * STRIDE, 2 * STRIDE)], {2 * STRIDE: {0: 2 * STRIDE, 1: 3 * STRIDE}}),
    ],
)
def test_passes_by_question(rows: list[tuple[int, int | None]], expected: dict[int, dict[int, int]]) -> None:
    found = numbered_passes(_passes(*rows))
    assert {id: {turn: one.index for turn, one in passes.items()} for id, passes in found.items()} == expected
    assert [list(passes) for passes in found.values()] == [sorted(passes) for passes in found.values()]
