"""`python -m eyechart.evaluators` is the `eyechart` command."""

from eyechart.evaluators.cli import main

main()
