import io
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

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


def test_flipped_bits_are_refused_or_decoded_but_raise_nothing_else() -> None:
    rng = np.random.default_rng(1)
    for kind in ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"):
        data = np.frombuffer(encoded(noise(), kind), np.uint8)
        for _ in range(20):
            damaged = data.copy()
            damaged[rng.integers(0, len(data), 8)] = rng.integers(0, 256, 8)
            try:
                open_image(damaged.tobytes())
            except BadImageError:
                continue


def test_the_exif_orientation_is_left_as_it_is() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert open_image(encoded(noise(), "JPEG", exif=exif)).size == noise().size


def test_sixteen_bit_grey_keeps_its_range() -> None:
    values = np.array([[0, 256 * 100, 65535]], np.uint16)
    pixmap = b"P5 3 1 65535\n" + values.astype(">u2").tobytes()
    for data in (encoded(Image.fromarray(values), "PNG"), pixmap):
        assert np.asarray(open_image(data))[0, :, 0].tolist() == [0, 100, 255]


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


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "MPO", "BMP", "WEBP", "GIF", "TIFF"])
def test_an_encoded_image_is_the_files_bytes_and_its_true_kind(kind: str, tmp_path: Path) -> None:
    data, mime_type = encoded(noise(), kind), f"image/{'jpeg' if kind == 'MPO' else kind.lower()}"
    (tmp_path / "image.xyz").write_bytes(data)
    assert encoded_image(tmp_path / "image.xyz") == (data, mime_type)
    assert encoded_image({"bytes": data, "path": "elsewhere.png"}) == (data, mime_type)


def test_an_encoded_image_is_refused_where_an_opened_one_is() -> None:
    data = encoded(noise(), "PNG")
    for bad in (b"", b"rubbish", data[: len(data) // 2], {"bytes": None, "path": "nowhere.png"}):
        with pytest.raises(BadImageError):
            encoded_image(bad)
    with pytest.raises(BadImageError, match=r"elsewhere\.png: the image has .*limit is 100,000,000"):
        encoded_image({"bytes": png_header(10_001, 10_000), "path": "elsewhere.png"})
