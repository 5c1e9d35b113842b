"""The grader of meaning: is the reply like the expected text, however it is worded?"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, TypeAdapter

from evals_app.engine.aids import Aids, Likeness
from evals_app.engine.errors import ProviderError
from evals_app.engine.graders.base import AidedGrader, too_long
from evals_app.engine.graders.json_paths import ResponsePath, graded_text, place_of
from evals_app.engine.quoting import quoted, says
from evals_app.engine.spec import ModelRef, ModelSpec
from evals_app.engine.trial import Cause, Grade, View

_MODEL: TypeAdapter[ModelSpec] = TypeAdapter(ModelRef)


def _model(written: str | None) -> str | None:
    if written is not None:
        _MODEL.validate_python(written)
    return written


class SemanticSimilarity(AidedGrader):
    """Pass when the reply means much the same as the expected text.

    The score is the cosine of the two texts' embeddings, from 0 to 1; a `threshold` makes it a
    verdict. Likeness is not correctness: “approved” and “denied” are alike, for texts of one subject
    are near each other. Check facts with other assertions.

    The way is chosen when a run begins, and kept: the site's embedding model, else OpenAI's, else
    Gemini's, if there is a key; a model2vec model on the machine; an embedding model of Ollama.
    Without any of these a judge compares the meaning, without a judge shared words are counted; both
    are shown as degraded. What then fails is not graded; no other way is taken in its place.
    """

    label: ClassVar[str] = "Reply means the same"
    family: ClassVar[Literal["overlap"]] = "overlap"
    calls: ClassVar[str] = "one for embeddings, or one of the judge"
    named_by: ClassVar[tuple[str, ...]] = ("Agentura",)
    uses_expected: ClassVar[bool] = True
    reads_text: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {"value": "Your refund was approved."}

    value: Annotated[
        str | None,
        Field(
            min_length=1,
            title="Expected text",
            description=(
                "Leave blank to take the turn's expected text. Opposite statements of one subject are alike:"
                " likeness is not correctness."
            ),
            json_schema_extra={"rows": 3},
        ),
    ] = None
    require: Annotated[
        Literal["any", "embeddings"],
        Field(
            title="Measured by",
            description="embeddings: a run without them does not start. any: what there is.",
        ),
    ] = "any"
    embedding_model: Annotated[
        Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_model)] | None,
        Field(
            title="Embedding model",
            description=(
                "provider/model, for example openai/text-embedding-3-small. Leave blank for the"
                " site's."
            ),
        ),
    ] = None
    response_path: ResponsePath = None

    @property
    def embedder(self) -> ModelSpec | None:
        """Give the model of its own that it names."""
        return (
            None if self.embedding_model is None else _MODEL.validate_python(self.embedding_model)
        )

    async def grade_with(self, view: View, aids: Aids) -> Grade:
        read = graded_text(self, view)
        if isinstance(read, Grade):
            return read
        expected = view.expected(self.value)
        if problem := self.expected_problem(expected):
            return Grade.ungraded(Cause.CASE, problem)
        if aids.compare is None:
            return Grade.ungraded(Cause.JUDGE, "There is nothing to measure likeness with.")
        try:
            likeness = await aids.compare(read.text, expected, view=view, key=aids.key)
        except ProviderError as exc:
            reason = f"The likeness could not be measured. {exc}"
            return Grade.ungraded(Cause.PROVIDER, reason).but(calls=exc.calls)
        if self.require == "embeddings" and likeness.is_degraded:
            reason = f"This check requires embeddings; {likeness.method} stands in for them."
            return Grade.ungraded(Cause.CASE, reason).but(calls=likeness.calls)
        return read.noted(_grade(likeness, read.text, expected))

    def expected_problem(self, expected: str) -> str | None:
        refused = too_long(expected, subject="The expected text")
        return None if refused is None else refused.reason

    def decides(self, threshold: float | None) -> bool:
        return threshold is not None

    def summary(self) -> str:
        expected = quoted(self.value) if self.value else "the expected text"
        return f"Reply{place_of(self)} means the same as {expected}"


def _grade(likeness: Likeness, text: str, expected: str) -> Grade:
    way = f"{likeness.method}, degraded" if likeness.is_degraded else likeness.method
    reason = f"Compared with {quoted(expected)} by {way}; {says(text, wanted=expected)}."
    details: dict[str, Any] = {"method": likeness.method, "degraded": likeness.is_degraded}
    if likeness.flags:
        details["flags"] = list(likeness.flags)
    if likeness.critique:
        reason = f"{reason} {likeness.critique}"
    return Grade.scored(likeness.score, reason, **details).but(calls=likeness.calls)
