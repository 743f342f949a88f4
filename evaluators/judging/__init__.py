"""Judges on a server: concurrent requests, stored replies and a spending limit."""

from eyechart.evaluators.judging.endpoint_judge import EndpointJudge
from eyechart.evaluators.judging.options import JudgeOptions

__all__ = ["EndpointJudge", "JudgeOptions"]
