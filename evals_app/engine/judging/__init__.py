"""Judging by a model: the question we write, the verdict we read, the quotes we check."""

from evals_app.engine.judging.asking import Asker
from evals_app.engine.judging.claims import ClaimsKept
from evals_app.engine.judging.critiques import contradicts
from evals_app.engine.judging.flags import AGAINST_VERDICT, INJECTION, kinship_warning
from evals_app.engine.judging.inquiry import PROMPT_VERSION as MEASURE_PROMPT_VERSION
from evals_app.engine.judging.judge import ModelJudge
from evals_app.engine.judging.measure import ModelMeasure
from evals_app.engine.judging.prompt import PROMPT_VERSION as CHECK_PROMPT_VERSION
from evals_app.engine.judging.reuse import Answers
from evals_app.engine.judging.sharing import Sharing
from evals_app.engine.judging.steps import Recipe, Steps

__all__ = [
    "AGAINST_VERDICT",
    "CHECK_PROMPT_VERSION",
    "INJECTION",
    "MEASURE_PROMPT_VERSION",
    "Answers",
    "Asker",
    "ClaimsKept",
    "ModelJudge",
    "ModelMeasure",
    "Recipe",
    "Sharing",
    "Steps",
    "contradicts",
    "kinship_warning",
]
