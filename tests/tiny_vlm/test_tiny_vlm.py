"""The bundled model: what is in its folder, what it can do, and that its training is what it claims to be."""

import hashlib

import numpy as np
import pytest
import torch

from eyechart.datasets_scripts import DATASETS, load_dataset, mini
from eyechart.datasets_scripts.mini.mmbench import FACTS
from eyechart.datasets_scripts.mini.scenes import DISTORTION_TYPES, LEVELS
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.requests.types import IMAGE, Request
from eyechart.evaluators.tasks.q_bench import ASSESSMENT
from tests.tiny_vlm import corpus, lessons, train
from tests.tiny_vlm.architecture import build_processor, build_tokenizer
from tests.tiny_vlm.measure import measure


@pytest.fixture(scope="module")
def backend():
    return resolve_backend(None, batch_size=32)


def test_it_is_small_complete_and_loads_as_any_other_model():
    from transformers import AutoModelForImageTextToText, AutoProcessor

    files = {path.name: path.stat().st_size for path in tiny_vlm.folder().iterdir()}
    assert files["model.safetensors"] < 4 * 2**20
    assert {"config.json", "tokenizer.json", "processor_config.json", "chat_template.jinja"} <= set(files)
    model = AutoModelForImageTextToText.from_pretrained(tiny_vlm.folder())
    processor = AutoProcessor.from_pretrained(tiny_vlm.folder())
    assert model.config.architectures == ["LlavaForConditionalGeneration"]
    assert 200_000 <= model.num_parameters() <= 1_000_000
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert type(processor).__name__ == "LlavaProcessor"
    assert "Pil" in type(processor.image_processor).__name__


@pytest.mark.slow
def test_the_figures_of_its_card_are_those_of_held_out_scenes(backend):
    """With 600 items each on the card, and 100 here, whose 95 % intervals contain the card's."""
    found = measure(backend, 100)
    for result, (name, value, *_, aim) in zip(found, _card_rows(), strict=True):
        low, high = result.interval
        assert result.name == name and result.n == 100
        assert low <= float(value) <= high and float(value) >= float(aim or 0), result


