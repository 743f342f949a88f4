"""The report of three real runs, in a browser: answers side by side, and where the models disagree."""

import re

import pytest
import torch
from selenium.webdriver.common.by import By
from transformers import AutoModelForImageTextToText, AutoProcessor
from typer.testing import CliRunner

from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.cli import app
from eyechart.evaluators.report import write_report
from eyechart.evaluators.results.finished_runs import read_runs
from tests.browser.conftest import narrow, unfolded

pytestmark = pytest.mark.slow

NOISE = {"good": 0.0, "fair": 0.2, "poor": 0.5}
"""Noise added to the bundled model's weights, in standard deviations of each."""
TASKS = ("q_bench/perception", "two_afc/coarse", "ql_bench/single")
QUESTIONS = 40


def invoke(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
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
        invoke("run", *TASKS, *of_model, "--limit", QUESTIONS)
    return [folder / f"{name}-run" for name in NOISE]


@pytest.fixture(scope="module")
def report(runs, tmp_path_factory):
    return write_report(runs, tmp_path_factory.mktemp("report"), files=False)


@pytest.fixture(scope="module")
def answers(runs):
    """The models' answers to each question of the first task, by the question's id."""
    of_runs = [next(run.answers(key) for key in run.tasks if key.task == TASKS[0]) for run in read_runs(runs)]
    found = [{row["id"]: row for row in of_run.rows()} for of_run in of_runs]
    return {id: [of_run[id] for of_run in found] for id in found[0]}


def rows(driver):
    return driver.find_elements(By.CSS_SELECTOR, "#samples-table tbody tr")


def test_a_question_is_one_row_with_the_answers_of_all_models(opened, answers, screenshot):
    driver = opened(1280, 900)
    heads = [head.text for head in driver.find_elements(By.CSS_SELECTOR, "#samples-table thead th")]
    assert heads == ["image", "question and options", *NOISE]
    row = rows(driver)[0]
    question, *replies = [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")][1:]
    found = answers[row.get_attribute("data-id")]
    assert found[0]["question"] in question
    for reply, answer in zip(replies, found, strict=True):
        assert answer["text"].strip() in reply and ("incorrect" not in reply) == answer["correct"]
    driver.execute_script("document.getElementById('samples').scrollIntoView({behavior: 'instant'})")
    screenshot(driver, "side_by_side")


def test_the_filter_leaves_questions_on_which_models_disagree(opened, answers):
    driver = opened(1280, 900)
    status = driver.find_element(By.ID, "samples-status")
    total = int(status.text.split()[0])
    box = driver.find_element(By.CSS_SELECTOR, '[data-filter="disagree"]')
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", box)
    box.click()
    left = int(status.text.split()[0])
    assert status.text == f"{left} of {total} questions" and left < total
    asked = [row for row in rows(driver) if row.get_attribute("data-id") in answers]
    assert asked
    for row in asked:
        assert len({answer["choice"] for answer in answers[row.get_attribute("data-id")]}) > 1


def test_the_tests_of_the_runs_are_there(opened):
    text = opened(1280, 900).find_element(By.ID, "comparison").text
    assert re.search(r"good scored higher than poor \(p [<=] 0\.0", text)


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(opened, axe, screenshot, dark):
    driver = opened(1280, 900, dark=dark)
    screenshot(driver, "dark" if dark else "light")
    assert axe(unfolded(driver)) == []


def test_a_narrow_screen_is_not_wider_than_itself(opened, screenshot):
    driver = opened(390, 800)
    assert narrow(driver, 390)
    driver.execute_script("document.getElementById('samples').scrollIntoView({behavior: 'instant'})")
    screenshot(driver, "narrow")
