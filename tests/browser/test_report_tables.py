"""The widest of the papers' tables, in a browser: no column is squeezed until it cannot be read."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from eyechart.evaluators.report import write_report
from eyechart.evaluators.tasks.q_bench import DATABASES, WORD_PAIRS
from tests.browser.conftest import narrow, unfolded
from tests.evaluators.finished_runs import evaluated, write

CORRELATIONS = {"srcc": -0.123, "plcc": -0.456}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    ways = {name: CORRELATIONS for name in ("argmax", *(pair.name for pair in WORD_PAIRS[1:]))}
    found = [
        evaluated(
            "q_bench/assessment",
            database,
            "test",
            scores=CORRELATIONS,
            variants=ways,
            settings={"word_pair": WORD_PAIRS[0].name},
        )
        for database in (*DATABASES, "average")
    ]
    with pytest.MonkeyPatch.context() as patch:
        # The results have no predictions.
        patch.setattr("eyechart.evaluators.results.finished_runs.check_agreement", lambda run: None)
        return write_report([write(folder, found)], files=False)


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_wide_tables_scroll_and_their_texts_are_whole(opened, screenshot, width, dark):
    driver = unfolded(opened(width, 900, dark=dark))
    tables = driver.find_elements(By.CSS_SELECTOR, ".papers-table table")
    assert len(tables) == 4
    line = tables[0].find_element(By.CSS_SELECTOR, "tbody td").size["height"]
    for table in tables:
        rows = table.find_elements(By.CSS_SELECTOR, "tbody tr")
        # Names may take two lines.
        assert all(row.size["height"] < 3 * line for row in rows), "a row is broken into many lines"
    assert narrow(driver, width)
    driver.execute_script("arguments[0].scrollIntoView()", tables[-1])
    screenshot(driver, f"{width}_{'dark' if dark else 'light'}")


@pytest.mark.parametrize("width", [390, 900])
def test_names_and_the_average_stay_in_sight_when_a_table_scrolls(opened, width):
    driver = unfolded(opened(width, 900))
    table = driver.find_element(By.CSS_SELECTOR, "[data-table$=table_4] .scroll")
    name, average = (table.find_element(By.CSS_SELECTOR, css) for css in ("tbody th", "tbody td.headline"))
    hint = "return getComputedStyle(document.querySelector(arguments[0]), '::before').content"
    assert "Scroll sideways" in driver.execute_script(hint, "[data-table$=table_4] .scroll")
    places = []
    for side in (0, 9999):
        driver.execute_script("arguments[0].scrollLeft = arguments[1]", table, side)
        places.append([round(name.rect["x"]), round(average.rect["x"] + average.rect["width"])])
    left, right = table.rect["x"], table.rect["x"] + table.rect["width"]
    assert all(begin == pytest.approx(left, abs=1) and right - 120 < end <= right + 1 for begin, end in places)
    assert average.text == "-0.123"
    # Wide enough, it needs no hint.
    driver = opened(2400, 900)
    driver.execute_script("document.body.style.maxWidth = 'none'")
    WebDriverWait(driver, 20).until(
        lambda _: not driver.find_elements(By.CSS_SELECTOR, "[data-table$=table_4] .scrolls")
    )


def test_they_fit_on_paper(report, browser):
    # A4 but for the margins.
    driver = browser(717, 900)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    driver.get(report.as_uri())
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    tables = driver.find_elements(By.CSS_SELECTOR, ".papers-table table")
    assert all(table.is_displayed() and table.rect["x"] + table.rect["width"] <= 717 for table in tables)
