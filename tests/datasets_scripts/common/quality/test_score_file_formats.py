import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR
from eyechart.datasets_scripts.common.quality.score_file_formats import (
    FORMAT,
    PLAIN,
    ScoreFormat,
    common_formats,
    read_scores,
)

OWN = ScoreFormat(image="name", score="dmos", std="std", worst=100)
BARE = ScoreFormat(image="image", score="mos", all_columns=("reference", "image", "bitrate", "mos"))
BLANKS = ScoreFormat(image="image", score="dmos", worst=1, all_columns=("image", "dmos"), delimiter=" ")
FORMATS = (OWN, BARE, BLANKS, *common_formats(worst=100))


def write(tmp_path: Path, content: str, name: str = "scores.csv") -> str:
    (tmp_path / name).write_text(content, encoding="utf-8")
    return str(tmp_path / name)


def parsed(path: str) -> list[tuple[str, dict[str, Any]]]:
    rows = []
    for number, raw in read_scores(path, FORMATS):
        form = raw[FORMAT]
        rows.append((form.name_of(raw, path=path, number=number), form.scores_of(raw, path=path, number=number)))
    return rows


def scores(quality: float, std: float | None, released: float) -> dict[str, float | None]:
    return {"quality": quality, "quality_std": std, "released_score": released}


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        ("name,dmos,std\na.png,30,2.5\n", "s.csv", ("a.png", scores(70, 2.5, 30))),
        ("std,extra,dmos,name\n2.5,x,30 ,a.png\n", "s.csv", ("a.png", scores(70, 2.5, 30))),
        ("image,mos\na.png,30\n", "s.csv", ("a.png", scores(30, None, 30))),
        ("source/a.png,JPEG/a_1.png,0.2,35.4\n", "s.csv", ("JPEG/a_1.png", scores(35.4, None, 35.4))),
        ("a.png 0.25\n", "s.txt", ("a.png", scores(0.75, None, 0.25))),
        ("dis_img_path,dis_type,score\nDB/Images/a.png,X,30\n", "s.txt", ("a.png", scores(70, None, 30))),
        (json.dumps([{"img_path": "x/a.png", "gt_score": "30 "}]), "s.json", ("x/a.png", scores(70, None, 30))),
        (json.dumps([{"img_path": "a.png", "gt_score": 30}]), "s.json", ("a.png", scores(70, None, 30))),
        # The image in another column than in the official form.
        ("img_path,mos\na.png,30\n", "s.csv", ("a.png", scores(30, None, 30))),
        ("image,gt_score\na.png,30\n", "s.csv", ("a.png", scores(70, None, 30))),
        ("img_path,dmos,std\na.png,30,2.5\n", "s.csv", ("a.png", scores(70, 2.5, 30))),
        ("image,name,dmos,std\n7,a.png,30,2.5\n", "s.csv", ("a.png", scores(70, 2.5, 30))),
        (json.dumps([{"image": "x/a.png", "gt_score": 30}]), "s.json", ("x/a.png", scores(70, None, 30))),
        (json.dumps([{"image": "a.png", "mos": 30}]), "s.json", ("a.png", scores(30, None, 30))),
        (json.dumps([{"name": "a.png", "dmos": "30", "std": 2.5}]), "s.json", ("a.png", scores(70, 2.5, 30))),
        # A downloaded file has no ending.
        ("image,mos\na.png,30\n", "0f1e2d", ("a.png", scores(30, None, 30))),
    ],
)
def test_forms_are_told_apart(tmp_path: Path, content: str, name: str, expected: tuple[str, dict[str, float]]) -> None:
    assert parsed(write(tmp_path, content, name)) == [expected]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            "",
            r"the file is empty; expected a header line\. For your own scores, write a CSV with the columns image,mos",
        ),
        ("a.png,3.5\nb.png,2\n", r"missing column 'image'; .*found: a\.png, 3\.5\. For your own scores"),
        (
            "image;mos\na.png;1\n",
            r"row 1: .*For your own scores, write a CSV with the columns image,mos: file name and",
        ),
        ("image,score\na,1\n", r"row 1: .*missing column 'mos'.*For your own scores"),
        ("image,moss\na,1\n", r"row 1: .*missing column 'mos'; did you mean 'moss'\? found: image, moss"),
        ("name,dmos,sd\na,1,2\n", r"row 1: .*missing column 'std'"),
        ("dis_img_path,dis_type\na,b\n", r"row 1: .*missing column 'score'"),
        # Four columns of which the last is no number are no row of a file without a header.
        ("reference,image,bitrate,MOS\na,b,1,2\n", r"row 1: .*missing column 'mos'; did you mean 'MOS'"),
    ],
)
def test_files_of_no_form_get_the_error_of_the_nearest(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(BadAnnotationError, match=reason):
        read_scores(write(tmp_path, content), FORMATS)


def test_rows_without_a_header_are_counted_from_the_first_line(tmp_path: Path) -> None:
    rows = read_scores(write(tmp_path, "s/a.png,J/a_1.png,0.2,35\n\ns/a.png,J/a_2.png,0.4\n"), FORMATS)
    assert [number for number, _ in rows] == [1, 3]
    assert rows[1][1] == {ROW_ERROR: "expected 4 fields; found 3"}


def test_a_broken_first_item_of_a_json_list_does_not_change_its_form(tmp_path: Path) -> None:
    rows = read_scores(write(tmp_path, '["broken", {"img_path": "a.png", "gt_score": 30}]', "s.json"), FORMATS)
    assert ROW_ERROR in rows[0][1] and (rows[1][1][FORMAT].score, rows[1][1][FORMAT].worst) == ("gt_score", 100)


def test_workbooks_are_only_read_where_a_form_is_one(tmp_path: Path) -> None:
    with pytest.raises(
        BadAnnotationError, match=r"scores\.xlsx: scores of this database cannot be read from a workbook"
    ):
        read_scores(write(tmp_path, "", "scores.xlsx"), FORMATS)


RATED = ScoreFormat(image="image", score="mos", ratings=("c1", "c2", "c3"))


@pytest.mark.parametrize(("counts", "mean"), [((1, 0, 0), 1), ((0, "0.5", 0.5), 2.5), ((1, 2, 1), 2)])
def test_quality_is_the_mean_rating_where_there_are_ratings(counts: tuple[Any, ...], mean: float) -> None:
    raw = {"image": "a", "mos": "77", **dict(zip(RATED.ratings, counts, strict=True))}
    assert RATED.scores_of(raw, path="a.csv", number=2) == scores(mean, None, 77)


@pytest.mark.parametrize("counts", [(0, 0, 0), (2, -1, 0)])
def test_ratings_must_be_counts(counts: tuple[int, ...]) -> None:
    raw = {"image": "a", "mos": "77", **dict(zip(RATED.ratings, counts, strict=True))}
    with pytest.raises(
        BadAnnotationError, match=r"a\.csv, row 2: fields c1, c2, c3 must be counts of ratings, found \["
    ):
        RATED.scores_of(raw, path="a.csv", number=2)


@given(strategies.lists(strategies.integers(0, 10**6), min_size=3, max_size=3).filter(any))
def test_the_mean_rating_lies_on_the_scale(counts: list[int]) -> None:
    raw = {"mos": 0, **dict(zip(RATED.ratings, counts, strict=True))}
    quality = RATED.scores_of(raw, path="a", number=1)["quality"]
    lowest = next(rating for rating, count in enumerate(counts, 1) if count)
    highest = max(rating for rating, count in enumerate(counts, 1) if count)
    assert lowest - 1e-9 <= quality <= highest + 1e-9


def test_a_plain_mos_is_higher_for_better_whatever_the_database_does() -> None:
    assert PLAIN.worst is None and PLAIN in common_formats(worst=1)
    assert [form.worst for form in common_formats(worst=1)] == [1, 1, None]
