"""The models of a run beside its agent's: judges, the comparison of texts, and what all of them cost."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from evals_app.engine.llm.pricing import prices_of, prices_on
from evals_app.engine.preparing.needs import Needs
from evals_app.engine.preparing.text_comparison import TextComparison
from evals_app.engine.specs.agent_spec import AgentSpec, ScriptedAgent
from evals_app.engine.specs.base_spec import ModelSpec, ProviderSpec
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.similarity import SimilaritySpec


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The models that a run calls.

    `judge` is the one of checks that name none, `judges` are all of them, that one first. `models`
    are those that may cost money, `providers` theirs, with the prices of the day and nothing else.
    """

    judge: ModelSpec | None
    judges: Sequence[ModelSpec]
    scripted: Sequence[ScriptedAgent]
    similarity: SimilaritySpec | None
    models: Sequence[ModelSpec]
    providers: Sequence[ProviderSpec]


def choose_models(
    suite: SuiteSpec,
    agent: AgentSpec,
    needs: Needs,
    comparison: TextComparison,
    *,
    paid: Sequence[ModelSpec | None],
    day: date,
) -> ModelChoice:
    """Choose the models; what is in the way goes to the obstacles. `paid` are other models that are called."""
    obstacles = comparison.obstacles
    own_judges = obstacles.judges(needs, agent)
    judge = obstacles.judge(suite, agent) if needs.judge else None
    scripted = obstacles.load_scripts({judge, *own_judges})
    similarity = comparison.choose(needs, partial(obstacles.chat_model, suite, agent))
    judges = [*_by_name([judge]), *_by_name(own_judges - {judge})]
    comparing = [*comparison.models, similarity.judge if similarity else None]
    models = _by_name([*paid, *judges, *comparing])
    providers = _with_prices(obstacles.providers, models, day)
    return ModelChoice(judge, judges, scripted, similarity, models, providers)


def _by_name(models: Iterable[ModelSpec | None]) -> list[ModelSpec]:
    """Return each model once."""
    return sorted({model for model in models if model is not None}, key=str)


def _with_prices(
    providers: Mapping[str, ProviderSpec], models: Collection[ModelSpec], day: date
) -> list[ProviderSpec]:
    """Return the providers of these models, with their prices that are in force and nothing else."""
    priced = []
    for slug in sorted({model.provider for model in models} & providers.keys()):
        spec = providers[slug]
        names = [model.name for model in models if model.provider == slug]
        prices = prices_of(names, prices_on(day, spec.prices))
        priced.append(spec.model_copy(update={"prices": prices}))
    return priced
