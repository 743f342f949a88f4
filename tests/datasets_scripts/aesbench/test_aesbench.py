import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts import left_out
from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.aesbench.aesbench import PARTS
from eyechart.datasets_scripts.aesbench.aesbench import image_source
from eyechart.datasets_scripts.aesbench.aesbench import question_type
from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.errors import MissingImagesError

Entry = dict[str, dict[str, Any]]
Release = Callable[..., Path]
pytestmark = pytest.mark.datasets36
NAMES = ["43129b8b_62e5_4129_897e_2256bb12b905.png", "spaq_07911.png", "baid_131430.png"]
EVERY_CONFIG = list(PARTS)


def entry(suffix: str = "", answers: bool = True, **changes: Any) -> Entry:
    """One image's entry; a change is of the part of that name, and None removes a field."""
    parts = {
        "AesP": {
            "Question": "What stands out?",
            "Options": "A) Depth\nB) Sharpness\nC) Color\nD)Light",
            "Answer": "D)Light",
        },
        "AesE": {"Question": "Does the image look calm?", "Options": "A) Yes\nB)No", "Answer": "No"},
        "AesA1": {
            "Question": "How is the aesthetic quality of this image?",
            "Options": "A) High\nB) Medium\nC) Low",
            "Answer": "B",
        },
        "AesI": {
            "Question": "This is an image with medium aesthetics, please explain the reasons.",
            "Answer": "The light is soft.",
        },
    }
    found = {}
    for name, fields in parts.items():
        kept = {**fields, **({} if answers else {"Answer": None}), **changes.get(name, {})}
        found[name + suffix] = {key: value for key, value in kept.items() if value is not None}
    return found


@pytest.fixture
def release(tmp_path: Path, write_image: Callable[..., None]) -> Release:
    """A function that writes a folder in AesBench's layout."""

    def write(entries: Any = None, images: list[str] = NAMES, inside: str = "", folder: str = "images") -> Path:
        root = tmp_path / "aesbench" / inside
        root.mkdir(parents=True, exist_ok=True)
        entries = {name: entry() for name in NAMES} if entries is None else entries
        text = entries if isinstance(entries, str) else json.dumps(entries)
        (root / "AesBench_evaluation.json").write_text(text, encoding="utf-8")
        for seed, name in enumerate(images):
            write_image(root / folder / name, seed)
        return tmp_path / "aesbench"

    return write


@pytest.mark.parametrize("suffix", ["", "_data"])
@pytest.mark.parametrize(("inside", "folder"), [("", "images"), ("", ""), ("EAPD_release", "images")])
def test_the_release_in_both_key_styles(release: Release, suffix: str, inside: str, folder: str) -> None:
    data_dir = release({name: entry(suffix) for name in NAMES}, inside=inside, folder=folder)
    row = load_dataset("aesbench", data_dir=data_dir, split="test")[0]
    assert row.pop("images")[0].size == (10, 8)
    assert row == {
        "id": NAMES[0],
        "question_id": NAMES[0],
        "rotation": 0,
        "question": "What stands out?",
        "hint": "",
        "options": ["Depth", "Sharpness", "Color", "Light"],
        "answer": "D",
        "question_type": "what",
        "dimension": "",
        "image_source": "AI-generated",
        "released_options": "A) Depth\nB) Sharpness\nC) Color\nD)Light",
    }
    part = load_dataset("aesbench", "empathy", data_dir=data_dir, split="test")
    assert (part[1]["options"], part[1]["answer"], part[1]["question_type"]) == (["Yes", "No"], "B", "yes-or-no")
    assert part["image_source"][:] == ["AI-generated", "natural", "artistic"]
    part = load_dataset("aesbench", "assessment", data_dir=data_dir, split="test")
    assert (part[2]["options"], part[2]["answer"], part[2]["question_type"]) == (["High", "Medium", "Low"], "B", "how")


