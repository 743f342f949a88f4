"""The report of three runs, in a browser: answers side by side, and where the models disagree."""

import dataclasses

import pytest
from selenium.webdriver.common.by import By

from eyechart.evaluators.report import write_report
from tests.evaluators.finished_runs import write
from tests.evaluators.report.conftest import PERCEPTION, choice

pytestmark = pytest.mark.slow

NAMES = ("good", "fair", "poor")
RIGHT = (36, 35, 10)
QUESTIONS = 40


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    runs = []
    for name, right in zip(NAMES, RIGHT, strict=True):
        letters = ["A" if place < right else "B" for place in range(QUESTIONS)]
        predictions = [choice(f"q{place}", letter, choice=letter) for place, letter in enumerate(letters)]
        scores = {**PERCEPTION.scores, "accuracy": right / QUESTIONS}
        one = dataclasses.replace(PERCEPTION, model=name, scores=scores, predictions=predictions)
        runs.append(write(folder / name, [one]))
    return write_report(runs, folder / "report", files=False)


@pytest.fixture
def opened(report, browser, console_errors):
    drivers = []

    def start(*size, dark=False):
        drivers.append(browser(*size, dark=dark))
        drivers[-1].get(report.as_uri())
        return drivers[-1]

    yield start
    for driver in drivers:
        assert console_errors(driver) == []


def rows(driver):
    return driver.find_elements(By.CSS_SELECTOR, "#samples-table tbody tr")


def test_a_question_is_one_row_with_the_answers_of_all_models(opened, screenshot):
    driver = opened(1280, 900)
    heads = [head.text for head in driver.find_elements(By.CSS_SELECTOR, "#samples-table thead th")]
    assert heads == ["image", "question and options", *NAMES]
    first = [cell.text for cell in rows(driver)[0].find_elements(By.CSS_SELECTOR, "td")]
    assert "Is q10 sharp?" in first[1]
    assert [text.startswith(start) for text, start in zip(first[2:], ("A. Yes", "A. Yes", "B. No"), strict=True)]
    assert ["right" in text for text in first[2:]] == [True, True, False]
    driver.execute_script("document.getElementById('samples').scrollIntoView({behavior: 'instant'})")
    screenshot(driver, "side_by_side")


def test_the_filter_leaves_questions_on_which_models_disagree(opened):
    driver = opened(1280, 900)
    status = driver.find_element(By.ID, "samples-status")
    assert status.text == f"{QUESTIONS} of {QUESTIONS} questions"
    box = driver.find_element(By.CSS_SELECTOR, '[data-filter="disagree"]')
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", box)
    box.click()
    # Where the best is right and the worst is wrong.
    assert status.text == f"{RIGHT[0] - RIGHT[2]} of {QUESTIONS} questions"
    assert rows(driver)[0].get_attribute("data-id") == "q10"


def test_the_tests_of_the_runs_are_there(opened):
    text = opened(1280, 900).find_element(By.ID, "comparison").text
    assert "good above poor (p < 0.0001); fair above poor (p < 0.0001)" in text


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(opened, axe, screenshot, dark):
    driver = opened(1280, 900, dark=dark)
    screenshot(driver, "dark" if dark else "light")
    driver.execute_script("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert axe(driver) == []


def test_a_narrow_screen_is_not_wider_than_itself(opened, screenshot):
    driver = opened(390, 800)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    driver.execute_script("document.getElementById('samples').scrollIntoView({behavior: 'instant'})")
    screenshot(driver, "narrow")
