"""Which cases of a suite a run covers, how often, and with which model."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.specs.agent_spec import AgentSpec, ModelAgent
from evals_app.engine.specs.base_spec import read_model
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from fixtures_app.ground.spec_errors import messages_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChoice:
    """The cases that match all conditions.

    `cases` are parts of names, one of which must occur; of `tags` one must be a tag of the case or its
    suite: both ignore case. `names` are whole names; `trials` None is the suite's number. Disabled
    cases belong to it only `with_disabled`.
    """

    cases: Collection[str] = ()
    tags: Collection[str] = ()
    names: Collection[str] = ()
    trials: int | None = None
    with_disabled: bool = False

    def matches(self, name: str, tags: Iterable[str]) -> bool:
        """Whether a case of this name, with these tags of its own and its suite's, is among them."""
        folded = name.casefold()
        return (
            (not self.cases or any(text.casefold() in folded for text in self.cases))
            and (not self.tags or not _in_lower_case(self.tags).isdisjoint(_in_lower_case(tags)))
            and (not self.names or name in self.names)
        )

    def trials_of(self, case: CaseSpec, suite: SuiteSpec) -> int:
        """Return how often a case is run; 0 if it is not among them."""
        if not self.matches(case.name, [*case.tags, *suite.tags]):
            return 0
        return suite.trials_of(case, asked=self.trials)


def _in_lower_case(tags: Iterable[str]) -> set[str]:
    return {tag.casefold() for tag in tags}


def with_model(agent: AgentSpec, model: str) -> AgentSpec:
    """Return the agent with another model, if one is given; its own keeps its settings.

    Raises:
        CannotError: it has no model, or this is not one.
    """
    if not model:
        return agent
    if not isinstance(agent, ModelAgent):
        kind = "is scripted" if agent.driver == "scripted" else f"has driver {agent.driver}"
        problem = f"Agent {agent.slug} {kind}: it has no model that could be replaced."
        raise CannotError(problem)
    try:
        other = read_model(model)
    except ValidationError as exc:
        raise CannotError(*messages_of(exc)) from exc
    return agent if str(other) == str(agent.model) else agent.model_copy(update={"model": other})
