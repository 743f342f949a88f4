"""Evaluations as jobs on the Hub's machines: inspect-ai runs our tasks there and leaves its logs in a bucket.

Documentation: https://huggingface.co/docs/huggingface_hub/guides/jobs.
"""

import os
import re
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from eyechart.datasets_scripts.common.errors import HubError, UsageError, unknown_name

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_BUCKET = re.compile(r"hf://buckets/(?P<id>[\w.-]+/[\w.-]+)(?:/(?P<path>[^\s]*?))?/?", re.ASCII)
_MOUNTED = "/logs"
_TOKEN = "HF_TOKEN"
_PROVIDERS: dict[str, tuple[tuple[str, ...], str]] = {
    "vllm": (("vllm",), ""),
    "openai": (("openai",), "OPENAI_API_KEY"),
    "anthropic": (("anthropic",), "ANTHROPIC_API_KEY"),
    "google": (("google-genai",), "GOOGLE_API_KEY"),
    "grok": (("xai-sdk",), "XAI_API_KEY"),
    "mistral": (("mistralai",), "MISTRAL_API_KEY"),
    "openrouter": (("openai",), "OPENROUTER_API_KEY"),
    "hf-inference-providers": (("openai",), _TOKEN),
}
"""What inspect-ai's providers need: packages, and the environment variable with the key. `vllm` runs a model in
the job; `hf` is missing, because it takes no images. Source: `inspect_ai/model/_providers/` of inspect-ai 0.3.285."""


def provider_of(model: str) -> str:
    """The provider in inspect-ai's name of a model."""
    return model.partition("/")[0]


@dataclass(frozen=True)
class Bucket:
    """A place in a bucket on the Hub."""

    id: str
    path: str = ""

    @classmethod
    def of(cls, option: str, address: str) -> "Bucket":
        """Parse `hf://buckets/OWNER/NAME[/PATH]`."""
        if (parts := _BUCKET.fullmatch(address)) is None:
            raise UsageError(f"{option} {address!r} is not a bucket; expected hf://buckets/OWNER/NAME or .../PATH")
        return cls(parts["id"], parts["path"] or "")

    @property
    def address(self) -> str:
        """Its address."""
        return "/".join(part for part in ("hf://buckets", self.id, self.path) if part)

    def page(self, folder: str = "") -> str:
        """The address of the web page that lists this place, or a folder in it."""
        from huggingface_hub import constants

        path = "/".join(filter(None, (self.path, folder)))
        return f"{constants.ENDPOINT}/buckets/{self.id}{path and f'/tree/{quote(path)}'}"


@dataclass(frozen=True)
class Job:
    """A job that evaluates a model on tasks."""

    tasks: Sequence[str]
    """Names of our tasks."""
    model: str
    """A model of inspect-ai: PROVIDER/MODEL."""
    logs: Bucket
    install: str
    """The requirement that installs eyechart with its extra `inspect`."""
    flavor: str
    timeout: str
    """After which time the Hub stops the job, as a number with s, m, h or d."""
    judge: str | None = None
    """A model of inspect-ai."""
    options: Sequence[str] = ()
    """Further arguments of `inspect eval`."""

    def __post_init__(self) -> None:
        """Refuse a model whose provider is not in the table, and a wrong time."""
        for option, model in self._models:
            if "/" not in model:
                raise UsageError(f"{option} {model!r} has no provider; expected PROVIDER/MODEL, such as vllm/{model}")
            if (provider := provider_of(model)) not in _PROVIDERS:
                raise unknown_name("provider", provider, _PROVIDERS, f"in {option} {model}")
        if not re.fullmatch("[1-9][0-9]*[smhd]?", self.timeout):
            raise UsageError(f"--timeout {self.timeout!r} is not a time; expected a number with s, m, h or d, as in 6h")

    @property
    def _models(self) -> list[tuple[str, str]]:
        return [("--model", self.model), *([("--judge", self.judge)] if self.judge else ())]

    @property
    def dependencies(self) -> list[str]:
        """What the job installs."""
        needed = [name for _, model in self._models for name in _PROVIDERS[provider_of(model)][0]]
        return [self.install, *dict.fromkeys(needed)]

    @property
    def secrets(self) -> list[str]:
        """The environment variables that the job gets as secrets."""
        keys = [_PROVIDERS[provider_of(model)][1] for _, model in self._models]
        return list(dict.fromkeys([_TOKEN, *filter(None, keys)]))

    @property
    def arguments(self) -> list[str]:
        """The arguments of `inspect`."""
        names = [f"eyechart/{name.replace('/', '_')}" for name in self.tasks]
        judge = ["--model-role", f"judge={self.judge}"] if self.judge else []
        return ["eval", *names, "--model", self.model, *judge, *self.options, "--log-dir", _MOUNTED]

    def command(self) -> str:
        """The bucket and the job as commands of the Hub's own program."""
        words = ["hf", "jobs", "uv", "run", "--flavor", self.flavor, "--timeout", self.timeout]
        words += [word for name in self.secrets for word in ("--secrets", name)]
        words += ["-v", f"{self.logs.address}:{_MOUNTED}"]
        words += [word for requirement in self.dependencies for word in ("--with", requirement)]
        bucket = ["hf", "buckets", "create", self.logs.id, "--private", "--exist-ok"]
        return f"{shlex.join(bucket)}\n{shlex.join([*words, 'inspect', *self.arguments])}"

    def submit(self) -> str:
        """Start the job; return its address. Makes a private bucket if it does not exist."""
        from huggingface_hub import Volume, get_token

        secrets = {name: get_token() if name == _TOKEN else os.environ.get(name) for name in self.secrets}
        if missing := [name for name, value in secrets.items() if not value and name != _TOKEN]:
            raise UsageError(f"the job needs {', '.join(missing)}; set it to your key of the model's provider")
        volume: dict[str, Any] = {"type": "bucket", "source": self.logs.id, "mount_path": _MOUNTED}
        if self.logs.path:
            volume["path"] = self.logs.path

        def start(api: "HfApi") -> str:
            api.create_bucket(self.logs.id, private=True, exist_ok=True)
            job = api.run_uv_job(
                "inspect",
                script_args=self.arguments,
                dependencies=self.dependencies,
                flavor=self.flavor,
                timeout=self.timeout,
                secrets=secrets,
                volumes=[Volume(**volume)],
            )
            return str(job.url)

        return _on_hub("the job was not started", start)


def upload(files: Sequence[tuple[str, str]], bucket: Bucket) -> None:
    """Put files, each with its path there, into a bucket; if it does not exist, a private one is made."""

    def send(api: "HfApi") -> str:
        api.create_bucket(bucket.id, private=True, exist_ok=True)
        places = [(file, f"{bucket.path}/{path}" if bucket.path else path) for file, path in files]
        api.batch_bucket_files(bucket.id, add=list(places))
        return ""

    _on_hub(f"nothing was uploaded to {bucket.address}", send)


def data_revision(repo: str) -> str:
    """The newest commit of a dataset repository."""
    return _on_hub(f"{repo} could not be read", lambda api: str(api.dataset_info(repo).sha))


def _on_hub(problem: str, work: Any) -> str:
    from huggingface_hub import HfApi

    try:
        # The library calls jobs experimental.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return str(work(HfApi()))
    # The library's HTTP client, and so the error class, differs between versions.
    except Exception as error:
        hint = "Log in with `hf auth login`. The token needs write access; jobs need a Pro, Team or Enterprise account."
        raise HubError(f"{problem}: {error}\n{hint}") from error
