"""Judges on a server: concurrent requests, stored replies and a spending limit."""

from eyechart.evaluators.judging.endpoint_judge import EndpointJudge, JudgeOptions

__all__ = ["EndpointJudge", "JudgeOptions"]
