"""Judges on a server: asked many at once, stored, within a limit on spending."""

from eyechart.evaluators.judging.endpoint_judge import EndpointJudge
from eyechart.evaluators.judging.options import JudgeOptions

__all__ = ["EndpointJudge", "JudgeOptions"]
