import torch

from eyechart.evaluators.backends.local import image_groups
from eyechart.evaluators.backends.local.image_groups import Preparer
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt
from eyechart.evaluators.requests.types import IMAGE, Request


class Renderer:
    """Renders every image to 1,000 bytes."""

    def image(self, image):
        return ImageInputs({"pixel_values": torch.zeros(250)}, 4, False)

    def prompts(self, request, images, keys, sizes):
        return [RenderedPrompt(request, "", "", [1], None, keys, (0,), (1,))]

    def forget_images(self):
        pass


def test_windows_hold_so_many_sequences_and_end_early_when_their_pixels_fill_the_memory(make_picture, monkeypatch):
    def sizes(count, least):
        requests = [Request(str(number), (IMAGE, "?"), (make_picture(number),)) for number in range(count)]
        windows = Preparer(Renderer, workers=2).windows(requests, least)
        return [len(window.prompts) for window in windows]

    assert sizes(10, 4) == [4, 4, 2]
    monkeypatch.setattr(image_groups, "_MOST_BYTES", 1500)
    assert sizes(6, 100) == [2, 2, 2]
