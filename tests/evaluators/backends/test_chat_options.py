"""What a run asks of a model in every chat, of models here and on servers."""

import copy
import math

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.chat import ChatOptions, Sampling, parse_thinking
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.local.loading import LoadOptions
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import completion

LIKELIEST = [{"token": word, "logprob": -1.0} for word in ("good", "poor")]
CHOICE = {"message": {"content": "good"}, "logprobs": {"content": [{**LIKELIEST[0], "top_logprobs": LIKELIEST}]}}
KWARGS, LIMITED = "chat_template_kwargs", {"enable_thinking": True, "thinking": 1, "thinking_budget": 512}
LOGITS = {"choices": [CHOICE]}
SYSTEM = ChatOptions(system_prompt="You see well.")
REFUSE = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
SWITCH = "{% if enable_thinking %}<think>{% else %}<think></think>{% endif %}"


@pytest.fixture
def local(llava, make_picture):
    """The prompt that a local model sees, with other chat templates."""

    def rendered(chat, before="", after=""):
        model, processor = llava
        changed = copy.copy(processor)
        changed.chat_template = before + processor.chat_template + after
        backend = TransformersBackend(model, changed, name="test", chat=chat)
        (response,) = backend.answer([Request("1", ("What?", IMAGE), (make_picture(0),), max_new_tokens=1)])
        return response.rendered_prompt, backend

    return rendered


@pytest.fixture
def asked(make_picture, http, script):
    """The body that a server is sent, and the backend."""

    def ask(chat=None, words=(), **options):
        script.say(LOGITS if words else completion("B"))
        options = {"chat": chat or ChatOptions(), "max_retries": 0, **options}
        backend = OpenAIBackend("m", EndpointOptions(http.url_for("/v1"), **options))
        (response,) = backend.answer([Request("1", ("What?", IMAGE), (make_picture(0),), words=words)])
        assert response.error is None
        return script.bodies[0], backend

    return ask


@pytest.mark.parametrize(
    ("make", "value", "named"),
    [
        *((parse_thinking, text, "--thinking .* give on, off, or a maximum") for text in ("yes", "", "-1", "1.5")),
        (lambda value: ChatOptions(thinking=value), 0, "at least 1 token"),
        (ChatOptions, " ", "system_prompt='' is not allowed"),
        *((Sampling, value, f"temperature={value}") for value in (0.0, math.nan)),
        *((lambda value: Sampling(1.0, value), value, f"top_p={value}") for value in (0.0, 1.1)),
        (lambda value: Sampling(1.0, 1.0, value), -1, "sampling_seed=-1"),
    ],
)
def test_values_that_cannot_be_are_refused(make, value, named):
    assert [parse_thinking(text) for text in ("on", "off", "512")] == [True, False, 512]
    with pytest.raises(UsageError, match=named):
        make(value)


def test_a_system_prompt_stands_first_in_the_prompt_of_a_local_model(local):
    prompt, backend = local(SYSTEM)
    plain, other = local(None)
    assert prompt == f"SYSTEM: You see well.\n{plain}"
    assert backend.settings()["system_prompt"] == "You see well." and other.settings()["system_prompt"] is None


@pytest.mark.parametrize("thinking", [True, False, None])
def test_thinking_is_an_argument_of_the_chat_template(local, thinking):
    prompt, backend = local(ChatOptions(thinking=thinking), after=SWITCH)
    assert prompt.endswith("<think>" if thinking else "<think></think>") and backend.settings()["thinking"] is thinking
    prompt, _ = local(ChatOptions(thinking=1), after="{% if enable_thinking %}{{ thinking_budget }}{% endif %}")
    assert prompt.endswith(":1")