def test_interpretations(release: Release) -> None:
    row = load_dataset("aesbench", "interpretation", data_dir=release(), split="test")[0]
    assert row.pop("image").size == (10, 8)
    assert row == {
        "id": NAMES[0],
        "description": "The light is soft.",
        "level": "medium",
        "question": "This is an image with medium aesthetics, please explain the reasons.",
    }


@pytest.mark.parametrize("config", EVERY_CONFIG[:3])
def test_only_interpretation_tells_the_level(release: Release, config: str) -> None:
    row = load_dataset("aesbench", config, data_dir=release(), split="test", images="skip")[0]
    assert "level" not in row and "medium aesthetics" not in str(row)


def test_private_answers(release: Release) -> None:
    data_dir = release({name: entry(answers=False) for name in NAMES})
    for config in EVERY_CONFIG:
        part = load_dataset("aesbench", config, data_dir=data_dir, split="test")
        assert part["description" if config == "interpretation" else "answer"][:] == ["", "", ""]


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("A", "A"),
        ("b", "B"),
        ("C)", "C"),
        ("D) Light", "D"),
        ("D)light.", "D"),
        (" Sharpness ", "B"),
        ("color", "C"),
    ],
)
def test_answers_are_letters_or_options(release: Release, answer: str, letter: str) -> None:
    data_dir = release({NAMES[0]: entry(AesP={"Answer": answer})})
    assert load_dataset("aesbench", data_dir=data_dir, split="test", images="skip")["answer"][:] == [letter]


@pytest.mark.parametrize(
    ("config", "change", "reason"),
    [
        ("perception", {"AesP": {"Question": None}}, "field 'Question' is missing"),
        ("perception", {"AesP": {"Question": " "}}, "field 'Question' is empty"),
        ("perception", {"AesP": {"Options": None}}, "field 'Options' is missing"),
        ("perception", {"AesP": {"Options": ["Yes", "No"]}}, "field 'Options' must be text, found"),
        ("perception", {"AesP": {"Options": "A) Yes B) No", "Answer": "A"}}, "expected 2 to 26 non-empty options"),
        (
            "perception",
            {"AesP": {"Options": "A) Yes\nC) No"}},
            r"expected lines A\) \.\.\., B\) \.\.\., found 'A\) Yes",
        ),
        ("perception", {"AesP": {"Options": "A) Yes\nand so on\nB) No"}}, "expected lines"),
        ("perception", {"AesP": {"Options": "A) Yes\nB)\nC) No"}}, "non-empty options"),
        ("perception", {"AesP": {"Options": "A) Yes\nB) Yes"}}, "two options are equal"),
        ("perception", {"AesP": {"Answer": "E"}}, r"answer must be one of \['A', 'B', 'C', 'D'\], found 'E'"),
        ("perception", {"AesP": {"Answer": "Dark"}}, "answer 'Dark' is none of the options"),
        ("perception", {"AesP": {"Answer": "A) Light"}}, r"answer 'A\) Light' is none of the options"),
        ("perception", {"AesP": {"Answer": None}}, "field 'Answer' is missing"),
        ("interpretation", {"AesI": {"Question": "Why?"}}, r"the question names no aesthetic level: 'Why\?'"),
        ("interpretation", {"AesI": {"Answer": None}}, "field 'Answer' is missing"),
    ],
)
def test_bad_rows(release: Release, config: str, change: dict[str, Any], reason: str) -> None:
    data_dir = release({NAMES[0]: entry(), NAMES[1]: entry(**change), NAMES[2]: entry()})
    with pytest.raises(
        BadAnnotationError, match=rf"AesBench_evaluation\.json, row 2: image '{NAMES[1]}': .*{reason}"
    ) as caught:
        load_dataset("aesbench", config, data_dir=data_dir)
    assert any("--skip-bad" in note for note in caught.value.__notes__)
    part = load_dataset("aesbench", config, data_dir=data_dir, split="test", skip_bad=True)
    assert part["id"][:] == [NAMES[0], NAMES[2]]
    assert [item["id"] for item in left_out(part)] == ["2"]


