"""The report of a real run of four tasks, in a browser."""

import json
import re
from base64 import b64decode

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import get_task
from tests.browser.conftest import narrow, press, unfolded

pytestmark = pytest.mark.slow

TASKS = ("q_bench/perception", "ql_bench/single", "q_bench/description", "two_afc/coarse")
LIMIT = 40
PAGE = 25


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "run"
    done = CliRunner().invoke(app, ["run", *TASKS, "--limit", str(LIMIT), "--out", str(folder)])
    assert done.exit_code == 0, done.output
    return folder / "report.html"


def by_id(driver, id):
    return driver.find_element(By.ID, id)


def shown(driver):
    return driver.find_elements(By.CSS_SELECTOR, "#samples-table tbody tr")


def carried(driver):
    """The samples in the page's data."""
    return json.loads(by_id(driver, "samples-data").get_attribute("textContent"))["samples"]


def choose_task(driver, title):
    """Show only the samples of the task with this title."""
    tasks = Select(by_id(driver, "samples-task"))
    tasks.select_by_index(next(place for place, option in enumerate(tasks.options) if title in option.text))


def test_it_opens_with_scores_figures_and_samples_and_asks_no_network(opened, report, screenshot):
    driver = opened(1200, 900)
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
    assert len(shown(driver)) == PAGE
    pictures = driver.find_elements(By.CSS_SELECTOR, "#samples-table img")
    loaded = "return arguments[0].complete && arguments[0].naturalWidth > 0"
    assert pictures and all(driver.execute_script(loaded, picture) for picture in pictures)
    assert by_id(driver, "settings").text and by_id(driver, "left-out").text
    screenshot(driver, "top")
    driver.execute_script("document.getElementById('samples').scrollIntoView({behavior: 'instant'})")
    screenshot(driver, "samples")
    entries = driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in entries if not name.startswith(("data:", "blob:", report.parent.as_uri()))] == []


@pytest.mark.parametrize("width", [390, 1280])
def test_links_lead_to_their_headings_at_once(opened, width):
    driver = opened(width, 900)
    links = [link.get_attribute("hash") for link in driver.find_elements(By.CSS_SELECTOR, "nav a")]
    assert len(links) == 6
    for target in links:
        driver = opened(width, 900)
        driver.find_element(By.CSS_SELECTOR, f'nav a[href="{target}"]').click()
        heading = driver.find_element(By.CSS_SELECTOR, f"{target} h2")
        top, below = driver.execute_script(
            "return [Math.round(arguments[0].getBoundingClientRect().y), "
            "document.documentElement.scrollHeight - innerHeight - scrollY]",
            heading,
        )
        assert 0 <= top <= 150 or (top > 0 and below <= 1), target


@pytest.mark.parametrize("width", [390, 1200])
def test_texts_of_figures_are_12_pixels_high(opened, width):
    driver = unfolded(opened(width, 900))
    sizes = driver.execute_script(
        "return Array.from(document.querySelectorAll('figure svg')).flatMap((svg) => "
        "Array.from(svg.querySelectorAll('text')).map((text) => parseFloat(getComputedStyle(text).fontSize) * "
        "svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))"
    )
    assert len(sizes) > 50 and min(sizes) >= 12


def test_a_paper_s_table_is_open_beside_its_figure_and_closed_below_it(opened):
    table = "details[data-table$=table_7]"
    driver = opened(1200, 900)
    open_one = driver.find_element(By.CSS_SELECTOR, table)
    figure = driver.find_element(By.CSS_SELECTOR, ".task-body figure")
    assert open_one.get_attribute("open") and open_one.rect["x"] > figure.rect["x"] + figure.rect["width"]
    assert len(open_one.find_elements(By.CSS_SELECTOR, "tbody.published tr")) == 15
    summaries = open_one.find_elements(By.XPATH, "../details/summary")
    assert [part.text.rstrip(" ()0123456789") for part in summaries[1:]] == [
        "All scores",
        "More tables",
        "More figures",
    ]
    assert not opened(390, 800).find_element(By.CSS_SELECTOR, table).get_attribute("open")


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(opened, axe, screenshot, dark):
    driver = opened(1200, 900, dark=dark)
    screenshot(driver, "dark" if dark else "light")
    assert axe(unfolded(driver)) == []
    driver.execute_script("document.querySelector('#samples-table .enlarge').click()")
    assert by_id(driver, "samples-large").is_displayed() and axe(driver) == []


@pytest.mark.parametrize("kind", ["wrong", "unparsed", "judged"])
def test_filters_leave_what_they_say(opened, kind):
    driver = opened(1200, 900)
    matching = {
        "wrong": lambda sample: sample.get("correct") is False,
        "unparsed": lambda sample: sample["step"] == "unparseable",
        "judged": lambda sample: sample["step"] in ("judge", "scored as text") or "judge_scores" in sample,
    }
    expected = [sample["id"] for sample in carried(driver) if matching[kind](sample)]
    box = driver.find_element(By.CSS_SELECTOR, f'#samples [data-filter="{kind}"]')
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", box)
    box.click()
    assert [row.get_attribute("data-id") for row in shown(driver)] == expected[:PAGE]
    assert by_id(driver, "samples-status").text.startswith(f"{len(expected)} of ")


