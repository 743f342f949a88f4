"""Jobs as commands, read by the Hub's own program and by inspect-ai's, and as what stands in for the Hub gets them."""

import os
import shlex
import subprocess
import sys
from typing import Any

import pytest
from inspect_ai._cli.eval import eval_command
from inspect_ai._cli.util import parse_cli_args

from tests.evaluators.command_line import invoke
from tests.hub_stand_in import TOKEN, StandIn

GIVEN = (
    "--model",
    "vllm/me/model",
    "--logs",
    "hf://buckets/me/evals/new",
    "--install",
    "eyechart[inspect] @ git+ssh://a",
)
TASKS = ("q_bench/perception", "mmbench/en")
TEXT = ("q_bench/description", "--set", "max_new_tokens=64", "--limit", "5", "--judge", "openai/gpt-4o")


def commands(*arguments: str) -> tuple[list[str], list[str]]:
    """The words of the printed commands: the bucket's, and the job's."""
    bucket, job = invoke("jobs", "run", *arguments, code=0).output.splitlines()
    return shlex.split(bucket), shlex.split(job)


def inspected(job: list[str]) -> dict[str, Any]:
    """The arguments of `inspect eval` in a job, as inspect-ai's own program reads them."""
    words = job[job.index("inspect") + 2 :]
    return eval_command.make_context("eval", words, resilient_parsing=False).params