@pytest.mark.parametrize(
    ("chat", "before", "after", "message"),
    [
        (SYSTEM, "{% set messages = messages[-1:] %}", "", "the chat template leaves out the system prompt"),
        (SYSTEM, REFUSE, "", "cannot be used: .*no system role; leave --system-prompt out"),
        (ChatOptions(thinking=True), "", "", "thinking=True has no effect, .* no argument enable_thinking or thinking"),
        (ChatOptions(thinking=64), "", SWITCH, "thinking=64 has no effect, .* no argument thinking_budget"),
    ],
)
def test_a_template_that_cannot_do_what_is_asked_is_an_error(local, chat, before, after, message):
    with pytest.raises(ModelError, match=message):
        local(chat, before, after)


def test_a_server_is_sent_the_system_prompt_and_fields_and_the_result_says_so(asked):
    body, backend = asked(SYSTEM, extra_body={"top_k": 1})
    assert body["messages"][0] == {"role": "system", "content": "You see well."}
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert (body["top_k"], body["temperature"]) == (1, 0.0)
    settings, identity = backend.settings(), backend.identity()
    for values in (settings, identity):
        assert (values["system_prompt"], values["extra_body"]) == ("You see well.", {"top_k": 1})
    assert identity != OpenAIBackend("m", EndpointOptions(settings["base_url"])).identity()


@pytest.mark.parametrize(
    ("thinking", "given", "fields"),
    [
        (None, {}, {}),
        (True, {}, {KWARGS: {"enable_thinking": True, "thinking": True}}),
        (False, {}, {KWARGS: {"enable_thinking": False, "thinking": False}}),
        (512, {KWARGS: {"thinking": 1}, "top_k": 1}, {KWARGS: LIMITED, "thinking_token_budget": 512, "top_k": 1}),
    ],
)
def test_thinking_on_a_server_is_handed_on_to_its_chat_template(asked, thinking, given, fields):
    body, _ = asked(ChatOptions(thinking=thinking), extra_body=given)
    others = {"model", "messages", "temperature", "max_tokens"}
    assert {name: value for name, value in body.items() if name not in others} == fields


@pytest.mark.parametrize(("thinking", "effort"), [(True, "medium"), (False, "none")])
def test_thinking_of_openais_models_is_an_effort(thinking, effort):
    options = EndpointOptions(chat=ChatOptions(thinking=thinking))
    assert options.fields() == {"reasoning_effort": effort}
    chosen = EndpointOptions(chat=ChatOptions(thinking=thinking), extra_body={"reasoning_effort": "low"})
    assert chosen.fields() == {"reasoning_effort": "low"}
    with pytest.raises(UsageError, match=r"thinking=64 is a number of tokens, which OpenAI's models do not support"):
        EndpointOptions(chat=ChatOptions(thinking=64)).fields()


def test_settings_of_the_image_processor(llava_folder):
    given = {"size": {"shortest_edge": 96}, "crop_size": {"height": 96, "width": 96}}
    backend = resolve_backend(llava_folder, options=LoadOptions(processor=given))
    assert backend.settings()["processor"] == given
    assert backend._processor.image_processor.crop_size["height"] == 96
    assert backend.identity() != resolve_backend(llava_folder).identity()
    with pytest.raises(UsageError, match="'do_rezise' of the image processor; did you mean 'do_resize'"):
        resolve_backend(llava_folder, options=LoadOptions(processor={"do_rezise": False}))


def run_with_template(folder, content, model=()):
    (folder / "mine.jinja").write_bytes(content)
    template = f"chat_template={folder / 'mine.jinja'}"
    return invoke("run", "q_bench/perception", "--mini", *model, "--out", folder, "--model-arg", template)


TEMPLATE = (tiny_vlm.folder() / "chat_template.jinja").read_text(encoding="utf-8")


