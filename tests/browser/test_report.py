"""Reports in a browser: of a real run of four tasks, of two real runs, and with the widest of the papers' tables."""

import json
import re
from base64 import b64decode

import pytest
import torch
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait
from transformers import AutoModelForImageTextToText, AutoProcessor
from typer.testing import CliRunner

from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.report import write_report
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.tasks import get_task
from eyechart.evaluators.tasks.q_bench import DATABASES, WORD_PAIRS
from tests.browser.conftest import narrow, press, unfolded
from tests.evaluators.finished_runs import evaluated, write

pytestmark = pytest.mark.slow

NOISE = {"good": 0.0, "poor": 0.5}
"""Noise added to the bundled model's weights, in standard deviations of each."""
TASKS = ("q_bench/perception", "ql_bench/single", "q_bench/description", "two_afc/coarse")
LIMIT = 30
PAGE = 25
ROWS = "[...document.querySelectorAll('#samples-table tbody tr')]"
CORRELATIONS = {"srcc": -0.123, "plcc": -0.456}


def invoke(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, noise in NOISE.items():
        model = AutoModelForImageTextToText.from_pretrained(tiny_vlm.folder())
        drawn = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter += noise * parameter.std() * torch.randn(parameter.shape, generator=drawn)
        model.save_pretrained(folder / name)
        AutoProcessor.from_pretrained(tiny_vlm.folder()).save_pretrained(folder / name)
        of_model = ("--model", folder / name, "--name", name, "--mini", "--out", folder / f"{name}-run")
        with pytest.MonkeyPatch.context() as patch:
            # Only that of the first run is opened.
            if noise:
                patch.setattr("eyechart.evaluators.runs.run._write_report", lambda *arguments: True)
            invoke("run", *TASKS[: 1 if noise else None], *of_model, "--limit", LIMIT)
    return [folder / f"{name}-run" for name in NOISE]


@pytest.fixture(scope="module")
def report(runs):
    return runs[0] / "report.html"


@pytest.fixture(scope="module")
def report_of_two(runs, tmp_path_factory):
    return write_report(runs, tmp_path_factory.mktemp("report"), files=False)


@pytest.fixture(scope="module")
def wide_report(tmp_path_factory):
    """With the papers' widest tables, which have two scores of seven databases."""
    folder = tmp_path_factory.mktemp("wide")
    ways = {name: CORRELATIONS for name in ("argmax", *(pair.name for pair in WORD_PAIRS[1:]))}
    settings = {"word_pair": WORD_PAIRS[0].name}
    results = [
        evaluated("q_bench/assessment", name, "test", scores=CORRELATIONS, variants=ways, settings=settings)
        for name in (*DATABASES, "average")
    ]
    with pytest.MonkeyPatch.context() as patch:
        # The results have no predictions.
        patch.setattr("eyechart.evaluators.results.finished_runs.check_agreement", lambda run: None)
        return write_report([write(folder, results)], files=False)


def by_id(driver, id):
    return driver.find_element(By.ID, id)


def shown(driver):
    return driver.find_elements(By.CSS_SELECTOR, "#samples-table tbody tr")


def ids(driver):
    return driver.execute_script(f"return {ROWS}.map((row) => row.dataset.id)")


def texts(driver):
    return driver.execute_script(f"return {ROWS}.map((row) => row.innerText)")


def shortened(driver):
    """The page with a few rows in each table: axe-core takes long, and rows are alike."""
    driver.execute_script("document.querySelectorAll('tr:nth-child(n+5)').forEach((row) => row.remove())")
    return driver


def carried(driver):
    """The samples in the page's data."""
    return json.loads(by_id(driver, "samples-data").get_attribute("textContent"))["samples"]


def choose_task(driver, title):
    """Show only the samples of the task with this title."""
    tasks = Select(by_id(driver, "samples-task"))
    tasks.select_by_index(next(place for place, option in enumerate(tasks.options) if title in option.text))


def test_it_opens_with_scores_figures_and_samples_and_asks_no_network(opened, report):
    driver = opened(report, 1200, 900)
    first, *_ = json.loads(report.with_name("results.json").read_text())["tasks"]
    value, (low, high) = (first["scores"][name] for name in ("accuracy", "accuracy_ci95"))
    card = driver.find_element(By.CSS_SELECTOR, ".card .score")
    assert f"{100 * value:.2f} %" in card.text and f"{100 * low:.2f} to {100 * high:.2f} %" in card.text
    marks = [card.find_element(By.CSS_SELECTOR, f".strip .{name}").rect for name in ("chance", "between", "dot")]
    assert marks[0]["x"] < marks[1]["x"] < marks[2]["x"] < marks[1]["x"] + marks[1]["width"]
    ticks = card.find_elements(By.CSS_SELECTOR, ".strip .tick span")
    assert [tick.text for tick in ticks] == ["0", "50", "100 %"]
    assert ticks[0].rect["x"] < marks[2]["x"] < ticks[2].rect["x"] + ticks[2].rect["width"]
    figures = driver.find_elements(By.CSS_SELECTOR, ".task-body > .figures figure[data-chart] svg")
    assert figures and all(figure.size["height"] > 100 for figure in figures)
    assert len(ids(driver)) == PAGE
    pictures = driver.find_elements(By.CSS_SELECTOR, "#samples-table img")
    loaded = "return arguments[0].complete && arguments[0].naturalWidth > 0"
    assert pictures and all(driver.execute_script(loaded, picture) for picture in pictures)
    assert by_id(driver, "settings").text and by_id(driver, "left-out").text
    entries = driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in entries if not name.startswith(("data:", "blob:", report.parent.as_uri()))] == []


