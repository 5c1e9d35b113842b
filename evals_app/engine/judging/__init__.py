"""Judging by a model: the question we write, the verdict we read, the quotes we check.

The model lists requirements and verdicts; pass or fail is computed from that list, and counts come
from our own numbered items, never from a reply. A prompt begins with what all checks of a View share,
with one nonce per execution, so that APIs can cache it; what is checked comes last. An opinion that
contradicts itself is asked for once more and is then undecided. A check that could not be decided is
ungraded: neither 0 nor a pass.
"""

from evals_app.engine.judging.answers.asking import Asker
from evals_app.engine.judging.answers.critiques import contradicts
from evals_app.engine.judging.answers.flags import AGAINST_VERDICT, INJECTION, kinship_warning
from evals_app.engine.judging.answers.reuse import Answers
from evals_app.engine.judging.answers.sharing import Sharing
from evals_app.engine.judging.judge import ModelJudge
from evals_app.engine.judging.metrics.claims import ClaimMemory
from evals_app.engine.judging.metrics.measure import ModelMeasure
from evals_app.engine.judging.metrics.steps import Recipe, Steps
from evals_app.engine.judging.prompts.inquiry import PROMPT_VERSION as MEASURE_PROMPT_VERSION
from evals_app.engine.judging.prompts.prompt import PROMPT_VERSION as CHECK_PROMPT_VERSION

__all__ = [
    "AGAINST_VERDICT",
    "CHECK_PROMPT_VERSION",
    "INJECTION",
    "MEASURE_PROMPT_VERSION",
    "Answers",
    "Asker",
    "ClaimMemory",
    "ModelJudge",
    "ModelMeasure",
    "Recipe",
    "Sharing",
    "Steps",
    "contradicts",
    "kinship_warning",
]
