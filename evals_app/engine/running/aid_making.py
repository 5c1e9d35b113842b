"""Make the aids of assertions: judges, measures and comparisons, with their model calls."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from evals_app.engine.agents.scripted import scripted_judge
from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.basics.journal import WorldState
from evals_app.engine.graders import JudgedGrader
from evals_app.engine.judging import (
    Answers,
    Asker,
    ClaimMemory,
    ModelJudge,
    ModelMeasure,
    Sharing,
    Steps,
)
from evals_app.engine.llm.call import Complete
from evals_app.engine.llm.replay import ExecutionCalls
from evals_app.engine.record.aids import Aids, Compare, Judge, Measure, RunCode
from evals_app.engine.running.run_gateway import Plan
from evals_app.engine.specs.base_spec import ModelSpec
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.similarity import SimilarityMeter


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAids:
    """What the aids of all executions of a run share."""

    plan: Plan
    similarity: SimilarityMeter
    steps: Steps
    run_code: RunCode
    claims: ClaimMemory = field(default_factory=ClaimMemory)


@dataclass(frozen=True, slots=True, kw_only=True)
class AidMaker:
    """Makes the aids of one execution, whose model calls all go through `calls`.

    `answers` are those of an earlier grading. `sharing` has the questions that begin alike. It is complete before the first is asked: all
    checks of a trial are begun at once, and each gets its aids before it waits for anything.
    """

    shared: SharedAids
    calls: ExecutionCalls
    judge_context: str
    opened_world: Callable[[], WorldState]
    answers: Answers | None = None
    sharing: defaultdict[tuple[str, ...], Sharing] = field(
        default_factory=lambda: defaultdict(Sharing)
    )

    def __call__(self, assertion: AssertionSpec, key: str) -> Aids:
        """Make what this assertion may ask for.

        Raises:
            ConfigurationError: a scripted judge does not exist.
        """
        models = self._plan.judges_of(assertion)
        return Aids(
            judge=self._judge(assertion, key, models) if models else None,
            measure=self._measure(models[0], key) if models else None,
            compare=self._compare(assertion, key),
            run_code=self.shared.run_code,
            key=key,
            threshold=assertion.threshold,
            opened_world=self.opened_world,
        )

    @property
    def _plan(self) -> Plan:
        return self.shared.plan

    def _judge(self, assertion: AssertionSpec, key: str, models: Sequence[ModelSpec]) -> Judge:
        askers = [self._asker(model, key) for model in models]
        if isinstance(assertion.grader, JudgedGrader):
            asks = assertion.grader.asks() // len(models)
            askers = [self._sharing(asker, assertion, key, asks) for asker in askers]
        return ModelJudge(
            askers=tuple(askers),
            judge_prompt=self._plan.suite.judge_prompt,
            judge_context=self.judge_context,
        )

    def _sharing(self, asker: Asker, assertion: AssertionSpec, key: str, asks: int) -> Asker:
        """Let an asker share the common beginning of its questions: the View and the answer's form."""
        turn, _, _ = key.rpartition(".")
        scale = str(getattr(assertion.grader, "scale", ""))
        name = (str(asker.model), turn, assertion.scope or "", assertion.type, scale)
        sharing = self.sharing[name]
        sharing.questions += asks
        return replace(asker, sharing=sharing)

    def _measure(self, model: ModelSpec, key: str) -> Measure:
        return ModelMeasure(
            asker=self._asker(model, key),
            claims=self.shared.claims,
            steps=self.shared.steps,
            judge_prompt=self._plan.suite.judge_prompt,
        )

    def _compare(self, assertion: AssertionSpec, key: str) -> Compare | None:
        spec = self._plan.similarity_of(assertion)
        if spec is None:
            return None
        asker = None if spec.judge is None else self._asker(spec.judge, key)
        return self.shared.similarity.by(spec, asker=asker)

    def _asker(self, model: ModelSpec, key: str) -> Asker:
        return make_asker(self._plan, model, self.calls.of_check(key), answers=self.answers)


def make_asker(
    plan: Plan, model: ModelSpec, complete: Complete, *, answers: Answers | None = None
) -> Asker:
    """Return a model of a run that can be asked, or a script in its place.

    Raises:
        ConfigurationError: the script does not exist.
    """
    is_scripted = model.provider == "scripted"
    if is_scripted and model.name not in plan.scripted:
        raise ConfigurationError(
            f"The model scripted/{model.name} names a scripted agent that does not exist."
        )
    return Asker(
        complete=scripted_judge(plan.scripted[model.name].rules) if is_scripted else complete,
        model=model,
        secret=plan.secret,
        is_scripted=is_scripted,
        answers=answers,
        effort="low",  # reading against criteria needs no long thought, and cases are many
    )
