"""Protocols: how each kind of question is asked and scored, independent of any task."""

from eyechart.evaluators.protocols.choice.circular_eval import CircularEval
from eyechart.evaluators.protocols.choice.multiple_choice import MultipleChoice
from eyechart.evaluators.protocols.choice.self_awareness import SelfAwareness
from eyechart.evaluators.protocols.description import Description
from eyechart.evaluators.protocols.paired_comparison import PairedComparison
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.protocols.quality_assessment import QualityAssessment

PROTOCOLS: dict[str, type[Protocol]] = {
    protocol.name: protocol
    for protocol in (MultipleChoice, CircularEval, SelfAwareness, Description, QualityAssessment, PairedComparison)
}
"""Protocols by the name that task files use."""