def test_links_lead_to_their_headings_at_once(opened, report):
    driver = opened(report, 390, 900)
    links = driver.find_elements(By.CSS_SELECTOR, "nav a")
    assert len(links) == 6
    for link in links:
        driver.execute_script("scrollTo(0, 0)")
        link.click()
        target = link.get_attribute("hash")
        top, below = driver.execute_script(
            "return [Math.round(document.querySelector(arguments[0]).getBoundingClientRect().y), "
            "document.documentElement.scrollHeight - innerHeight - scrollY]",
            f"{target} h2",
        )
        assert 0 <= top <= 150 or (top > 0 and below <= 1), target


def test_a_narrow_screen_is_not_wider_than_itself_and_texts_of_figures_are_12_pixels_high(opened, report):
    driver = opened(report, 390, 800)
    assert narrow(driver, 390)
    sizes = unfolded(driver).execute_script(
        "return Array.from(document.querySelectorAll('figure svg')).flatMap((svg) => "
        "Array.from(svg.querySelectorAll('text')).map((text) => parseFloat(getComputedStyle(text).fontSize) * "
        "svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))"
    )
    assert len(sizes) > 50 and min(sizes) >= 12


def test_a_paper_s_table_is_open_beside_its_figure_and_closed_below_it(opened, report):
    table = "details[data-table$=table_7]"
    driver = opened(report, 1200, 900)
    open_one = driver.find_element(By.CSS_SELECTOR, table)
    figure = driver.find_element(By.CSS_SELECTOR, ".task-body figure")
    assert open_one.get_attribute("open") and open_one.rect["x"] > figure.rect["x"] + figure.rect["width"]
    assert len(open_one.find_elements(By.CSS_SELECTOR, "tbody.published tr")) == 15
    assert not opened(report, 390, 800).find_element(By.CSS_SELECTOR, table).get_attribute("open")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_and_dark_mode_is_dark(opened, report, axe, dark):
    driver = opened(report, 1200, 900, dark=dark)
    colour = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in re.findall(r"\d+", colour)[:3]) < 382) == dark
    assert axe(shortened(unfolded(driver))) == []
    driver.execute_script("document.querySelector('#samples-table .enlarge').click()")
    assert by_id(driver, "samples-large").is_displayed() and axe(driver, "#samples-large") == []


def test_filters_leave_what_they_say(opened, report):
    driver = opened(report, 1200, 900)
    matching = {
        "wrong": lambda sample: sample.get("correct") is False,
        "unparsed": lambda sample: sample["step"] == "unparseable",
        "judged": lambda sample: sample["step"] in ("judge", "scored as text") or "judge_scores" in sample,
    }
    for kind, holds in matching.items():
        expected = [sample["id"] for sample in carried(driver) if holds(sample)]
        box = driver.find_element(By.CSS_SELECTOR, f'#samples [data-filter="{kind}"]')
        driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", box)
        box.click()
        assert ids(driver) == expected[:PAGE]
        assert by_id(driver, "samples-status").text.startswith(f"{len(expected)} of ")
        box.click()


def test_tasks_and_words_narrow_the_samples(opened, report):
    driver = opened(report, 1200, 900)
    samples = carried(driver)
    tasks = Select(by_id(driver, "samples-task"))
    # Not the first task's, which are on the first page anyway.
    tasks.select_by_index(3)
    expected = [sample["id"] for sample in samples if sample["task"] == 2]
    assert ids(driver) == expected[:PAGE]
    assert all("A2 Description" in text for text in texts(driver))
    marked = [sample["id"] for sample in samples if "completeness" in sample.get("judge_scores", ())]
    found = [name for name, text in zip(expected, texts(driver), strict=False) if "completeness" in text]
    assert found == [name for name in expected[:PAGE] if name in marked]
    assert len(marked) > PAGE
    assert by_id(driver, "samples-status").text == f"{len(expected)} of {len(samples)} samples"
    tasks.select_by_index(1)
    assert all("A1 Perception" in text for text in texts(driver))
    word = samples[0]["id"]
    tasks.select_by_index(0)
    by_id(driver, "samples-search").send_keys(word)
    assert {*ids(driver)} == {word}


