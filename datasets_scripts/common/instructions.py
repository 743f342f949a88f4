"""How to get a release by hand: the numbered steps that errors end with."""

PASS_FOLDER = "Pass that folder as data_dir (command line: --data-dir)"
"""The last step for most releases."""


def numbered_steps(goal: str, *steps: str, otherwise: str = "") -> str:
    """Return instructions, one numbered step per line, with a line after them, for example another way.

    Examples:
        >>> print(numbered_steps("To get SPAQ", "Download it to a folder", PASS_FOLDER))
        To get SPAQ:
          1. Download it to a folder
          2. Pass that folder as data_dir (command line: --data-dir)
    """
    lines = [f"{goal}:", *(f"  {number}. {step}" for number, step in enumerate(steps, 1)), otherwise]
    return "\n".join(filter(None, lines))
