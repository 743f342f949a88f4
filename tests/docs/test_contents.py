"""Tables and links of README and the site agree with the code."""

import re
import tomllib

import yaml

from eyechart.datasets_scripts import DATASETS, by_hand, load_builder
from eyechart.evaluators import list_tasks
from eyechart.evaluators.protocols.protocol import setting_fields
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.metrics import list_metrics
from tests.docs.pages import ROOT, blocks, pages

README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXTS = {path: path.read_text(encoding="utf-8") for path in pages()}


def shown(name: str) -> str:
    return TEXTS[ROOT / "docs" / name]


def test_readme_is_a_front_page() -> None:
    assert len(README.splitlines()) <= 120


def test_code_fits_the_width_of_the_site() -> None:
    """At a browser width of 1,280 px, longer lines scroll sideways."""
    # README, which is no page of the site, installs and runs in one line.
    long = [
        f"{block}: {line}"
        for block in blocks("shell", "python", "yaml", "json", "bibtex")
        for line in block.text.splitlines()
        if len(line) > 88 and not (block.page == "README.md" and line.startswith("python3 -m venv "))
    ]
    assert long == []


def test_the_task_file_for_a_table_on_the_hub_is_short() -> None:
    (text,) = [block.text for block in blocks("yaml") if "name: seed_bench" in block.text]
    assert len(text.splitlines()) <= 15 and "path: lmms-lab/SEED-Bench, split: test" in text


def test_every_task_is_listed() -> None:
    listed: list[str] = []
    table = README[README.index("| task | what is asked |") :].partition("\n\n")[0]
    for row in re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", row)
        paper = first.partition("/")[0]
        listed += [first, *(paper + other for other in others)]
    assert listed == list_tasks()


def test_readme_says_how_each_task_gets_its_data() -> None:
    table = README[README.index("| task | what is asked |") :].partition("\n\n")[0]
    cells = {re.findall(r"`([^`]+)`", row)[0]: row.split(" | ")[-1].strip("| ") for row in table.splitlines()[2:]}
    for name, cell in cells.items():
        data = get_task(name).data
        config = data.config or DATASETS[data.default_datasets[0]].configs[0]
        entry = DATASETS[data.default_datasets[0]]
        n, n_by_hand = len(data.default_datasets), sum(bool(by_hand(one, data.config)) for one in data.default_datasets)
        some = f"download for {n - n_by_hand} of {n} databases, the others by hand"
        none = "on request" if entry.gated else "by hand"
        assert cell.partition(";")[0] == ("download" if not n_by_hand else none if n_by_hand == n else some)
        assert ("private" in cell) == (data.default_split in entry.private_splits(config))


def test_every_setting_exists() -> None:
    known = {name for task in TASKS for name in setting_fields(type(task.protocol))}
    named = {name for text in TEXTS.values() for name in re.findall(r"--set ([a-z_]+)=", text)}
    assert len(named) > 12 and named <= known


def test_every_data_set_is_listed_with_its_configurations_and_splits() -> None:
    rows = [line for line in shown("reference/data_sets.md").splitlines() if "hub_cards/datasets/" in line]
    listed = {}
    for row in rows:
        names, configs, splits, *_ = row.strip("| ").split(" | ")
        for name in re.findall(r"`(\w+)`", names):
            listed[name] = (re.findall(r"`(\w+)`", configs), re.findall(r"`(\w+)\*?`", splits))
    assert set(listed) == set(DATASETS)
    metrics = re.findall(r"\]\(\.\./\.\./metrics/(\w+)/README\.md\)", shown("reference/metrics.md"))
    assert sorted(metrics) == list_metrics()
    for name, (configs, splits) in listed.items():
        assert tuple(configs) == DATASETS[name].configs
        known = load_builder(name).SPLITS
        assert all(any(split.startswith(start) for start in splits) for split in known)
        assert all(any(split.startswith(start) for split in known) for start in splits)


def test_every_link_leads_to_a_file() -> None:
    broken = []
    for path, page in TEXTS.items():
        # Formulae and code can contain brackets.
        text = re.sub(r"`[^`\n]*`|\$[^$\n]*\$", "", re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE))
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if not link.startswith(("https://", "http://", "mailto:")) and path.parent.name != "generated":
                target = (path.parent / link).resolve()
                if not target.exists() and target.parent.name not in ("generated", "metrics", "data_sets"):
                    broken.append(f"{path.name}: {link}")
    assert broken == []


def test_the_page_that_follows_a_row_names_files_and_functions_that_exist() -> None:
    listed = re.findall(r"^\| \d \| `([^`]+)` \| `(\w+)` \|", shown("topics/one_row.md"), flags=re.MULTILINE)
    assert len(listed) == 11 and len({file for file, _ in listed}) == 8
    assert [name for file, name in listed if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")] == []


def test_the_citation_file_holds_what_the_page_on_citing_says() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for key in ("version", "license", "keywords"):
        assert cited[key] == project[key]
    page = shown("citing.md")
    assert f"version = {{{project['version']}}}" in page and len(cited["references"]) == 5
    plain = " ".join(re.sub(r"[{}]", "", page).split())
    for paper in cited["references"]:
        authors = " and ".join(f"{one['family-names']}, {one['given-names']}" for one in paper["authors"])
        assert paper["title"] in plain and authors in plain and paper["url"] in page
        (identifier,) = paper["identifiers"]
        assert f"[{identifier['value']}]({paper['url']})" in page
        assert identifier["value"].removeprefix("arXiv:") in README
