"""The commands of `eyechart`, one file each; `eyechart.evaluators.cli` combines them."""