def hub_program(*words: str, **environment: str) -> str:
    command, env = [sys.executable, "-m", "huggingface_hub.cli.hf", *words], {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    shown = done.stdout + done.stderr
    assert done.returncode == 0, shown
    return shown


def test_the_hubs_own_program_takes_the_command() -> None:
    bucket, job = commands(*TASKS, *GIVEN)
    assert bucket == ["hf", "buckets", "create", "me/evals", "--private", "--exist-ok"]
    assert job[:4] == ["hf", "jobs", "uv", "run"]
    shown = hub_program(*job[1:4], "--dry-run", *job[4:])
    for text in (
        "eval eyechart/q_bench_perception eyechart/mmbench_en --model vllm/me/model --log-dir /logs",
        "eyechart[inspect] @ git+ssh://a",
        "hf://buckets/me/evals/new:/logs",
        "a10g-large",
        "6h",
    ):
        assert text in shown
    assert inspected(job)["tasks"] == ("eyechart/q_bench_perception", "eyechart/mmbench_en")


@pytest.mark.parametrize(
    ("model", "package", "key"),
    [
        ("openai/gpt-4o", "openai", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-0", "anthropic", "ANTHROPIC_API_KEY"),
        ("google/gemini-2.5-pro", "google-genai", "GOOGLE_API_KEY"),
        ("hf-inference-providers/me/model", "openai", "HF_TOKEN"),
    ],
)
def test_a_provider_gets_its_package_and_its_key(model: str, package: str, key: str) -> None:
    _, job = commands(*TASKS, *GIVEN, "--model", model, "--timeout", "90m")
    shown = hub_program(*job[1:4], "--dry-run", *job[4:])
    assert f"--with {package}" in shlex.join(job) and package in shown and key in shown and "90m" in shown
    assert job.count("--secrets") == len({key, "HF_TOKEN"})


def test_settings_limit_judge_and_dataset_go_to_inspect() -> None:
    _, job = commands(*TEXT, *GIVEN)
    given = inspected(job)
    assert (given["model"], given["limit"], given["model_role"]) == ("vllm/me/model", "5", ("judge=openai/gpt-4o",))
    assert parse_cli_args(given["t"]) == {"max_new_tokens": 64}
    assert "OPENAI_API_KEY" in job and {"vllm", "openai"} <= set(job)
    words = ("q_bench/assessment", "--set", "levels=[excellent,good,bad]")
    assert parse_cli_args(inspected(commands(*words, *GIVEN)[1])["t"]) == {"levels": ["excellent", "good", "bad"]}
    given = inspected(commands("q_bench/assessment", "--dataset", "spaq", *GIVEN)[1])
    assert given["tasks"] == ("eyechart/q_bench_assessment",) and given["t"] == ("dataset=spaq",)
    assert inspected(commands("more/k_mmbench", *GIVEN)[1])["tasks"] == ("eyechart/more_k_mmbench",)


def test_a_job_and_a_private_bucket_are_sent_to_the_hub(hub: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.hf_api.ENDPOINT", hub.address, raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY" in invoke("jobs", "run", *TEXT, *GIVEN, "--submit", code=2).stderr
    assert not hub.jobs and not hub.buckets
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-test")
    for _ in range(2):
        done = invoke("jobs", "run", *TEXT, *GIVEN, "--submit", "--timeout", "2h", code=0)
        assert "/jobs/me/7" in done.output and "sk-of-this-test" not in done.output
    sent, _ = hub.jobs
    assert hub.buckets == {"me/evals": "private"}
    assert (sent["flavor"], sent["timeoutSeconds"]) == ("a10g-large", 7200)
    assert sent["secrets"] == {"HF_TOKEN": TOKEN, "OPENAI_API_KEY": "sk-of-this-test"}
    bucket = {"type": "bucket", "source": "me/evals", "mountPath": "/logs", "path": "new"}
    assert bucket.items() <= sent["volumes"][0].items()
    words = " ".join(sent["command"])
    assert "inspect eval eyechart/q_bench_description --model vllm/me/model --model-role judge=" in words
    assert "--with vllm --with openai" in words and "-T max_new_tokens=64 --limit 5" in words


def test_the_printed_bucket_is_private(hub: StandIn) -> None:
    bucket, _ = commands(*TASKS, *GIVEN)
    for _ in range(2):
        hub_program(*bucket[1:], HF_ENDPOINT=hub.address, HF_TOKEN=TOKEN, HF_HUB_OFFLINE="0")
    assert hub.buckets == {"me/evals": "private"}


def test_the_hub_refuses_a_job(hub: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_no_one")
    done = invoke("jobs", "run", *TASKS, *GIVEN, "--submit", code=1)
    assert "the job was not started" in done.stderr and "hf auth login" in done.stderr and not hub.jobs


def test_the_help_shows_the_extra() -> None:
    for columns in (80, 200):
        shown = invoke("jobs", "run", "--help", code=0, columns=columns).output
        assert "'eyechart[inspect] @" in shown and "\\[" not in shown


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (("--model", "model"), "vllm/model"),
        (("--model", "opneai/gpt-4o"), "did you mean 'openai'"),
        (("--model", "mockllm/model"), "available: vllm, openai, anthropic"),
        (("--judge", "gpt-4o"), "--judge 'gpt-4o' has no provider"),
        (("q_bench/assessment", "--judge", "openai/gpt-4o"), "--judge has no effect on tasks that use no judge"),
        (("--logs", "s3://mine"), "hf://buckets/OWNER/NAME"),
        (("--logs", "hf://buckets/me"), "hf://buckets/OWNER/NAME"),
        (("--timeout", "soon"), "expected a number with s, m, h or d"),
        (("--set", "extracton=strict"), "did you mean 'extraction'"),
        (("--dataset", "spaq"), "unknown dataset 'spaq'"),
        (("q_bunch",), "q_bench"),
        (("two_afc/coarse",), "two_afc/coarse on two_afc: To get"),
        (("aes_bench",), "aes_bench/interpretation on aesbench: "),
        (("q_bench", "--set", "extraction=strict"), "--set extraction is not for q_bench/description"),
    ],
)
def test_wrong_usage(changed: tuple[str, ...], named: str) -> None:
    tasks = TASKS if changed[0].startswith("--") else ()
    assert named in " ".join(invoke("jobs", "run", *tasks, *GIVEN, *changed, code=2).stderr.split())


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("q_bench/assessment", *GIVEN, "--model", "openai/gpt-4o"), "openai does not return them after a begun reply"),
        (("q_bench/perception", *GIVEN, "--set", "inference=closed-set"), "providers do not return them"),
    ],
)
def test_what_a_provider_does_not_return_is_refused_before_a_job(words: tuple[str, ...], named: str) -> None:
    assert named in " ".join(invoke("jobs", "run", *words, code=1).stderr.split())


def test_data_to_get_by_hand_and_task_files_are_refused(tmp_path: Any) -> None:
    done = invoke("jobs", "run", "q_bench/assessment", "--dataset", "cgiqa6k", *GIVEN, code=2)
    assert "cannot be downloaded in a job" in done.stderr and "another --dataset" in done.stderr
    (tmp_path / "a.csv").write_text("image,question,A,B,answer\n")
    (tmp_path / "mine.yaml").write_text(
        "name: mine\nprotocol: multiple_choice\ndata: {path: a.csv}\n"
        "columns: {images: image, question: question, options: [A, B], answer: answer}\n"
        "prompt: '{images}{question}{options}'\n"
    )
    assert "mine is a task file's" in invoke("jobs", "run", tmp_path / "mine.yaml", *GIVEN, code=2).stderr