@pytest.mark.parametrize(
    "broken", [[], "text", {}, {"AesE": {}}, {"AesP": "text"}, {"AesP": {}, "AesP_data": {}}, {"AesP_daat": {}}]
)
def test_entries_without_the_part(release: Release, broken: Any) -> None:
    data_dir = release({NAMES[0]: entry(), NAMES[1]: broken})
    with pytest.raises(
        BadAnnotationError, match=rf"row 2: image '{NAMES[1]}': expected an object under either 'AesP' or"
    ):
        load_dataset("aesbench", data_dir=data_dir)
    assert len(load_dataset("aesbench", data_dir=data_dir, split="test", skip_bad=True)) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "expected a JSON object, found a list"),
        ("{", "cannot be read as JSON"),
        ("{}", "split 'test' has no rows to load"),
        ('{"a.png": {}, "a.png": {}}', r"the key 'a\.png' appears twice"),
    ],
)
def test_bad_files(release: Release, text: str, reason: str) -> None:
    with pytest.raises(BadAnnotationError, match=rf"AesBench_evaluation\.json: .*{reason}"):
        load_dataset("aesbench", data_dir=release(text))


@pytest.mark.parametrize("name", ["../secret.png", "/etc/secret.png", ""])
def test_names_that_lead_elsewhere(release: Release, name: str) -> None:
    with pytest.raises(BadAnnotationError, match=r"row 1: .*leads out of the image folder"):
        load_dataset("aesbench", data_dir=release({name: entry()}))


def test_names_that_differ_only_in_composition(release: Release) -> None:
    twice = {"e\N{COMBINING ACUTE ACCENT}.png": entry(), "\N{LATIN SMALL LETTER E WITH ACUTE}.png": entry()}
    data_dir = release(twice, images=["\N{LATIN SMALL LETTER E WITH ACUTE}.png"])
    with pytest.raises(BadAnnotationError, match="row 2: duplicate id"):
        load_dataset("aesbench", data_dir=data_dir)


def test_missing_images(release: Release) -> None:
    data_dir = release(images=NAMES[:1])
    with pytest.raises(MissingImagesError, match=r"2 annotated image\(s\) are missing") as caught:
        load_dataset("aesbench", "interpretation", data_dir=data_dir)
    assert "EAPD_release" in str(caught.value)
    part = load_dataset("aesbench", "interpretation", data_dir=data_dir, split="test", skip_missing=True)
    assert part["id"][:] == NAMES[:1]
    assert [item["id"] for item in left_out(part)] == NAMES[1:]


def test_without_the_release_the_error_says_what_to_do(tmp_path: Path) -> None:
    for arguments in ({}, {"data_dir": tmp_path}):
        with pytest.raises(
            MissingFileError, match=r"EAPD_release\.zip from https://huggingface\.co.*password.*unpack.*as data_dir"
        ):
            load_dataset("aesbench", **arguments)


def test_data_files(release: Release) -> None:
    data_dir = release()
    other = (data_dir / "AesBench_evaluation.json").rename(data_dir / "other.json")
    assert len(load_dataset("aesbench", data_files=str(other), split="test")) == 3


