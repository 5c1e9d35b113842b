"""What is tested: a function, an agent of a file, or a specification."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from evals_app.code.freezing import CodeChoices
from evals_app.code.project_files import Project, read_agent
from evals_app.code.suites import Suite, SuiteError
from evals_app.engine.basics.plugins import find_plugins
from evals_app.engine.callables.here import register
from evals_app.engine.preparing.case_choice import CaseChoice
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.formats.foreign.shapes import slug_of
from evals_app.formats.reading.problems import FormatError
from fixtures_app.ground.spec_errors import messages_of
from fixtures_app.ground.words import near

AgentLike = Callable[..., Any] | AgentSpec | str | Path
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class SuiteOfAgent:
    """The suite that a function of a test module answers, and what of it is run: see `evals`."""

    suite: Suite | str | Path
    part: CaseChoice
    model: str
    judge: str

    def over(self, usual: CodeChoices) -> CodeChoices:
        """Return what is chosen here, else what is usual."""
        part = replace(self.part, trials=self.part.trials or usual.part.trials)
        model, judge = self.model or usual.model, self.judge or usual.judge
        return replace(usual, part=part, model=model, judge=judge)


def evals(
    suite: Suite | str | Path,
    *,
    cases: Collection[str] = (),
    tags: Collection[str] = (),
    trials: int | None = None,
    model: str = "",
    judge: str = "",
) -> Callable[[F], F]:
    """Make a test of each case of a suite, answered by the decorated function.

    pytest finds the function by this decorator, whatever it is called; it stays an ordinary function. A
    path begins at the folder of the module, or where pytest was started. The rest is as for `run`.
    """
    part = CaseChoice(names=tuple(cases), tags=tuple(tags), trials=trials)

    def mark(function: F) -> F:
        function.evalwell_suite = SuiteOfAgent(suite, part, model, judge)  # type: ignore[attr-defined]
        return function

    return mark


def agent_of(suite: Suite, agent: AgentLike | None) -> AgentSpec:
    """Return the agent to test; None is the suite's own, and a text its slug or a file.

    Raises:
        SuiteError: there is no such agent, or the function cannot be called as an agent.
    """
    if isinstance(agent, AgentSpec):
        return agent
    if isinstance(agent, Path):
        return _in_file(agent)
    if agent is None or isinstance(agent, str):
        slug = suite.spec.agent if agent is None else agent
        if slug in suite.project.agents:
            return suite.project.agents[slug]
        if agent is not None and slug.endswith((".yaml", ".yml")):
            return _in_file(Path(slug))
        if agent is not None and slug in (offered := find_plugins("agents").plugins):
            return _of_function(offered[slug].value)
        raise SuiteError([_missing(suite, slug, suite.project)])
    return _of_function(agent)


def _of_function(function: Callable[..., Any]) -> AgentSpec:
    if not callable(function):
        raise SuiteError(
            [f"agent is {function!r:.200}; expected a function, an agent file or an AgentSpec."]
        )
    name = getattr(function, "__name__", type(function).__name__).strip("<>_") or "agent"
    written = {
        "agent": name.replace("_", " "),
        "slug": slug_of(name, instead="agent"),
        "driver": "python",
        "callable": register(function),
    }
    try:
        return AgentSpec.model_validate(written)
    except ValidationError as exc:
        raise SuiteError(messages_of(exc)) from None


def _in_file(path: Path) -> AgentSpec:
    try:
        return read_agent(path)
    except FormatError as exc:
        raise SuiteError(str(item) for item in exc.problems if item.level == "error") from None


def _missing(suite: Suite, slug: str, project: Project) -> str:
    known = ", ".join(project.agents) or "none"
    return (
        f"Suite {suite.slug} tests the agent {slug!r}, which no file around it describes."
        f"{near(slug, project.agents)} Found: {known}. Name one: run(..., agent=my_function)."
    )
