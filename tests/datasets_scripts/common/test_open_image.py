import io
import os
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from eyechart.datasets_scripts.common.errors import BadImageError
from eyechart.datasets_scripts.common.images import encoded_image, open_image


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def noise(size: int = 40) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (size, size + 2, 3), dtype=np.uint8))


def png_header(width: int, height: int) -> bytes:
    """Return a PNG that claims a size and has hardly any pixel data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("kind", ["PNG", "BMP", "WEBP", "TIFF"])
def test_every_source_gives_the_same_decoded_pixels(kind: str, tmp_path: Path) -> None:
    data = encoded(noise(), kind, **({"lossless": True} if kind == "WEBP" else {}))
    path = tmp_path / "image"
    path.write_bytes(data)
    for source in (data, path, str(path), {"bytes": data, "path": None}, {"bytes": None, "path": str(path)}):
        image = open_image(source)
        assert image.mode == "RGB"
        np.testing.assert_array_equal(np.asarray(image), np.asarray(noise()))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_image_is_refused(kind: str, share: float) -> None:
    data = encoded(noise(), kind)
    with pytest.raises(BadImageError, match=r"cut\.bin: "):
        open_image(data[: int(len(data) * share)], name="cut.bin")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", r"empty \(0 bytes\)"),
        (b"<html>not found</html>", "not an image"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "not an image|corrupt"),
        (png_header(100, 100), "corrupt or truncated"),
    ],
)
def test_bad_bytes_name_the_file(data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(data)
    with pytest.raises(BadImageError, match=reason) as caught:
        open_image(path)
    assert caught.value.path == str(path)


def test_flipped_bits_are_refused_or_decoded_but_raise_nothing_else() -> None:
    rng = np.random.default_rng(1)
    for kind in ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"):
        data = np.frombuffer(encoded(noise(), kind), np.uint8)
        for _ in range(20):
            damaged = data.copy()
            damaged[rng.integers(0, len(data), 8)] = rng.integers(0, 256, 8)
            try:
                open_image(damaged.tobytes(), name=kind)
            except BadImageError:
                continue


def test_missing_file_and_empty_dict() -> None:
    with pytest.raises(BadImageError, match=r"nowhere\.png: the image cannot be read"):
        open_image("nowhere.png")
    with pytest.raises(BadImageError, match="neither bytes nor a path"):
        open_image({"bytes": None, "path": None}, name="row 7")


@pytest.mark.parametrize(("width", "height"), [(20_000, 10_000), (11_000, 10_000), (60_000, 60_000)])
def test_too_many_pixels_are_refused_from_the_header_without_a_warning(width: int, height: int) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(BadImageError, match=r"huge\.png: the image has .*pixels"):
            open_image(png_header(width, height), name="huge.png")
    assert seen == []


def test_the_limit_can_be_lowered() -> None:
    with pytest.raises(BadImageError, match=r"42 x 40 = 1,680 pixels; the limit is 1,000"):
        open_image(encoded(noise(), "PNG"), max_pixels=1000)


def test_the_exif_orientation_is_left_as_it_is() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert open_image(encoded(noise(), "JPEG", exif=exif)).size == noise().size


def test_sixteen_bit_grey_keeps_its_range() -> None:
    grey = Image.fromarray(np.array([[0, 256 * 100, 65535]], dtype=np.uint16))
    assert np.asarray(open_image(encoded(grey, "PNG")))[0, :, 0].tolist() == [0, 100, 255]


def test_sixteen_bit_pixmaps_keep_their_range() -> None:
    data = b"P5 3 1 65535\n" + np.array([0, 256 * 100, 65535], ">u2").tobytes()
    assert np.asarray(open_image(data))[0, :, 0].tolist() == [0, 100, 255]


@pytest.mark.parametrize("mode", ["I", "F"])
def test_pixels_of_unknown_range_are_refused(mode: str) -> None:
    with pytest.raises(BadImageError, match=rf"deep\.tif: the image has pixels of 32 bits \(mode {mode}\)"):
        open_image(encoded(Image.new(mode, (4, 4)), "TIFF"), name="deep.tif")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for Ghostscript is a shell script")
def test_no_program_is_started_for_an_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pillow hands EPS, whatever the file is called, to Ghostscript."""
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n", encoding="utf-8")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"
    with pytest.raises(BadImageError, match=r"a\.png: not an image, or of another format than BMP, GIF, JPEG"):
        open_image(eps, name="a.png")
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "YCbCr"])
def test_every_other_mode_becomes_rgb(mode: str) -> None:
    kind = "JPEG" if mode in ("CMYK", "YCbCr") else "PNG"
    image = open_image(encoded(Image.new(mode, (1, 1)), kind))
    assert (image.mode, image.size) == ("RGB", (1, 1))


def test_transparent_palette_gives_rgb_without_a_warning() -> None:
    palette = noise().quantize(8)
    assert open_image(encoded(palette, "PNG", transparency=b"\x10\x20")).mode == "RGB"


def test_threads_leave_the_warning_filters_as_they_were() -> None:
    before = list(warnings.filters)
    data = encoded(noise(), "PNG")
    with ThreadPoolExecutor(8) as pool:
        assert all(image.mode == "RGB" for image in pool.map(open_image, [data] * 200))
    assert warnings.filters == before


@pytest.mark.parametrize(
    ("kind", "mime_type"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("MPO", "image/jpeg"),
        ("BMP", "image/bmp"),
        ("WEBP", "image/webp"),
        ("GIF", "image/gif"),
        ("TIFF", "image/tiff"),
    ],
)
def test_an_encoded_image_is_the_files_bytes_and_its_true_kind(kind: str, mime_type: str, tmp_path: Path) -> None:
    data = encoded(noise(), kind)
    (tmp_path / "image.xyz").write_bytes(data)
    assert encoded_image(tmp_path / "image.xyz") == (data, mime_type)
    assert encoded_image({"bytes": data, "path": "elsewhere.png"}) == (data, mime_type)


def test_an_encoded_image_is_refused_where_an_opened_one_is() -> None:
    data = encoded(noise(), "PNG")
    for bad in (b"", b"rubbish", data[: len(data) // 2], {"bytes": None, "path": "nowhere.png"}):
        with pytest.raises(BadImageError):
            encoded_image(bad)
    with pytest.raises(BadImageError, match=r"elsewhere\.png: the image has .*limit is 1,000"):
        encoded_image({"bytes": data, "path": "elsewhere.png"}, max_pixels=1000)
