"""The questions of circular_tsv.yaml with a custom prompt."""

from eyechart.evaluators import IMAGE, MultipleChoice, Task, TaskData


def ask(row):
    """The image, the question and the options as one sentence."""
    return (IMAGE, f"{row['question']} Answer with one of: {', '.join(row['options'])}.")


COLUMNS = {"id": "index", "images": "image", "options": ["A", "B", "C", "D"]}
DATA = TaskData(path="my_questions.tsv", columns=COLUMNS)
PROTOCOL = MultipleChoice(prompts={"default": ask}, prompt_id="my_prompt/1")
TASK = Task(name="my_prompt", data=DATA, protocol=PROTOCOL, groups=("category",))
