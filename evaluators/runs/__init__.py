"""Complete runs: planning, running, the printed table and the files of the results folder."""
