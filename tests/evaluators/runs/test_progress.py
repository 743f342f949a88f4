import io

from rich.console import Console

from eyechart.evaluators.runs.progress import RunProgress


def test_without_a_terminal_there_is_a_line_a_minute_with_the_time_left_over_all_tasks():
    now, to = [0.0], io.StringIO()
    progress = RunProgress(Console(file=to, width=140), [100, None, 300], lambda: now[0])
    # An unknown task counts as the mean of the others.
    assert progress.total == 600
    with progress:
        progress.begin(0, "a")
        for seconds, done in ((30, 20), (60, 50), (90, 70), (120, 100)):
            now[0] = float(seconds)
            progress.update(done, 100)
        progress.finish()
        progress.begin(1, "b")
        now[0] = 180.0
        progress.update(20, 20)
    # 50 of 600 answers took a minute, 100 two, and 120 of the 420 that are expected then three.
    assert to.getvalue().splitlines() == [
        "a: 50 of 600 answers of all tasks, about 11 min left",
        "a: 100 of 600 answers of all tasks, about 10 min left",
        "b: 120 of 420 answers of all tasks, about 8 min left",
    ]


def test_a_failed_task_is_no_longer_expected():
    progress = RunProgress(Console(file=io.StringIO()), [100, 300])
    progress.finish()
    assert progress.total == 300
