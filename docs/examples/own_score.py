"""Photos whose opinion score the model estimates, scored by a function."""

from eyechart.evaluators import IMAGE, Description, Task, TaskData


def closeness(prediction, row):
    """1 for the opinion score; 0 if it is missed by 4 points, or without a number."""
    numbers = [float(word) for word in prediction.split() if word.isdecimal()]
    return max(0, 1 - abs(numbers[0] - float(row["description"])) / 4) if numbers else 0


DATA = TaskData(path="my_photos.csv", columns={"image": "file", "description": "mos"})
ASK = {"default": lambda row: (IMAGE, "Rate the image from 1 to 5 with a number.")}
PROTOCOL = Description(prompts=ASK, prompt_id="my_ratings/1")
TASK = Task(name="my_ratings", data=DATA, protocol=PROTOCOL, score=closeness)
