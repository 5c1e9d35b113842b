"""Evals as code: run suites from Python, and write them in it.

    from evalwell import run

    results = run("evals/refunds.suite.yaml", agent=my_function)
    results.assert_passed()

docs/evals-as-code.md describes everything here.
"""

from evals_app import __version__
from evals_app.code.agents import evals
from evals_app.code.results import (
    EvalsFailedError,
    GradedCase,
    GradedCheck,
    GradedTrial,
    RunResults,
)
from evals_app.code.running import run
from evals_app.code.suites import Case, Suite, SuiteError, Turn, check
from evals_app.engine.callables.contract import GraderContext, GraderResult
from evals_app.engine.record.trial import Verdict
from evals_app.engine.specs.agent_spec import AgentSpec

__all__ = [
    "AgentSpec",
    "Case",
    "EvalsFailedError",
    "GradedCase",
    "GradedCheck",
    "GradedTrial",
    "GraderContext",
    "GraderResult",
    "RunResults",
    "Suite",
    "SuiteError",
    "Turn",
    "Verdict",
    "__version__",
    "check",
    "evals",
    "run",
]
