"""Models on a real vLLM and a real llama.cpp, compared with the same models run here; `.ci/servers` runs these.

vLLM has the bundled model, llama.cpp one of its kind. EYECHART_VLLM and EYECHART_LLAMA name programs not on PATH. For
vLLM in process, eyechart has to be installed next to vLLM.
"""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from inspect_ai.log import read_eval_log
from safetensors.numpy import load_file, save_file

from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.completion import Completion
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.inspect_bridge.tasks import ITEMS, SCORER
from eyechart.evaluators.requests.errors import EndpointError, ModelError
from eyechart.evaluators.requests.types import Request
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import TASKS
from tests.evaluators.command_line import invoke

pytestmark = pytest.mark.servers

HELLO = [{"role": "user", "content": "How are you?"}]
# The passes that a server is spared where they change nothing are asked too.
FIRST_ITEMS = ("--limit", 6, "--set", "early_stop=false")
CLOSED_SET = ("q_bench/perception", "--set", "inference=closed-set", "--limit", 12)
_KILLED_AFTER = 40
Rows = Mapping[tuple[str, str, str, str], Mapping[str, Any]]
"""Rows of predictions by task, dataset, id and pass."""


def run(*arguments: object, out: Path) -> Rows:
    """Evaluate demo data."""
    invoke("run", "--mini", "--out", out, *arguments, code=0)
    return read(out)


def read(out: Path) -> Rows:
    """The predictions of a run."""
    rows = pyarrow.parquet.read_table(out / "predictions.parquet").to_pylist()
    return {(row["task"], row["dataset"], row["id"], row["pass"]): row for row in rows}


def there(options: EndpointOptions, name: str) -> tuple[object, ...]:
    """How a run asks a model on a server."""
    return ("--model", name, "--base-url", options.base_url, "--model-arg", "top_logprobs=1280")


def compare(options: EndpointOptions, name: str, model_here: str, folder: Path, *, tolerance: float) -> None:
    """Replies in every task have to be equal to those of the model run here; logits may differ by `tolerance` nats."""
    on_server = run(*FIRST_ITEMS, *there(options, name), out=folder / "there")
    compare_rows(on_server, run(*FIRST_ITEMS, "--model", model_here, out=folder / "here"), tolerance)
    # Words of several tokens have the logits of their first tokens, which need not be the longest that fit.
    request = Request("1", ("Rate the quality.\n",), (), prefill="The quality is", words=("sharp", "blurry"))
    backend = OpenAIBackend(options.served_name or "", replace(options, top_logprobs=1280))
    differences = []
    for asked in (backend, resolve_backend(model_here)):
        (response,) = asked.answer([request])
        assert response.logits is not None and not response.upper_bound_words
        differences.append(response.logits["sharp"] - response.logits["blurry"])
    assert differences[0] == pytest.approx(differences[1], abs=tolerance)


def compare_rows(there: Rows, here: Rows, tolerance: float) -> None:
    """Compare the first items of every task."""
    assert {task for task, *_ in here} == {task.name for task in TASKS}
    assert there.keys() == here.keys()
    assert {key: row["text"] for key, row in there.items()} == {key: row["text"] for key, row in here.items()}
    scored = [key for key, row in here.items() if row["logits"]]
    assert len(scored) == 7 * 6
    for key in scored:
        one, other = (dict(rows[key]["logits"]) for rows in (there, here))
        assert one.keys() == other.keys() and not there[key]["upper_bound_words"]
        # The engine gives logits and servers log-probabilities, which differ by a constant.
        shift = one["good"] - other["good"]
        assert one == pytest.approx({word: value + shift for word, value in other.items()}, abs=tolerance)


def compare_losses(there: Rows, here: Rows) -> None:
    """Compare the losses of the continuations."""
    assert there.keys() == here.keys()
    for key, row in here.items():
        assert there[key]["losses"] == pytest.approx(row["losses"], abs=1e-3)
        assert there[key]["loss_tokens"] == row["loss_tokens"]


def ask_several(options: EndpointOptions, n: int) -> tuple[list[Completion], int]:
    """Sampled replies as a judge asks for them, and the requests that were answered."""
    client = ChatClient(options.served_name or "", options)

    async def ask(n: int) -> list[Completion]:
        return [answer async for answer in client.completions(HELLO, n, max_tokens=8, temperature=1.0)]

    (completions,) = client.map(ask, [n])
    return completions, client.counts["requests"]


