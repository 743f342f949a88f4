import shutil
from pathlib import Path

import pytest
import yaml

from eyechart.datasets_scripts import DATASETS, mini
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.tasks import TASKS
from eyechart.hub_cards.model_card.entries import benchmark, task_id
from tests.evaluators.command_line import invoke


@pytest.mark.parametrize("subset", DATASETS)
def test_every_task_has_its_leaderboard_and_every_leaderboard_a_score(subset: str) -> None:
    tasks = [task for task in TASKS if subset in task.data.datasets]
    configs = DATASETS[subset].configs
    if not tasks:
        with pytest.raises(UsageError, match="cannot be a benchmark"):
            benchmark(subset, configs)
        return
    contents = benchmark(subset, configs, i_have_the_rights=True)
    assert set(contents) == {"name", "description", "evaluation_framework", "tasks"}
    ids = [entry["id"] for entry in contents["tasks"]]
    assert len(set(ids)) == len(ids) and set(ids) >= {task_id(task.name, task.data.splits[0]) for task in tasks}
    assert {entry["config"] for entry in contents["tasks"]} <= set(configs)
    try:
        public = benchmark(subset, configs)["tasks"]
    except UsageError:
        assert set(DATASETS[subset].private) >= {split for task in tasks for split in task.data.splits}
    else:
        assert all(entry["split"] not in DATASETS[subset].private_splits(entry["config"]) for entry in public)


def test_mmbench_has_one_for_each_configuration() -> None:
    tasks = [*benchmark("mmbench", ["en", "cc"])["tasks"], *benchmark("mmbench", ["cn_v11"])["tasks"]]
    assert [(task["id"], task["config"], task["split"]) for task in tasks] == [
        *(("mmbench_en", "en", "dev"), ("mmbench_cc", "cc", "dev")),
        *(("mmbench_cn_v11", "cn_v11", "dev"), ("mmbench_cn_v11_test", "cn_v11", "test")),
    ]


def test_the_command_writes_it(tmp_path: Path) -> None:
    # In the layout of the real release, and not in the folder of mini releases.
    release = shutil.copytree(mini.release("llvisionqa"), tmp_path / "release")
    command = ["export", "llvisionqa", "--data-dir", str(release), "--benchmark", "--out", str(tmp_path / "out")]
    invoke(*command, code=0)
    contents = yaml.safe_load((tmp_path / "out" / "eval.yaml").read_text())
    assert contents["name"] == "LLVisionQA (Q-Bench)" and contents["evaluation_framework"] == "eyechart"
    assert contents["tasks"] == [{"id": "q_bench_perception", "config": "default", "split": "dev"}]


@pytest.mark.parametrize("folder", [False, True])
def test_a_mini_release_is_no_benchmark(tmp_path: Path, folder: bool) -> None:
    given = ["--data-dir", str(mini.release("llvisionqa"))] if folder else ["--mini"]
    done = invoke("export", "llvisionqa", "--benchmark", *given, "--out", tmp_path / "out", code=2)
    assert "--benchmark is not for synthetic demo data" in done.output
    assert not (tmp_path / "out").exists()
