import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

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


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "MPO"])
def test_an_encoded_image_is_the_files_bytes_and_its_true_kind(kind: str, tmp_path: Path) -> None:
    data, mime_type = encoded(noise(), kind), f"image/{'jpeg' if kind == 'MPO' else kind.lower()}"
    (tmp_path / "image.xyz").write_bytes(data)
    assert encoded_image(tmp_path / "image.xyz") == (data, mime_type)
    assert encoded_image({"bytes": data, "path": "elsewhere.png"}) == (data, mime_type)