def test_pages_turn_by_keyboard(opened, report):
    driver = opened(report, 1200, 900)
    before = ids(driver)
    driver.execute_script("arguments[0].focus()", by_id(driver, "samples-next"))
    press(driver, Keys.ENTER)
    after = ids(driver)
    assert after and after != before and by_id(driver, "samples-page").text.startswith("page 2 of ")
    driver.execute_script("arguments[0].focus()", by_id(driver, "samples-previous"))
    press(driver, Keys.SPACE)
    assert ids(driver) == before


def test_every_control_is_reached_by_tab(opened, report):
    driver = opened(report, 1200, 900)
    note = "({ target }) => seen.push(target.id || target.dataset.filter)"
    driver.execute_script(f"window.seen = []; addEventListener('focusin', {note})")
    press(driver, Keys.TAB * 150)
    seen = driver.execute_script("return seen")
    assert {"wrong", "unparsed", "judged", "samples-task", "samples-search", "samples-next"} <= {*seen}


def test_every_sample_shows_what_the_model_was_asked(opened, report):
    driver = opened(report, 1200, 900)
    choose_task(driver, "A1 Perception")
    first = shown(driver)[0]
    sample = next(one for one in carried(driver) if one["id"] == first.get_attribute("data-id"))
    first.find_element(By.XPATH, ".//summary[text()='prompt']").click()
    asked = sample["prompt"]
    assert asked.startswith("USER: ") and asked.split() == first.find_element(By.CSS_SELECTOR, ".raw").text.split()
    # Without a question of their own, samples show the prompt in its place.
    for title, words in (
        ("A2 Description", "Describe the quality"),
        ("2AFC", "Which image has a better visual quality?"),
    ):
        choose_task(driver, title)
        cells = driver.find_elements(By.CSS_SELECTOR, "#samples-table td:nth-child(2)")
        assert len(cells) == PAGE and all(words in cell.text for cell in cells)


def test_a_pair_whose_order_flipped_shows_both_orders(opened, tmp_path):
    """A model that always names the first image; nobody knows what it was asked."""
    rows = load_data(get_task("two_afc/coarse"), DataRequest(is_mini=True)).dataset.select(range(4))
    answers = [{"id": id, "pass": name, "text": "A"} for id in rows["id"] for name in ("main", "reversed")]
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    command = ["score", "two_afc/coarse", "--mini", "--limit", "4", "--predictions", str(tmp_path / "answers.jsonl")]
    invoke(*command, "--out", tmp_path / "run")
    driver = opened(tmp_path / "run" / "report.html", 1200, 900)
    assert len(shown(driver)) == 4
    for row in shown(driver):
        _, asked, replies, parsed = (cell.text.splitlines() for cell in row.find_elements(By.TAG_NAME, "td"))
        assert "prompt unknown" in asked and replies == ["images 1, 2", "A", "images 2, 1", "A"]
        assert parsed[:3] == ["images 1, 2: image 1", "images 2, 1: image 2", "inconsistent"]
    assert not driver.find_element(By.CSS_SELECTOR, '[data-filter="judged"]').is_displayed()


def test_images_open_large_by_mouse_and_keyboard(opened, report):
    driver = opened(report, 390, 900)
    choose_task(driver, "2AFC")
    opener = driver.find_element(By.CSS_SELECTOR, "#samples-table .enlarge")
    small = [image.size for image in opener.find_elements(By.TAG_NAME, "img")]
    large = by_id(driver, "samples-large")
    assert len(small) == 2 and not large.is_displayed()
    driver.execute_script("arguments[0].focus()", opener)
    press(driver, Keys.ENTER)
    images = large.find_elements(By.TAG_NAME, "img")
    assert len(images) == 2 and all(image.size["width"] > 2.5 * small[0]["width"] for image in images)
    box = large.rect
    assert box["width"] <= 390 and box["height"] <= 900
    press(driver, Keys.ESCAPE)
    assert not large.is_displayed() and driver.switch_to.active_element == opener
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", opener)
    opener.click()
    assert large.is_displayed()
    large.find_element(By.TAG_NAME, "button").click()
    assert not large.is_displayed()


