"""Make the aids of assertions: who judges, measures and compares, and with whose model calls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evals_app.engine.agents.scripted import scripted_judge
from evals_app.engine.aids import Aids, Compare, Judge, Measure, RunCode
from evals_app.engine.desk import Plan
from evals_app.engine.errors import ConfigurationError
from evals_app.engine.journal import WorldState
from evals_app.engine.judging import Asker, ClaimsKept, ModelJudge, ModelMeasure, Steps
from evals_app.engine.llm.replay import Calls
from evals_app.engine.similarity import Similarity
from evals_app.engine.spec import ModelSpec
from evals_app.engine.suite import AssertionSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAids:
    """What the aids of all executions of a run rest on: found out once, it serves them all."""

    plan: Plan
    similarity: Similarity
    steps: Steps
    run_code: RunCode
    claims: ClaimsKept = field(default_factory=ClaimsKept)


@dataclass(frozen=True, slots=True, kw_only=True)
class AidMaker:
    """Makes the aids of one execution, whose model calls all go through `calls`."""

    shared: SharedAids
    calls: Calls
    judge_context: str
    opened_world: Callable[[], WorldState]

    def __call__(self, assertion: AssertionSpec, key: str) -> Aids:
        """Make what this assertion may ask for.

        Raises:
            ConfigurationError: a scripted judge is not there.
        """
        models = self._plan.judges_of(assertion)
        return Aids(
            judge=self._judge(models) if models else None,
            measure=self._measure(models[0]) if models else None,
            compare=self._compare(assertion),
            run_code=self.shared.run_code,
            key=key,
            opened_world=self.opened_world,
        )

    @property
    def _plan(self) -> Plan:
        return self.shared.plan

    def _judge(self, models: Sequence[ModelSpec]) -> Judge:
        return ModelJudge(
            askers=tuple(map(self._asker, models)),
            judge_prompt=self._plan.suite.judge_prompt,
            judge_context=self.judge_context,
        )

    def _measure(self, model: ModelSpec) -> Measure:
        return ModelMeasure(
            asker=self._asker(model),
            claims=self.shared.claims,
            steps=self.shared.steps,
            judge_prompt=self._plan.suite.judge_prompt,
        )

    def _compare(self, assertion: AssertionSpec) -> Compare | None:
        spec = self._plan.similarity_of(assertion)
        if spec is None:
            return None
        asker = None if spec.judge is None else self._asker(spec.judge)
        return self.shared.similarity.by(spec, asker=asker)

    def _asker(self, model: ModelSpec) -> Asker:
        is_scripted = model.provider == "scripted"
        if is_scripted and model.name not in self._plan.scripted:
            message = f"There is no scripted agent {model.name!r} to judge with."
            raise ConfigurationError(message)
        return Asker(
            complete=scripted_judge(self._plan.scripted[model.name].rules)
            if is_scripted
            else self.calls,
            model=model,
            secret=self._plan.secret,
            is_scripted=is_scripted,
            effort="low",  # reading against criteria needs no long thought, and cases are many
        )