def kill_and_resume(
    options: Sequence[str], answered: Callable[[str], int], server: Callable[[int, str], int], ending: str, folder: Path
) -> Mapping[str, Any]:
    """A server killed in the middle of a run loses nothing, and the next run asks nothing twice.

    `answered` counts the answers in the server's log; `server` finds the process to kill by eyechart's process id and
    the log; `ending` is what the first run says of it. Returns the settings of the model in the second run's result.
    """
    command = ["run", "q_bench/perception", "--mini", *options]
    log = folder / "first" / "server.log"
    process = subprocess.Popen(
        [sys.executable, "-m", "eyechart.evaluators.cli", *command, "--out", folder / "first"],
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 600
    while process.poll() is None and time.monotonic() < end and answered(_text(log)) < _KILLED_AFTER:
        time.sleep(0.05)
    os.kill(server(process.pid, _text(log)), signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1 and ending in errors and str(log) in errors
    invoke(*command, "--out", folder / "second", code=0)
    (task,) = read_results(folder / "second").tasks
    count = pyarrow.parquet.read_metadata(folder / "second" / "predictions.parquet").num_rows
    stored = task.timings["answers_from_store"]
    assert _KILLED_AFTER <= stored < count
    model: Mapping[str, Any] = task.settings["model"]
    assert model["asked"]["requests"] == count - stored
    return model


def _text(log: Path) -> str:
    return log.read_text(errors="replace") if log.exists() else ""


MODEL = str(tiny_vlm.folder())
LENGTH = 1024
ENGINE = f"--dtype float32 --max-model-len {LENGTH} --enforce-eager"
VLLM_ARGUMENTS = f"""{ENGINE} --limit-mm-per-prompt '{{"image": 2}}' --max-logprobs 1280"""
VLLM_PROGRAM = os.environ.get("EYECHART_VLLM")
VLLM = f"{VLLM_PROGRAM} serve {{model}} --port {{port}}" if VLLM_PROGRAM else "vllm"


@pytest.fixture(scope="session")
def vllm(tmp_path_factory):
    """How the server of the bundled model is asked."""
    server = Server(f"{VLLM} {VLLM_ARGUMENTS}", MODEL, tmp_path_factory.mktemp("vllm") / "server.log")
    try:
        yield server.start(EndpointOptions(max_retries=1, top_logprobs=1280))
    finally:
        server.close()


def test_vllm_every_task_gives_the_replies_and_logits_of_the_model_run_here(vllm, tmp_path):
    compare(vllm, MODEL, MODEL, tmp_path, tolerance=1e-3)


def test_vllm_closed_set_inference_gives_the_losses_of_the_model_run_here(vllm, tmp_path):
    on_server = run(*CLOSED_SET, *there(vllm, MODEL), out=tmp_path / "there")
    compare_losses(on_server, run(*CLOSED_SET, "--model", MODEL, out=tmp_path / "here"))


@pytest.mark.parametrize(
    ("provider", "task", "dataset"),
    [("vllm", "q_bench/assessment", "koniq10k"), ("openai-api/local", "mmbench/en", "mmbench")],
)
def test_vllm_by_inspect_ai_gives_the_replies_and_logits_of_the_model_run_here(provider, task, dataset, vllm, tmp_path):
    command = ["inspect_ai", "eval", f"eyechart/{task.replace('/', '_')}", "-T", "data=mini", "--limit", "6"]
    server = {"VLLM_BASE_URL": vllm.base_url, "LOCAL_BASE_URL": vllm.base_url}
    subprocess.run(
        [sys.executable, "-m", *command, "--model", f"{provider}/{MODEL}", "--log-dir", "logs"],
        cwd=tmp_path,
        env={**os.environ, **server, "VLLM_API_KEY": "none", "LOCAL_API_KEY": "none"},
        check=True,
    )
    (path,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(path)
    assert log.status == "success", log.error
    here = run(task, "--dataset", dataset, "--limit", 6, "--model", MODEL, out=tmp_path / "here")
    there = [item for sample in log.samples for item in sample.scores[SCORER].metadata[ITEMS]]
    assert len({item["id"] for item in there}) == 6
    for item in there:
        row = here[task, dataset, item["id"], item["pass"]]
        assert item["text"] == row["text"]
        if item.get("logits"):
            # A provider returns the 20 most probable tokens.
            words = item["logits"].keys() - set(item["upper_bound_words"])
            assert {"good", "poor"} <= words
            ours = dict(row["logits"])
            shift = ours["good"] - item["logits"]["good"]
            expected = {word: ours[word] - shift for word in words}
            assert {word: item["logits"][word] for word in words} == pytest.approx(expected, abs=1e-3)


def in_process(*arguments: object, out: Path) -> Rows:
    """Evaluate demo data with the model in vLLM, in the environment that has it."""
    python = Path(VLLM_PROGRAM).with_name("python") if VLLM_PROGRAM else sys.executable
    engine = ("--backend", "vllm", "--model-arg", f"max_model_len={LENGTH}", "--model-arg", "enforce_eager=true")
    command = [python, "-m", "eyechart.evaluators.cli", "run", "--mini", "--out", out, *engine, *arguments]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return read(out)


def test_vllm_in_process_gives_every_task_the_replies_and_logits_of_the_local_engine(tmp_path):
    there = in_process(*FIRST_ITEMS, out=tmp_path / "there")
    here = run(*FIRST_ITEMS, out=tmp_path / "here")
    compare_rows(there, here, tolerance=1e-3)
    for part in ("prompt", "finish_reason"):
        assert [row[part] for row in there.values()] == [here[key][part] for key in there]
    both = [read_results(tmp_path / name).tasks for name in ("there", "here")]
    one, other = ({task.task: task.scores for task in tasks if task.task != "q_bench/assessment"} for tasks in both)
    assert one == other
    alike = ("dtype", "image_sizes", "downscaled_share", "chat_template", "decoding")
    one, other = ({name: tasks[0].settings["model"].get(name) for name in alike} for tasks in both)
    assert one == other


def test_vllm_in_process_gives_the_losses_of_the_local_engine(tmp_path):
    compare_losses(in_process(*CLOSED_SET, out=tmp_path / "there"), run(*CLOSED_SET, out=tmp_path / "here"))


def test_vllm_in_process_samples_the_same_replies_again(tmp_path):
    sampled = ("q_bench/description", "--limit", 3, "--temperature", 1, "--repeats", 2, "--no-store")
    first, again = (in_process(*sampled, out=tmp_path / name) for name in ("first", "again"))
    texts = {(id, name): row["text"] for (*_, id, name), row in first.items()}
    assert texts == {(id, name): row["text"] for (*_, id, name), row in again.items()}


def test_vllm_a_judge_gets_its_five_rounds_in_one_request(vllm):
    (completion,), requests = ask_several(vllm, 5)
    assert len(completion.choices) == 5 and requests == 1


def test_vllm_a_name_that_is_not_served_is_an_error_that_says_so(vllm):
    with pytest.raises(ModelError, match="no/such-model"):
        list(OpenAIBackend("no/such-model", replace(vllm, serve=None)).answer([Request("1", ("Hello",), ())]))


def test_vllm_a_context_too_small_names_the_option_that_helps(vllm):
    (response,) = OpenAIBackend(MODEL, vllm).answer([Request("1", ("Hello",), (), max_new_tokens=2 * LENGTH)])
    assert isinstance(response.error, EndpointError) and "--max-model-len" in str(response.error)


def test_vllm_a_server_killed_in_the_middle_loses_nothing_and_is_asked_nothing_twice(tmp_path):
    def engine(process, log):
        return int(re.search(r"EngineCore pid=(\d+)", log)[1])

    options = ["--model", MODEL, "--serve", f"{VLLM} {ENGINE}"]
    settings = kill_and_resume(
        options, lambda log: log.count('/chat/completions HTTP/1.1" 200'), engine, "EngineDeadError", tmp_path
    )
    assert settings["serve"]["version"] == "0.32.0"


SLOTS = 5
LLAMA_ARGUMENTS = f"--ctx-size {LENGTH * SLOTS} --parallel {SLOTS} --jinja --threads 1"
LLAMA_ARGUMENTS += " -fa off --cache-type-k f32 --cache-type-v f32"
LLAMA_PROGRAM = os.environ.get("EYECHART_LLAMA")
LLAMA = f"{LLAMA_PROGRAM} -m {{model}} --port {{port}}" if LLAMA_PROGRAM else "llama.cpp"
# llama.cpp looks its GELU up in a table of 16-bit numbers, in the projector and in the vision tower.
TOLERANCE = 0.02


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Folder of the model as transformers loads it, and beside it the files for llama.cpp."""
    folder = tmp_path_factory.mktemp("llama.cpp") / "transformers"
    write_transformers_folder(folder)
    write_gguf_files(folder, folder.parent / "language.gguf", folder.parent / "vision.gguf")
    return folder


@pytest.fixture(scope="session")
def command(model):
    return f"{LLAMA} {LLAMA_ARGUMENTS} --mmproj {model.parent / 'vision.gguf'}"


@pytest.fixture(scope="session")
def llama(model, command):
    """How the server of the model is asked."""
    server = Server(command, str(model.parent / "language.gguf"), model.parent / "log")
    try:
        yield server.start(EndpointOptions(max_retries=1))
    finally:
        server.close()


def test_llama_every_task_gives_the_replies_and_logits_of_the_model_run_here(llama, model, tmp_path):
    compare(llama, "language.gguf", str(model), tmp_path, tolerance=TOLERANCE)


def test_llama_closed_set_inference_is_refused_with_the_reason(llama, tmp_path):
    task = ("q_bench/perception", "--mini", "--set", "inference=closed-set")
    done = invoke("run", *task, *there(llama, "language.gguf"), "--out", tmp_path, code=1)
    assert "returns no prompt_logprobs" in done.output


def test_llama_a_judge_gets_as_many_rounds_in_one_request_as_the_server_has_slots_and_more_one_by_one(llama):
    (completion,), requests = ask_several(llama, SLOTS)
    assert len(completion.choices) == SLOTS and requests == 1
    completions, requests = ask_several(llama, SLOTS + 1)
    assert [len(completion.choices) for completion in completions] == [1] * (SLOTS + 1) and requests == SLOTS + 1


def test_llama_a_name_that_is_not_served_is_answered_and_the_result_says_by_what(llama, model, tmp_path):
    run("q_bench/perception", "--limit", 2, *there(llama, "no/such-model"), out=tmp_path)
    (task,) = read_results(tmp_path).tasks
    settings, served = task.settings["model"], str(model.parent / "language.gguf")
    assert settings["name"] == "no/such-model" and settings["served"] == [served]
    assert any(served in caveat and "--model-arg served_name" in caveat for caveat in task.caveats)


def test_llama_a_context_too_small_names_the_option_that_helps(llama):
    (response,) = OpenAIBackend("language.gguf", llama).answer([Request("1", ("Hello " * LENGTH,), ())])
    assert isinstance(response.error, EndpointError) and "--ctx-size" in str(response.error)


def test_llama_a_server_killed_in_the_middle_loses_nothing_and_is_asked_nothing_twice(llama, model, command, tmp_path):
    def child(process, log):
        return int(subprocess.check_output(["pgrep", "-P", str(process)]))

    arguments = ["--model", str(model.parent / "language.gguf"), "--serve", command]
    settings = kill_and_resume(
        arguments, lambda log: log.count("stop processing"), child, "was killed by SIGKILL", tmp_path
    )
    assert settings["serve"]["command"] == command and settings["served"] == [settings["name"]]


# llama.cpp cannot serve the bundled model as it is. What has to change, changes in both forms alike:
#
# - llama.cpp puts CLIP's class token behind the patches, where it has to stand before them, so that each patch gets
#   its neighbour's place (https://github.com/ggml-org/llama.cpp/issues/25814). So the vision tower is a SigLIP, which
#   has no class token, with the bundled weights; the first normalization, which SigLIP lacks, is left out.
# - Of ways to split words before merging, it knows a fixed list. That of SuperBPE differs around digits alone.
# - The projector has the tanh approximation of GELU.
# - It puts a line break between two texts of a message that holds images, whatever the chat template says. So the
#   template here puts one there too.
#
# GGUF is described at https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; the names of keys and tensors are
# those that llama.cpp reads (`src/llama-arch.cpp`, `tools/mtmd/clip-impl.h`).

# Types of values in a file's header, and how they are packed.
_PACKED = {"uint32": (4, "<I"), "int32": (5, "<i"), "float32": (6, "<f"), "bool": (7, "<?")}
_STRING, _ARRAY = 8, 9
_FLOAT32_TENSOR = 0
_ALIGNMENT = 32
_NORMAL_TOKEN, _CONTROL_TOKEN = 1, 3
# Of the chat template.
_TEXT_PART = "{%- elif part['type'] == 'text' -%}"
_LINE_BREAK = (
    "{%- if loop.index0 and message['content'][loop.index0 - 1]['type'] == 'text' -%}{{- '\\n' -}}{%- endif -%}"
)
_TOWER, _PROJECTOR = "vision_tower.vision_model.", "multi_modal_projector."
# SuperBPE's: digits are split off, and long numbers at their thousands.
_SPLITS = (r"\p{N}+", r"(?=(\d{3})+(?!\d))")


def write_transformers_folder(folder: Path) -> None:
    """Write the model as transformers loads it."""
    shutil.copytree(tiny_vlm.folder(), folder)
    vision = json.loads((folder / "config.json").read_text())["vision_config"]
    vision |= {"model_type": "siglip_vision_model", "vision_use_head": False}
    _edit(folder / "config.json", vision_config=vision, projector_hidden_act="gelu_pytorch_tanh", image_seq_length=16)
    _edit(folder / "processor_config.json", num_additional_image_tokens=0)
    splits = [
        {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": False} for split in _SPLITS
    ]
    as_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    _edit(folder / "tokenizer.json", pre_tokenizer={"type": "Sequence", "pretokenizers": [*splits, as_bytes]})
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text().replace(_TEXT_PART, _TEXT_PART + _LINE_BREAK))
    tensors, embeddings = load_file(folder / "model.safetensors"), _TOWER + "embeddings."
    tensors[f"{embeddings}patch_embedding.bias"] = np.zeros(vision["hidden_size"], np.float32)
    tensors[f"{embeddings}position_embedding.weight"] = tensors[f"{embeddings}position_embedding.weight"][1:]
    del tensors[f"{embeddings}class_embedding"]
    for kind in ("weight", "bias"):
        del tensors[f"{_TOWER}pre_layrnorm.{kind}"]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def write_gguf_files(folder: Path, language: Path, vision: Path) -> None:
    """Write the model in a folder of transformers as llama.cpp loads it: `-m` the language, `--mmproj` the vision."""
    config, tensors = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")
    _write(language, _language_keys(config, folder), _language_tensors(config["text_config"], tensors))
    _write(vision, _vision_keys(config, folder), _vision_tensors(config["vision_config"], tensors))


def _edit(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def _language_keys(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    text, tokenizer = config["text_config"], json.loads((folder / "tokenizer.json").read_text())
    tokens = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    special = {token["id"] for token in tokenizer["added_tokens"]}
    return {
        "general.architecture": "llama",
        "general.name": "eyechart stand-in",
        "llama.vocab_size": ("uint32", text["vocab_size"]),
        "llama.context_length": ("uint32", text["max_position_embeddings"]),
        "llama.embedding_length": ("uint32", text["hidden_size"]),
        "llama.block_count": ("uint32", text["num_hidden_layers"]),
        "llama.feed_forward_length": ("uint32", text["intermediate_size"]),
        "llama.attention.head_count": ("uint32", text["num_attention_heads"]),
        "llama.attention.head_count_kv": ("uint32", text["num_key_value_heads"]),
        "llama.attention.layer_norm_rms_epsilon": ("float32", text["rms_norm_eps"]),
        "llama.rope.freq_base": ("float32", text["rope_parameters"]["rope_theta"]),
        "llama.rope.dimension_count": ("uint32", text["head_dim"]),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "superbpe",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": (
            "int32",
            [_CONTROL_TOKEN if number in special else _NORMAL_TOKEN for number in range(len(tokens))],
        ),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in tokenizer["model"]["merges"]],
        "tokenizer.ggml.eos_token_id": ("uint32", text["eos_token_id"]),
        "tokenizer.ggml.padding_token_id": ("uint32", text["pad_token_id"]),
        "tokenizer.ggml.add_bos_token": ("bool", False),
        "tokenizer.chat_template": (folder / "chat_template.jinja").read_text(),
    }


def _language_tensors(text: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    heads = text["num_attention_heads"]

    def turned(weight: np.ndarray) -> np.ndarray:
        # The two halves of a rotated pair stand half a head apart in transformers, and side by side here.
        return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)

    theirs = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj mlp.gate_proj mlp.up_proj"
    theirs += " mlp.down_proj input_layernorm post_attention_layernorm"
    ours = "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down attn_norm ffn_norm"
    names = dict(zip(theirs.split(), ours.split(), strict=True))
    renamed = {
        "token_embd.weight": tensors["language_model.model.embed_tokens.weight"],
        "output_norm.weight": tensors["language_model.model.norm.weight"],
    }
    for layer in range(text["num_hidden_layers"]):
        for old, new in names.items():
            weight = tensors[f"language_model.model.layers.{layer}.{old}.weight"]
            renamed[f"blk.{layer}.{new}.weight"] = turned(weight) if new in ("attn_q", "attn_k") else weight
    return renamed


def _vision_keys(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    vision = config["vision_config"]
    images = json.loads((folder / "processor_config.json").read_text())["image_processor"]
    return {
        "general.architecture": "clip",
        "clip.has_vision_encoder": ("bool", True),
        "clip.projector_type": "mlp",
        "clip.vision.image_size": ("uint32", vision["image_size"]),
        "clip.vision.patch_size": ("uint32", vision["patch_size"]),
        "clip.vision.embedding_length": ("uint32", vision["hidden_size"]),
        "clip.vision.feed_forward_length": ("uint32", vision["intermediate_size"]),
        "clip.vision.block_count": ("uint32", vision["num_hidden_layers"]),
        "clip.vision.projection_dim": ("uint32", config["text_config"]["hidden_size"]),
        "clip.vision.attention.head_count": ("uint32", vision["num_attention_heads"]),
        "clip.vision.attention.layer_norm_epsilon": ("float32", vision["layer_norm_eps"]),
        # The output of the last layer; by itself it would be that of the last but one.
        "clip.vision.feature_layer": ("int32", [vision["num_hidden_layers"]]),
        "clip.vision.image_mean": ("float32", images["image_mean"]),
        "clip.vision.image_std": ("float32", images["image_std"]),
    }


def _vision_tensors(vision: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    theirs = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj layer_norm1 layer_norm2"
    theirs += " mlp.fc1 mlp.fc2"
    ours = "attn_q attn_k attn_v attn_out ln1 ln2 ffn_up ffn_down"
    names = dict(zip(theirs.split(), ours.split(), strict=True))
    renamed = {
        "v.patch_embd.weight": tensors[f"{_TOWER}embeddings.patch_embedding.weight"],
        "v.patch_embd.bias": tensors[f"{_TOWER}embeddings.patch_embedding.bias"],
        "v.position_embd.weight": tensors[f"{_TOWER}embeddings.position_embedding.weight"],
    }
    for kind in ("weight", "bias"):
        renamed[f"mm.0.{kind}"] = tensors[f"{_PROJECTOR}linear_1.{kind}"]
        renamed[f"mm.2.{kind}"] = tensors[f"{_PROJECTOR}linear_2.{kind}"]
        for layer in range(vision["num_hidden_layers"]):
            for old, new in names.items():
                renamed[f"v.blk.{layer}.{new}.{kind}"] = tensors[f"{_TOWER}encoder.layers.{layer}.{old}.{kind}"]
    return renamed


def _write(path: Path, keys: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys))
    header += b"".join(_string(key) + _value(value) for key, value in keys.items())
    data = b""
    for name, tensor in tensors.items():
        # The fastest dimension first.
        header += _string(name) + struct.pack(f"<I{tensor.ndim}Q", tensor.ndim, *reversed(tensor.shape))
        header += struct.pack("<IQ", _FLOAT32_TENSOR, len(data))
        data += _padded(tensor.astype("<f4").tobytes())
    path.write_bytes(_padded(header) + data)


def _value(value: Any) -> bytes:
    """A string, a list of strings, or a type with a number or a list of numbers."""
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value, list):
        return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_string, value))
    number, form = _PACKED[value[0]]
    if isinstance(value[1], list):
        return struct.pack("<IIQ", _ARRAY, number, len(value[1])) + b"".join(struct.pack(form, x) for x in value[1])
    return struct.pack("<I", number) + struct.pack(form, value[1])


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)
