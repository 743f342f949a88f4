"""Keys of requests, the values in the store, and the store."""

import dataclasses
import hashlib
import io
import math
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eyechart.evaluators.requests import keys
from eyechart.evaluators.requests.keys import files_digest, request_keys
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import IMAGE, Answer, Request
from eyechart.evaluators.requests.values import decode, encode

IDENTITY = {"backend": "test", "model": "a/b", "generation": {"temperature": 0.5, "top_p": 1}}


def key(request, identity=IDENTITY):
    (key,) = request_keys(identity, [request])
    return key


def encoded(image, kind="PNG"):
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


@pytest.fixture
def asked(make_picture):
    options = {"options": ("Yes", "No"), "prefill": "It is", "words": ("sharp", "blurry")}
    return Request("row 1", ("Look: ", IMAGE, " Is it sharp?"), (encoded(make_picture(1)),), **options)


def test_row_pass_options_and_the_order_of_words_are_no_part_of_it(asked):
    # The prompt shows the options, so they are in it where they matter.
    same = dataclasses.replace(asked, id="row 2", pass_name="rotation:1", options=())
    assert key(same) == key(asked)
    assert key(dataclasses.replace(asked, words=("blurry", "sharp"))) == key(asked)
    assert key(dataclasses.replace(asked, words=("sharp",), optional_words=("blurry",))) == key(asked)
    assert len(key(asked)) == 32
    with pytest.raises(dataclasses.FrozenInstanceError):
        asked.repeat = 2


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": ("Look: ", IMAGE, " Is it sharp? ")},
        {"prompt": ("Look:", IMAGE, "  Is it sharp?")},
        {"prompt": ("Look: ", " Is it sharp?", IMAGE)},
        {"prompt": ("Look: ", IMAGE, " Is it ", "sharp?")},
        *({"prefill": "It is "}, {"prefill": ""}, {"words": ("sharp",)}, {"words": ()}, {"max_new_tokens": 33}),
        *({"words": (), "continuations": ("sharp", "blurry")}, {"images": ()}, {"images": (b"other",)}, {"repeat": 2}),
    ],
)
def test_whatever_an_answer_depends_on_changes_it(asked, change):
    assert key(dataclasses.replace(asked, **change)) != key(asked)


def test_a_text_cannot_pass_for_an_image(asked):
    texts = [dataclasses.replace(asked, prompt=("Look: ", part)) for part in ("image", "None", "null", IMAGE)]
    assert len({key(request) for request in texts}) == 4


def test_the_identity_counts_in_any_order(asked):
    assert key(asked, dict(reversed(IDENTITY.items()))) == key(asked)
    assert key(asked, {**IDENTITY, "revision": "1"}) != key(asked)
    assert key(asked, {**IDENTITY, "generation": {"temperature": 0.5, "top_p": 0.9}}) != key(asked)


def test_an_image_is_its_bytes_wherever_they_are(asked, tmp_path):
    (data,) = asked.images
    (tmp_path / "a.png").write_bytes(data)
    (tmp_path / "b.png").write_bytes(data)
    same = [
        *(tmp_path / "a.png", str(tmp_path / "b.png")),
        *({"bytes": data, "path": None}, {"bytes": None, "path": str(tmp_path / "a.png")}),
        SimpleNamespace(read=lambda: {"bytes": data, "path": "elsewhere.png"}),
    ]
    for source in same:
        assert key(dataclasses.replace(asked, images=(source,))) == key(asked)
    smaller = encoded(Image.open(io.BytesIO(data)), "WEBP")
    assert key(dataclasses.replace(asked, images=(smaller,))) != key(asked)


def test_a_decoded_image_is_its_mode_size_and_pixels(asked, make_picture):
    picture = make_picture(1)

    def of(*images):
        return key(dataclasses.replace(asked, prompt=(IMAGE,) * len(images), images=images))

    assert of(picture) == of(make_picture(1))
    changed = picture.copy()
    changed.putpixel((3, 4), (0, 0, 0))
    grey = Image.new("L", (4, 2))
    palette = Image.new("P", (4, 2))
    other = palette.copy()
    palette.putpalette([0, 0, 0])
    other.putpalette([255, 0, 0])
    different = [picture, changed, grey, Image.new("L", (2, 4)), palette, other, picture.convert("RGBA")]
    different.append(Image.frombytes("HSV", picture.size, picture.tobytes()))
    assert len({of(image) for image in different}) == len(different)
    assert of(grey, palette) != of(palette, grey)


