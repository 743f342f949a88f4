import pytest
from PIL import Image

from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.backends import architectures


@pytest.mark.parametrize(
    ("name", "fits", "reduced"),
    [
        # Squares of 32 pixels.
        ("llava", (32, 40), (33, 40)),
        ("gemma3", (32, 32), (32, 33)),
        # Grids of tiles, of which one is chosen by the image's shape.
        ("llava_next", (64, 60), (65, 65)),
        # Tiles of 32 pixels, of an image that is made 64 pixels long.
        ("idefics3", (64, 20), (65, 20)),
        # As many tokens as pixels allow, here 64 by 64.
        ("qwen2_vl", (64, 64), (80, 80)),
    ],
)
def test_reduced_images_are_counted(name, fits, reduced):
    backend = TransformersBackend(*architectures.build(name), name=name, batch_size=4)
    sizes = {"fits": (fits,), "reduced": (reduced,), "both": (fits, reduced), "twice": (reduced, reduced)}
    asked = [
        Request(id, (IMAGE,) * len(shown), tuple(Image.new("RGB", size) for size in shown), max_new_tokens=1)
        for id, shown in sizes.items()
    ]
    counts = {response.request.id: response.images_downscaled for response in backend.answer(asked)}
    assert counts == {"fits": 0, "reduced": 1, "both": 1, "twice": 2}


@pytest.mark.filterwarnings("ignore:model 'one' runs some requests without prefix sharing")
def test_images_that_are_cut_otherwise_among_others_are_not_counted():
    backend = TransformersBackend(*architectures.build("llava_onevision"), name="one", batch_size=4)
    image = Image.new("RGB", (64, 64))
    alone = Request("alone", (IMAGE,), (image,), max_new_tokens=1)
    pair = Request("pair", (IMAGE, IMAGE), (image, image), max_new_tokens=1)
    counts = {response.request.id: response.images_downscaled for response in backend.answer([alone, pair])}
    assert counts == {"alone": 0, "pair": None}
