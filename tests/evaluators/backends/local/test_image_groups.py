from dataclasses import dataclass

import torch

from eyechart.evaluators.backends.local.image_groups import Preparer, PromptRenderer
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt
from eyechart.evaluators.requests.types import IMAGE, Request


@dataclass
class Renderer(PromptRenderer):
    """Renders every image to this number of pixels, of four bytes each."""

    pixels: int

    def image(self, image):
        return ImageInputs({"pixel_values": torch.zeros(1).expand(self.pixels)}, 4, False)

    def prompts(self, request, images, keys, sizes):
        return [RenderedPrompt(request, "", "", [1], None, keys, (0,), (1,))]


def test_windows_hold_so_many_sequences_and_end_early_when_their_pixels_fill_the_memory(make_picture):
    def sizes(count, least, pixels):
        images = [make_picture(number) if number % 4 else b"" for number in range(count)]
        requests = [Request(str(number), (IMAGE, "?"), (image,)) for number, image in enumerate(images)]
        windows = Preparer(lambda: Renderer(pixels), workers=2).windows(requests, least)
        return [(len(window.prompts), len(window.failed)) for window in windows]

    assert sizes(10, 4, 1) == [(3, 1), (3, 1), (1, 1)]
    assert sizes(6, 100, 2**27) == [(3, 1), (1, 1)]
