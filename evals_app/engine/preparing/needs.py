"""What the checks of a run need: judges, a comparison of texts, evaluation steps."""

from dataclasses import dataclass, field, replace

from evals_app.engine.graders.geval import GEval
from evals_app.engine.graders.similarity import SemanticSimilarity
from evals_app.engine.judging import Recipe
from evals_app.engine.specs.base_spec import ModelSpec
from evals_app.engine.suites.suite_spec import AssertionSpec, CaseSpec

Reference = ModelSpec | str  # "agent" is the model of the agent that is tested


@dataclass
class Needs:
    """Collected from one check after the other, in one pass over the suite.

    `judges` and `embedders` are the models that checks name, with the checks that name them;
    `judge` and `comparison` are whether other checks need one. `requires_embeddings` is the first
    check that accepts nothing else. Each recipe of evaluation steps comes with its check's own
    judge.
    """

    judge: bool = False
    judges: dict[tuple[str, Reference], None] = field(default_factory=dict)
    comparison: bool = False
    embedders: dict[tuple[str, ModelSpec], None] = field(default_factory=dict)
    requires_embeddings: str = ""
    recipes: set[tuple[Recipe, Reference | None]] = field(default_factory=set)

    def add_user(self, case: CaseSpec) -> None:
        """Add the model that plays the user of a case, or reads whether recorded words still fit."""
        user = case.simulated_user
        if user and user.model:
            self.judges[f"The simulated user of case {case.name!r}", user.model] = None
        self.judge = self.judge or case.user_needs_judge

    def add(self, check: AssertionSpec) -> None:
        """Add what a check needs."""
        grader = check.grader
        if isinstance(grader, SemanticSimilarity):
            if check.enabled:
                self._add_comparison(grader, check.label)
        elif grader.family == "judged":
            if jurors := grader.jurors():
                self.judges |= {(f"The jury of {check.label!r}", juror): None for juror in jurors}
            elif check.model is None:
                self.judge = True
            else:
                self.judges[f"Check {check.label!r}", check.model] = None
        if isinstance(grader, GEval) and not grader.evaluation_steps:
            recipe = Recipe(
                grader.criteria.strip(),
                tuple(grader.evaluation_params),
                model="",
                scale=grader.scale_asked,
            )
            self.recipes.add((recipe, check.model))

    def _add_comparison(self, grader: SemanticSimilarity, label: str) -> None:
        if grader.embedder is not None:
            self.embedders[f"Check {label!r}", grader.embedder] = None
            return
        self.comparison = True
        if grader.require == "embeddings":
            self.requires_embeddings = self.requires_embeddings or label

    def step_keys(self, *, judge: ModelSpec | None, agent: ModelSpec | None) -> list[str]:
        """Return the keys of the evaluation steps that it uses; `agent` is the tested agent's model."""
        keys = []
        for recipe, own in self.recipes:
            model = judge if own is None else own if isinstance(own, ModelSpec) else agent
            keys.append(replace(recipe, model=str(model)).key)
        return sorted(keys)
