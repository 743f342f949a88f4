"""Evaluations as jobs on the Hub's machines: inspect-ai runs our tasks there and leaves its logs in a bucket.

Documentation: https://huggingface.co/docs/huggingface_hub/guides/jobs.
"""

import re
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import HubError, UsageError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_BUCKET = re.compile(r"hf://buckets/(?P<id>[\w.-]+/[\w.-]+)(?:/(?P<path>[^\s]*?))?/?", re.ASCII)
_MOUNTED = "/logs"
_FOR_PROVIDER = {"vllm": ("vllm",), "hf": ("torch", "transformers", "accelerate")}
"""What the providers of inspect-ai need, which run a model in the job."""


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

    @property
    def page(self) -> str:
        """The address of the bucket's page."""
        from huggingface_hub import constants

        return f"{constants.ENDPOINT}/buckets/{self.id}"


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

    @property
    def dependencies(self) -> list[str]:
        """What the job installs."""
        return [self.install, *_FOR_PROVIDER.get(self.model.partition("/")[0], ())]

    @property
    def arguments(self) -> list[str]:
        """The arguments of `inspect`."""
        names = [f"eyechart/{name.replace('/', '_')}" for name in self.tasks]
        return ["eval", *names, "--model", self.model, "--log-dir", _MOUNTED]

    def command(self) -> str:
        """The job as a command of the Hub's own program."""
        words = ["hf", "jobs", "uv", "run", "--flavor", self.flavor, "--secrets", "HF_TOKEN"]
        words += ["-v", f"{self.logs.address}:{_MOUNTED}"]
        words += [word for requirement in self.dependencies for word in ("--with", requirement)]
        return shlex.join([*words, "inspect", *self.arguments])

    def submit(self) -> str:
        """Start the job; return its address. Makes the bucket if it does not exist."""
        from huggingface_hub import Volume, get_token

        volume: dict[str, Any] = {"type": "bucket", "source": self.logs.id, "mount_path": _MOUNTED}
        if self.logs.path:
            volume["path"] = self.logs.path

        def start(api: "HfApi") -> str:
            api.create_bucket(self.logs.id, exist_ok=True)
            job = api.run_uv_job(
                "inspect",
                script_args=self.arguments,
                dependencies=self.dependencies,
                flavor=self.flavor,
                secrets={"HF_TOKEN": get_token()},
                volumes=[Volume(**volume)],
            )
            return str(job.url)

        return _on_hub("the job was not started", start)


def upload(files: Sequence[tuple[str, str]], bucket: Bucket) -> None:
    """Put files, each with its path there, into a bucket, which is made if it does not exist."""

    def send(api: "HfApi") -> str:
        api.create_bucket(bucket.id, exist_ok=True)
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
