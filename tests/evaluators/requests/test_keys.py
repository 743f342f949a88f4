import dataclasses
import io
from types import SimpleNamespace

import pytest
from PIL import Image

from eyechart.evaluators.requests.keys import request_keys
from eyechart.evaluators.requests.types import IMAGE, Request

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