def test_an_image_is_read_once_for_all_requests_about_it(asked, make_picture):
    reads = []

    def source(number):
        data = encoded(make_picture(number % 20))
        return SimpleNamespace(read=lambda: reads.append(number) or {"bytes": data, "path": None})

    requests = [dataclasses.replace(asked, images=(source(i), make_picture(i))) for i in range(40)]
    unreadable = dataclasses.replace(asked, images=("/does/not/exist.png",))
    keys = request_keys(IDENTITY, [*requests, *requests, unreadable])
    assert sorted(reads) == list(range(40)) and keys[-1] is None
    assert keys[:40] == keys[40:80] == [key(request) for request in requests]


@pytest.mark.parametrize("source", ["/does/not/exist.png", b"", {"bytes": None, "path": None}, "truncated"])
def test_an_image_that_cannot_be_read_has_no_key(asked, make_picture, source):
    if source == "truncated":
        # Pillow has not decoded it yet.
        source = Image.open(io.BytesIO(encoded(make_picture(1))[:-900]))
    assert key(dataclasses.replace(asked, images=(source,))) is None


@pytest.fixture
def hashed(monkeypatch, tmp_path):
    """The names of the files that were read, a little more than two seconds after they were written."""
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(keys, "time", SimpleNamespace(time=lambda: time.time() + 2.1))
    names = []
    digest = hashlib.file_digest

    def counted(file, algorithm):
        names.append(file.name)
        return digest(file, algorithm)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    return names


def test_large_files_are_read_once(tmp_path, hashed):
    folder = tmp_path / "model"
    folder.mkdir()
    for name, size in (("a", 5 * 2**20), ("b", 4 * 2**20 + 1), ("small", 4 * 2**20)):
        (folder / name).write_bytes(name[:1].encode() * size)
    before = files_digest(folder)
    assert sorted(hashed) == [str(folder / name) for name in ("a", "b", "small")]
    assert files_digest(folder) == before and hashed[3:] == [str(folder / "small")]
    folder.rename(tmp_path / "moved")
    assert files_digest(tmp_path / "moved") == before
    assert len(list((tmp_path / "home" / "file_digests").iterdir())) == 2, "one for each file, however often it changes"


def test_names_count_and_hidden_files_do_not(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a").write_text("x")
    before = files_digest(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_text("x")
    assert files_digest(tmp_path) == before
    (tmp_path / "part" / "a").rename(tmp_path / "part" / "b")
    assert files_digest(tmp_path) != before


# Every code point, halves of surrogate pairs included.
TEXTS = st.text(st.characters(codec=None, categories=None), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=10)


@given(VALUES)
def test_values_come_back_exactly(value):
    assert decode(encode(value)) == value
    assert decode(encode(value, sort_keys=True)) == value


def test_halves_of_a_pair_differ_from_the_character_and_nan_and_infinities_stay():
    assert encode("\ud83d" + "\ude00") != encode("😀")
    assert repr(decode(encode([math.nan, math.inf, -math.inf, -0.0]))) == "[nan, inf, -inf, -0.0]"


def numbered_keys(count, start=0):
    return [i.to_bytes(32, "big") for i in range(start, start + count)]


def fill(path, count, model="a/b", size=1000):
    with ResponseStore.open(path) as store:
        store.put(model, {key: Answer(text=key.hex() * (size // 64)) for key in numbered_keys(count)})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "responses.sqlite"


def test_the_first_stored_answer_stays_and_models_have_their_own_counts_and_sizes(path):
    with ResponseStore.open(path) as store:
        store.put("a/b", {b"one": Answer(text="first")})
        store.put("c", {b"one": Answer(text="second"), b"two": Answer(text="x")})
        assert store.get([b"one"]) == {b"one": Answer(text="first")}
        first, other = store.models()
        assert [(first.name, first.answers), (other.name, other.answers)] == [("a/b", 1), ("c", 1)]
        assert (other.bytes, first.bytes) == (len('{"text":"x"}'), len('{"text":"first"}'))
        assert first.first == first.last <= other.first
        assert store.size() == sum(file.stat().st_size for file in path.parent.iterdir()) > path.stat().st_size


def test_compacting_gives_space_back(path):
    fill(path, 2000)
    before = path.stat().st_size
    with ResponseStore.open(path) as store:
        store.prune()
        store.compact()
        assert path.stat().st_size < before / 20