def test_a_chat_template_of_ones_own_is_used_recorded_and_part_of_stored_answers(make_picture):
    changed = TEMPLATE.replace("role'] | upper", "role'] | lower")
    own, changed = (resolve_backend(None, options=LoadOptions(chat_template=text)) for text in (TEMPLATE, changed))
    (response,) = changed.answer([Request("1", ("What?", IMAGE), (make_picture(0),), max_new_tokens=1)])
    assert response.rendered_prompt.startswith("user:")
    assert own.settings()["chat_template"] not in (changed.settings()["chat_template"], None)
    assert own.identity() != changed.identity()


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("'<image>'", "'<img>'", "chat_template"),
        ("part['text']", "''", "the text of the prompt"),
        ("{%- endfor -%}", "", "TemplateSyntaxError"),
    ],
)
def test_a_chat_template_that_cannot_be_used_is_refused_before_the_model_answers(tmp_path, old, new, named):
    assert old in TEMPLATE
    done = run_with_template(tmp_path, TEMPLATE.replace(old, new).encode())
    assert done.exit_code == 1 and named in " ".join(done.output.split()) and "answers in" not in done.output


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"x" * 1_000_001])
def test_the_file_of_a_chat_template_is_read_before_the_model_is_loaded(tmp_path, content):
    done = run_with_template(tmp_path, content, ("--model", "none/there"))
    assert done.exit_code == 2 and "mine.jinja" in done.output.replace("\n", "") and "none/there" not in done.output


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_an_adapter_is_merged_into_the_model(llava, llava_folder, tmp_path, make_picture):
    peft = pytest.importorskip("peft")
    import torch

    model, processor = llava
    torch.manual_seed(3)
    adapted = peft.get_peft_model(copy.deepcopy(model), peft.LoraConfig(r=2, target_modules=["q_proj"]))
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.5)
    adapted.save_pretrained(tmp_path / "adapter")
    request = Request("1", ("Rate.", IMAGE), (make_picture(0),), prefill="It is", words=("good", "poor"))

    def logits(backend):
        (response,) = backend.answer([request])
        return response.logits

    merged = resolve_backend(llava_folder, options=LoadOptions(adapter=str(tmp_path / "adapter")))
    expected = logits(TransformersBackend(adapted.merge_and_unload(), processor, name="merged"))
    assert logits(merged) == pytest.approx(expected, abs=1e-4)
    assert logits(merged) != pytest.approx(logits(resolve_backend(llava_folder)), abs=1e-2)
    assert merged.settings()["adapter"] == str(tmp_path / "adapter")
    assert merged.identity()["fingerprint"] != resolve_backend(llava_folder).identity()["fingerprint"]
    with pytest.raises(ModelError, match=r"adapter '.*nothing' cannot be merged"):
        resolve_backend(llava_folder, options=LoadOptions(adapter=str(tmp_path / "nothing")))


def test_a_server_is_sent_how_to_draw_and_a_seed_for_each_repeat(asked):
    body, backend = asked(ChatOptions(sampling=Sampling(0.7, 0.9, 5)))
    assert (body["temperature"], body["top_p"]) == (0.7, 0.9) and 0 < body["seed"] < 2**31
    assert backend.samples and backend.identity()["sampling"] == {"temperature": 0.7, "top_p": 0.9, "seed": 5}


@pytest.mark.parametrize(("chat", "words"), [(None, ()), (ChatOptions(sampling=Sampling(0.7)), ("good", "poor"))])
def test_greedy_replies_and_logits_are_not_drawn_on_a_server(asked, chat, words):
    body, backend = asked(chat, words)
    assert body["temperature"] == 0.0 and not {"top_p", "seed"} & body.keys()
    assert backend.samples == (chat is not None) == ("sampling" in backend.identity())


def test_fields_that_eyechart_sets_are_refused():
    EndpointOptions(extra_body={"seed": 1, "top_p": 0.5})
    sampled = ChatOptions(sampling=Sampling(0.7))
    for chat, body, named in (
        (ChatOptions(), {"temperature": 1, "max_tokens": 3, "top_k": 1}, "max_tokens, temperature"),
        (sampled, {"seed": 1, "top_p": 0.5}, "seed, top_p"),
    ):
        with pytest.raises(UsageError, match=f"extra_body contains {named}, which eyechart sets itself"):
            EndpointOptions(chat=chat, extra_body=body)
