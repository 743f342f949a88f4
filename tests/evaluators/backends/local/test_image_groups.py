import pytest
import torch

from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators.backends.local import image_groups
from eyechart.evaluators.backends.local.image_groups import Preparer, group_by_image
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt
from eyechart.evaluators.requests.types import IMAGE, Request


class Renderer:
    """Renders every image to 1,000 bytes."""

    def __init__(self, rendered):
        self._rendered = rendered

    def image(self, image):
        return ImageInputs({"pixel_values": torch.zeros(250)}, 4, False)

    def prompts(self, request, images, keys, sizes):
        if request.id == "cannot":
            raise ValueError("no such template")
        if request.id == "must not":
            raise ModelError("no two words alike")
        self._rendered.append(request.id)
        return [RenderedPrompt(request, "", "", [1], None, keys, (0,), (1,))]

    def forget_images(self):
        pass


def ask(id, image, text="?"):
    return Request(id, (IMAGE, text), (image,))


def windows(requests, least, rendered=None):
    rendered = [] if rendered is None else rendered
    return Preparer(lambda: Renderer(rendered), workers=2).windows(group_by_image(requests), least)


def test_requests_that_begin_with_the_same_image_are_a_unit(make_picture):
    first, second = make_picture(1), make_picture(2)
    requests = [ask("a", first), ask("b", second, "longer"), ask("c", first.copy()), Request("d", ("text",), ())]
    assert [[request.id for request in unit] for unit in group_by_image(requests)] == [["d"], ["a", "c"], ["b"]]


def test_windows_hold_at_least_so_many_sequences_and_every_request_once(make_picture):
    requests = [ask(str(number), make_picture(number)) for number in range(10)]
    sizes = [len(window.prompts) for window in windows(requests, 4)]
    assert sizes == [4, 4, 2]


def test_windows_end_early_when_their_pixels_fill_the_memory(make_picture, monkeypatch):
    monkeypatch.setattr(image_groups, "_MOST_BYTES", 1500)
    requests = [ask(str(number), make_picture(number)) for number in range(6)]
    assert [len(window.prompts) for window in windows(requests, 100)] == [2, 2, 2]


def test_what_cannot_be_rendered_is_a_failed_response_and_a_misconfigured_model_an_error(make_picture):
    requests = [ask("cannot", make_picture(0)), ask("good", make_picture(1))]
    (window,) = windows(requests, 8)
    assert [prompt.request.id for prompt in window.prompts] == ["good"]
    (failed,) = window.failed
    assert failed.request.id == "cannot"
    assert "the model failed on it: ValueError: no such template" in str(failed.error)
    with pytest.raises(ModelError, match="no two words alike"):
        list(windows([ask("must not", make_picture(0))], 8))


def test_preparing_stops_when_nobody_wants_more(make_picture):
    rendered = []
    running = windows([ask(str(number), make_picture(number)) for number in range(200)], 2, rendered)
    next(running)
    running.close()
    count = len(rendered)
    assert count < 20
    assert len(rendered) == count