def test_what_is_for_the_screen_is_not_on_paper(opened, report):
    driver = opened(report, 1200, 900)
    pdf = b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})["data"])
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 9
    before = driver.find_elements(By.CSS_SELECTOR, ".papers-table[open]")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    names = (".papers-table table", "#left-out details", "#settings table", "#samples-controls", "nav", ".paper")
    visible = {name: [part.is_displayed() for part in driver.find_elements(By.CSS_SELECTOR, name)] for name in names}
    on_paper = {".papers-table table", "#left-out details", ".paper"}
    assert {name for name, parts in visible.items() if any(parts)} == on_paper
    assert all(visible[".papers-table table"]) and all(visible["#left-out details"])
    driver.execute_script("document.querySelector('#settings details').open = true")
    assert driver.find_element(By.CSS_SELECTOR, "#settings table").is_displayed()
    driver.execute_script("dispatchEvent(new Event('afterprint'))")
    assert len(driver.find_elements(By.CSS_SELECTOR, ".papers-table[open]")) == len(before)


@pytest.fixture(scope="module")
def answers(runs):
    """The models' answers to each question of the first task, by the question's id."""
    of_runs = [next(run.answers(key) for key in run.tasks if key.task == TASKS[0]) for run in read_runs(runs)]
    by_id = [{row["id"]: row for row in of_run.rows()} for of_run in of_runs]
    return {id: [of_run[id] for of_run in by_id] for id in by_id[0]}


def test_with_several_runs_a_question_is_one_row_with_the_answers_of_all_models(opened, report_of_two, answers):
    driver = opened(report_of_two, 1280, 900)
    assert re.search(r"good scored higher than poor \(p [<=] 0\.0", by_id(driver, "comparison").text)
    heads = [head.text for head in driver.find_elements(By.CSS_SELECTOR, "#samples-table thead th")]
    assert heads == ["image", "question and options", *NOISE]
    row = shown(driver)[0]
    question, *replies = [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")][1:]
    expected = answers[row.get_attribute("data-id")]
    assert expected[0]["question"] in question
    for reply, answer in zip(replies, expected, strict=True):
        assert answer["text"].strip() in reply and ("incorrect" not in reply) == answer["correct"]
    # The filter leaves the questions on which the models disagree.
    status = by_id(driver, "samples-status")
    total = int(status.text.split()[0])
    box = driver.find_element(By.CSS_SELECTOR, '[data-filter="disagree"]')
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", box)
    box.click()
    left = int(status.text.split()[0])
    assert status.text == f"{left} of {total} questions" and left < total
    both = [answers[id] for id in ids(driver) if id in answers]
    assert both and all(len({answer["choice"] for answer in given}) > 1 for given in both)


def test_with_several_runs_axe_finds_nothing_on_a_narrow_screen(opened, report_of_two, axe):
    driver = shortened(unfolded(opened(report_of_two, 390, 800, dark=True)))
    assert narrow(driver, 390)
    assert axe(driver, "#comparison") == axe(driver, "#samples") == []


def test_names_and_the_average_stay_in_sight_when_a_wide_table_scrolls(opened, wide_report):
    driver = unfolded(opened(wide_report, 390, 900))
    tables = driver.find_elements(By.CSS_SELECTOR, ".papers-table table")
    assert len(tables) == 5 and narrow(driver, 390)
    line = tables[0].find_element(By.CSS_SELECTOR, "tbody td").size["height"]
    heights = "return [...document.querySelectorAll('.papers-table tbody tr')].map((row) => row.offsetHeight)"
    # Names may take two lines.
    assert max(driver.execute_script(heights)) < 3 * line, "a row is broken into many lines"
    scroll = "[data-table$=table_4] .scroll"
    table = driver.find_element(By.CSS_SELECTOR, scroll)
    name, average = (table.find_element(By.CSS_SELECTOR, css) for css in ("tbody th", "tbody td.headline"))
    hint = "return getComputedStyle(document.querySelector(arguments[0]), '::before').content"
    WebDriverWait(driver, 30).until(lambda driver: "Scroll sideways" in driver.execute_script(hint, scroll))
    places = []
    for side in (0, 9999):
        driver.execute_script("arguments[0].scrollLeft = arguments[1]", table, side)
        places.append([round(name.rect["x"]), round(average.rect["x"] + average.rect["width"])])
    left, right = table.rect["x"], table.rect["x"] + table.rect["width"]
    assert all(begin == pytest.approx(left, abs=1) and right - 120 < end <= right + 1 for begin, end in places)
    assert average.text == "-0.123"
    # Wide enough, it needs no hint.
    driver = opened(wide_report, 2400, 900)
    driver.execute_script("document.body.style.maxWidth = 'none'")
    WebDriverWait(driver, 20).until(lambda _: not driver.find_elements(By.CSS_SELECTOR, f"{scroll}s"))


def test_wide_tables_fit_on_paper(opened, wide_report):
    # A4 but for the margins.
    driver = opened(wide_report, 717, 900)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    tables = driver.find_elements(By.CSS_SELECTOR, ".papers-table table")
    assert all(table.is_displayed() and table.rect["x"] + table.rect["width"] <= 717 for table in tables)