@pytest.mark.parametrize(
    ("question", "options", "kind"),
    [
        ("Does the image look calm?", ["Yes", "No"], "yes-or-no"),
        ("Is it?", ["No.", "Yes."], "yes-or-no"),
        ("What stands out?", ["Light", "Color"], "what"),
        ("HOW does it look?", ["Well", "Badly"], "how"),
        ("Why is it dark?", ["Night", "Fog"], "why"),
        ("In what way is it dark?", ["Night", "Fog"], ""),
        ("Which is it?", ["Night", "Fog"], ""),
        ("What is it?", ["Yes", "No"], ""),
        ("Does it?", ["Yes", "No", "Partly"], ""),
        ("Does it?", ["It does", "It does not"], ""),
    ],
)
def test_question_types(question: str, options: list[str], kind: str) -> None:
    assert question_type(question, options) == kind


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("aadb_farm1_340_19469957444_ed6c0ca27f_b.jpg", "natural"),
        ("para_iaa_pub30092_.jpg", "natural"),
        ("TAD66K_joannarb200937395454360.jpg", "natural"),
        ("lite_OTJk5THIsP4.jpg", "natural"),
        ("spaq_07911.jpg", "natural"),
        ("koniq_9135317445.jpg", "natural"),
        ("baid_131430.jpg", "artistic"),
        ("artemis_sa-nogueira_cinema-ii-1972.jpg", "artistic"),
        ("89751e32_5bcc_4c19_96b7_6551f1746fa0.jpg", "AI-generated"),
        ("2e6b6bed-fb39-402b-a0ed-43a60f6e70dc.png", "AI-generated"),
        ("sd1.5_highcorr_066.jpg", "AI-generated"),
        ("midjourney_normal_231.jpg", "AI-generated"),
        ("dreamStudio_0_0_1_0.jpg", "AI-generated"),
        ("55168.jpg", ""),
        ("edgar-degas_cafe-concert-at-les-ambassadeurs-1877.jpg", ""),
        # No version-4 identifier.
        ("89751e32_5bcc_1c19_96b7_6551f1746fa0.jpg", ""),
    ],
)
def test_image_sources(name: str, source: str) -> None:
    assert image_source(name) == source


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_the_released_sample_parses_completely(reference: Path, config: str) -> None:
    sample = reference / "aesbench" / "AesBench_evaluation.sample3.json"
    part = load_dataset("aesbench", config, data_files=str(sample), split="test", images="skip")
    assert len(part) == 3
    if config == "interpretation":
        assert (part["level"][:], set(part["description"])) == (["medium", "medium", "low"], {""})
        return
    released = json.loads(sample.read_text(encoding="utf-8"))
    for row in part:
        options = released[row["id"]][PARTS[config]]["Options"].split("\n")
        assert [option[2:].strip() for option in options] == row["options"]
    assert len(part[0]["options"]) == {"perception": 4, "empathy": 3, "assessment": 3}[config]
    assert set(part["answer"]) == {""} and set(part["image_source"]) == {"AI-generated"}
    assert part["question_type"][:] == [{"perception": "what", "empathy": "how", "assessment": "how"}[config]] * 3


@pytest.mark.parametrize("config", EVERY_CONFIG[:2])
def test_the_mini_release_has_every_kind_of_question(config: str) -> None:
    part = load_dataset("aesbench", config, data_dir=mini.release("aesbench"), split="test")
    kinds = Counter(zip(part["question_type"], part["image_source"], strict=True))
    assert len(part) == 72 and len(kinds) == 16
    assert {len(options) for options in part["options"]} == {2, 3, 4}
    letters = Counter(part["answer"])
    assert letters["A"] > 12 and letters["B"] > 12 and letters["C"] > 8 and letters["D"] > 2


def test_mini_levels_agree_between_assessment_and_interpretation() -> None:
    folder = mini.release("aesbench")
    assessed = load_dataset("aesbench", "assessment", data_dir=folder, split="test")
    interpreted = load_dataset("aesbench", "interpretation", data_dir=folder, split="test")
    assert len(assessed) == len(interpreted) == 72 and set(interpreted["level"]) == {"high", "medium", "low"}
    for first, second in zip(assessed, interpreted, strict=True):
        assert first["options"]["ABC".index(first["answer"])].lower() == second["level"]
        assert second["level"] in second["question"] and second["description"].endswith(".")
    released = json.loads((folder / "AesBench_evaluation.json").read_text(encoding="utf-8"))
    assert any("\nD)Because" in entry["AesP"]["Options"] for entry in released.values())