def test_tasks_and_words_narrow_the_samples(opened):
    driver = opened(1200, 900)
    samples = carried(driver)
    tasks = Select(by_id(driver, "samples-task"))
    # Not the first task's, which are on the first page anyway.
    tasks.select_by_index(3)
    expected = [sample["id"] for sample in samples if sample["task"] == 2]
    assert [row.get_attribute("data-id") for row in shown(driver)] == expected[:PAGE]
    assert all("A2 Description" in row.text for row in shown(driver))
    marked = [sample["id"] for sample in samples if "completeness" in sample.get("judge_scores", ())]
    assert [row.get_attribute("data-id") for row in shown(driver) if "completeness" in row.text] == [
        name for name in expected[:PAGE] if name in marked
    ]
    assert len(marked) > PAGE
    assert by_id(driver, "samples-status").text == f"{len(expected)} of {len(samples)} samples"
    tasks.select_by_index(1)
    assert all("A1 Perception" in row.text for row in shown(driver))
    word = samples[0]["id"]
    tasks.select_by_index(0)
    by_id(driver, "samples-search").send_keys(word)
    assert {row.get_attribute("data-id") for row in shown(driver)} == {word}


def test_pages_turn_by_keyboard(opened):
    driver = opened(1200, 900)
    before = [row.get_attribute("data-id") for row in shown(driver)]
    driver.execute_script("arguments[0].focus()", by_id(driver, "samples-next"))
    press(driver, Keys.ENTER)
    after = [row.get_attribute("data-id") for row in shown(driver)]
    assert after and after != before and by_id(driver, "samples-page").text.startswith("page 2 of ")
    driver.execute_script("arguments[0].focus()", by_id(driver, "samples-previous"))
    press(driver, Keys.SPACE)
    assert [row.get_attribute("data-id") for row in shown(driver)] == before


def test_every_control_is_reached_by_tab(opened):
    driver = opened(1200, 900)
    reached = set()
    for _ in range(150):
        press(driver, Keys.TAB)
        focused = driver.switch_to.active_element
        reached.add(focused.get_attribute("id") or focused.get_attribute("data-filter"))
    assert {"wrong", "unparsed", "judged", "samples-task", "samples-search", "samples-next"} <= reached


def test_every_sample_shows_what_the_model_was_asked(opened):
    driver = opened(1200, 900)
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


def test_a_pair_whose_order_flipped_shows_both_orders(browser, tmp_path):
    """A model that always names the first image; nobody knows what it was asked."""
    rows = load_data(get_task("two_afc/coarse"), DataRequest(is_mini=True)).dataset.select(range(4))
    answers = [{"id": id, "pass": name, "text": "A"} for id in rows["id"] for name in ("main", "reversed")]
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    command = ["score", "two_afc/coarse", "--mini", "--limit", "4", "--predictions", str(tmp_path / "answers.jsonl")]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    driver = browser(1200, 900)
    driver.get((tmp_path / "run" / "report.html").as_uri())
    assert len(shown(driver)) == 4
    for row in shown(driver):
        _, asked, replies, parsed = (cell.text.splitlines() for cell in row.find_elements(By.TAG_NAME, "td"))
        assert "prompt unknown" in asked and replies == ["images 1, 2", "A", "images 2, 1", "A"]
        assert parsed[:3] == ["images 1, 2: image 1", "images 2, 1: image 2", "inconsistent"]
    assert not driver.find_element(By.CSS_SELECTOR, '[data-filter="judged"]').is_displayed()


@pytest.mark.parametrize("width", [390, 1280])
def test_images_open_large_by_mouse_and_keyboard(opened, screenshot, width):
    driver = opened(width, 900)
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
    assert box["width"] <= width and box["height"] <= 900
    screenshot(driver, "large")
    press(driver, Keys.ESCAPE)
    assert not large.is_displayed() and driver.switch_to.active_element == opener
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", opener)
    opener.click()
    assert large.is_displayed()
    large.find_element(By.TAG_NAME, "button").click()
    assert not large.is_displayed()


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_screen_is_not_wider_than_itself(opened, screenshot, dark):
    driver = opened(400, 800, dark=dark)
    assert narrow(driver, 400)
    colour = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")[:3]) > 382
    assert light != dark
    screenshot(driver, "narrow_dark" if dark else "narrow")
    driver.execute_script("document.getElementById('samples').scrollIntoView({behavior: 'instant'})")
    screenshot(driver, "narrow_samples_dark" if dark else "narrow_samples")


def test_it_is_printed_with_the_papers_tables_and_without_all_settings(opened):
    driver = opened(1200, 900)
    # Heard after the page's own.
    driver.execute_script(
        "const open = () => Array.from(document.querySelectorAll('details[open]'));"
        "addEventListener('beforeprint', () => { window.printed = open().map((part) => part.closest('section').id); });"
    )
    pdf = b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})["data"])
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 9
    tables = driver.find_elements(By.CSS_SELECTOR, "details.print:has(.papers-table table)")
    printed = driver.execute_script("return window.printed")
    assert tables and sum(part.startswith("paper-") for part in printed) >= len(tables) and "settings" not in printed
    assert not all(table.get_attribute("open") for table in tables)


def test_what_is_for_the_screen_is_not_on_paper(opened):
    driver = opened(1200, 900)
    before = driver.find_elements(By.CSS_SELECTOR, ".papers-table[open]")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    visible = {
        name: [found.is_displayed() for found in driver.find_elements(By.CSS_SELECTOR, name)]
        for name in (
            ".papers-table table",
            "#left-out details",
            "#settings table",
            "#samples-controls",
            "nav",
            ".paper",
        )
    }
    assert {name for name, found in visible.items() if any(found)} == {
        ".papers-table table",
        "#left-out details",
        ".paper",
    }
    assert all(visible[".papers-table table"]) and all(visible["#left-out details"])
    driver.execute_script("document.querySelector('#settings details').open = true")
    assert driver.find_element(By.CSS_SELECTOR, "#settings table").is_displayed()
    driver.execute_script("dispatchEvent(new Event('afterprint'))")
    assert len(driver.find_elements(By.CSS_SELECTOR, ".papers-table[open]")) == len(before)