def _card_rows():
    """The cells of the card's table of figures, without its head."""
    text = (tiny_vlm.folder().parent / "README.md").read_text(encoding="utf-8")
    lines = text[text.index("| what-questions |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_it_describes_an_image_in_one_sentence(backend):
    text = "Describe the quality, aesthetics and other low-level appearance of the image in details."
    samples = [corpus.draw_samples(corpus.HELD_OUT_SEED + 7, i)[0] for i in range(20)]
    requests = [
        Request(str(i), (f"{text}\n", IMAGE), (sample.image,), max_new_tokens=80) for i, sample in enumerate(samples)
    ]
    answers = {response.request.id: response.text for response in backend.answer(requests)}
    assert all(answer.startswith("The image shows a ") and answer.count(".") == 1 for answer in answers.values())
    shapes = sum(sample.scene.shape in answers[str(i)] for i, sample in enumerate(samples))
    assert shapes >= 12
    assert len(set(answers.values())) >= 15


def test_good_and_poor_are_what_it_says_after_the_prefilled_reply(backend):
    images = [sample.image for i in range(40) for sample in corpus.draw_samples(corpus.HELD_OUT_SEED + 8, i)]
    requests = [
        Request(
            str(i), ASSESSMENT.protocol.prompt_of({}), (image,), prefill=ASSESSMENT.protocol.prefill, max_new_tokens=1
        )
        for i, image in enumerate(images)
    ]
    said = [response.text for response in backend.answer(requests)]
    assert set(said) == {"good", "poor"}


@pytest.mark.slow
def test_training_images_are_not_those_of_the_mini_releases_or_the_held_out_ones():
    def digest(image):
        return hashlib.sha256(image.convert("RGB").tobytes()).hexdigest()

    # The first ones: equal seeds would give equal images at equal places.
    drawn = lessons.draw_lessons(0.01).samples
    trained = {digest(sample.image) for sample in drawn}
    held_out = {
        digest(sample.image)
        for part in range(1, 13)
        for i in range(10)
        for sample in (
            *corpus.draw_samples(corpus.HELD_OUT_SEED + part, i),
            corpus.draw_ability_sample(corpus.HELD_OUT_SEED + part, i),
            *corpus.draw_pair(corpus.HELD_OUT_SEED + part, i).samples,
        )
    }
    released = {digest(image) for image in _images_of_the_mini_releases()}
    # Pairs may show one image twice.
    assert len(trained) > 0.95 * len(drawn)
    assert len(released) >= 2500
    assert not trained & released
    assert not trained & held_out
    assert not released & held_out


def _images_of_the_mini_releases():
    """Yield every image of every dataset's first configuration, as a loading script gives it."""
    for name, subset in DATASETS.items():
        for part in load_dataset(name, next(iter(subset.configs)), data_dir=mini.release(name)).values():
            for row in part:
                yield from row["images"] if "images" in row else [row["image"]]


def test_seeds_of_training_held_out_and_mini_data_are_apart():
    assert mini.MINI_SEED < corpus.TRAINING_SEED < corpus.HELD_OUT_SEED
    assert max(lessons.SCENES, lessons.ABILITY_SAMPLES, lessons.PAIRS) < corpus.HELD_OUT_SEED - corpus.TRAINING_SEED


def test_samples_show_every_distortion_level_and_fact():
    samples = [sample for i in range(300) for sample in corpus.draw_samples(corpus.HELD_OUT_SEED, i, 2)]
    assert {sample.distortion_type for sample in samples} == set(DISTORTION_TYPES)
    assert {sample.level for sample in samples} == set(LEVELS)
    samples = [corpus.draw_ability_sample(corpus.HELD_OUT_SEED, i) for i in range(400)]
    found = {(fact, value) for sample in samples for fact, value in corpus.known_facts(sample).items()}
    assert found == {(fact, value) for fact, values in FACTS.items() for value in values}


def test_a_letter_is_taught_with_a_word_that_tells_its_option_from_the_others(processor):
    talk = corpus.Conversation(("Q",), "", " B", "It is to the left.", ("It is to the right.", "It is on it."))
    telling = lessons.tokenize(talk, [], processor).answer
    assert processor.tokenizer.decode([telling]).strip() in "left."
    assert lessons.tokenize(corpus.Conversation(("Q",), "", " Yes"), [], processor).answer == lessons.IGNORED


@pytest.fixture(scope="module")
def processor():
    return build_processor(build_tokenizer(lessons.corpus_texts(lessons.draw_lessons(0.005), 400)))


def test_training_renders_prompts_as_evaluation_does(processor):
    """The token ids of a training example are those that the processor makes of the same conversation."""
    rng = np.random.default_rng(0)
    for i in range(80):
        first, second = corpus.draw_samples(corpus.TRAINING_SEED, i, 2)
        shown, pair = corpus.draw_ability_sample(corpus.TRAINING_SEED, i), corpus.draw_pair(corpus.TRAINING_SEED, i)
        images, talk = (
            ([first], corpus.converse(first, rng, early=i % 8 < 4)),
            ([first, second], corpus.compare(first, second, rng)),
            ([shown], corpus.converse_on_ability(shown, rng, early=i % 8 < 4)),
            (pair.samples, corpus.converse_on_pair(pair, rng, early=i % 8 < 4)),
        )[i % 4]
        prompt = lessons.tokenize(talk, [], processor).prompt
        places = iter(images)
        content = [
            {"type": "image", "image": next(places).image} if part is IMAGE else {"type": "text", "text": part}
            for part in talk.prompt
        ]
        messages = [{"role": "user", "content": content}]
        if talk.prefill:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": talk.prefill}]})
        expected = processor.apply_chat_template(
            messages,
            add_generation_prompt=not talk.prefill,
            continue_final_message=bool(talk.prefill),
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )["input_ids"]
        assert prompt == expected[0].tolist()


def test_words_that_are_scored_or_answered_are_single_tokens():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_vlm.folder())
    for word in (" good", " poor", " A", " B", " C", " D", " Yes", " No", " first", " Better"):
        assert len(tokenizer.encode(word)) == 1, word
    odd = "naïve 質 \u0000 <b>"
    assert tokenizer.decode(tokenizer.encode(odd)) == odd


@pytest.mark.slow
def test_training_is_reproducible(tmp_path, monkeypatch):
    monkeypatch.setattr(train, "VISION_BATCH", 8)
    monkeypatch.setattr(lessons, "BATCH", 8)
    for name in ("first", "second"):
        train.train(tmp_path / name, scale=0.0003)
    first, second = (sorted((tmp_path / name).iterdir()) for name in ("first", "second"))
    assert [path.name for path in first] == [path.name for path in second]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes(), a.name
    shipped = {path.name for path in tiny_vlm.folder().iterdir()}
    assert {path.name for path in first} == shipped
