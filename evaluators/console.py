"""Where the command line prints."""

from rich.console import Console

_PLAIN_WIDTH = 140


def console(*, stderr: bool = False) -> Console:
    """A console that, where it is no terminal, does not fold lines to the 80 columns of an imagined one."""
    found = Console(stderr=stderr)
    return found if found.is_terminal else Console(stderr=stderr, width=_PLAIN_WIDTH)
