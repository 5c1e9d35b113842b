"""The grader of meaning: is the reply similar to the expected text, however it is worded?"""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from evals_app.engine.basics.errors import ProviderError
from evals_app.engine.graders.kit.base import MAX_TEXT_BYTES, AidedGrader, length_problem
from evals_app.engine.graders.kit.json_paths import ResponsePath, graded_text, place_of
from evals_app.engine.record.aids import Aids, TextSimilarity
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from evals_app.engine.specs.base_spec import ModelSpec, read_model
from fixtures_app.ground.quoting import in_quotes, says


def _model(written: str) -> str:
    read_model(written)
    return written


class SemanticSimilarity(AidedGrader):
    """Pass when the reply means nearly the same as the expected text.

    The score is the cosine of the two texts' embeddings, from 0 to 1. A `threshold` makes it a
    verdict. Similar is not correct: “approved” and “denied” are similar, because texts on the same
    subject are. Use other checks for facts.

    The method is chosen when a run starts and stays the same: the site's embedding model; otherwise
    OpenAI's or Gemini's, if there is a key; a model2vec model on the machine; an embedding model of
    Ollama. Without any of these, a judge compares the meaning; without a judge, shared words are
    counted. Both are marked as degraded. If the method fails during the run, the check is not graded;
    no other method replaces it.
    """

    label: ClassVar[str] = "Reply means the same"
    in_words: ClassVar[str] = "“Your money is coming back” counts as “Your refund was approved”."
    family: ClassVar[Literal["overlap"]] = "overlap"
    calls: ClassVar[str] = "1 of the embedding model or the judge"
    named_by: ClassVar[tuple[str, ...]] = ("Agentura",)
    uses_expected: ClassVar[bool] = True
    only_scores: ClassVar[bool] = True
    reads_text: ClassVar[bool] = True
    most_bytes: ClassVar[int | None] = MAX_TEXT_BYTES
    example: ClassVar[dict[str, object]] = {"value": "Your refund was approved."}

    value: Annotated[
        str | None,
        Field(
            min_length=1,
            title="Expected text",
            description=(
                "Leave blank to take the turn's expected text. Texts on the same subject are similar,"
                " even if they say the opposite."
            ),
            json_schema_extra={"rows": 3},
        ),
    ] = None
    require: Annotated[
        Literal["any", "embeddings"],
        Field(
            title="Measured by",
            json_schema_extra={
                "advanced": True,
                "words": {
                    "any": "The best available method",
                    "embeddings": "Embeddings only; without them no run starts",
                },
            },
        ),
    ] = "any"
    embedding_model: Annotated[
        Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_model)] | None,
        Field(
            title="Embedding model",
            description=(
                "provider/model, for example openai/text-embedding-3-small. Leave blank for the"
                " site's default."
            ),
            json_schema_extra={"advanced": True},
        ),
    ] = None
    response_path: ResponsePath = None

    @property
    def embedder(self) -> ModelSpec | None:
        """Return its own embedding model, if it names one."""
        return None if self.embedding_model is None else read_model(self.embedding_model)

    async def grade_with(self, view: View, aids: Aids) -> Grade:
        read = graded_text(self, view)
        if isinstance(read, Grade):
            return read
        expected = view.expected_value(self.value)
        if problem := self.expected_problem(expected):
            return Grade.without_result(Cause.CASE, problem)
        if aids.compare is None:
            return Grade.without_result(
                Cause.JUDGE, "No method is available to measure similarity."
            )
        try:
            similarity = await aids.compare(read.text, expected, view=view, key=aids.key)
        except ProviderError as exc:
            reason = f"The similarity could not be measured. {exc}"
            return Grade.without_result(Cause.PROVIDER, reason).but(calls=exc.calls)
        if self.require == "embeddings" and similarity.is_degraded:
            reason = f"This check requires embeddings, but the run uses {similarity.method}."
            return Grade.without_result(Cause.CASE, reason).but(calls=similarity.calls)
        return read.add_note(_grade(similarity, read.text, expected))

    def expected_problem(self, expected: str) -> str | None:
        return length_problem(expected, MAX_TEXT_BYTES, subject="The expected text")

    def summary(self) -> str:
        expected = in_quotes(self.value) if self.value else "the expected text"
        return f"Reply{place_of(self)} means the same as {expected}"


def _grade(similarity: TextSimilarity, text: str, expected: str) -> Grade:
    way = "the words they share" if similarity.method == "fuzzy_match" else similarity.method
    instead = ", because there is no embedding model" if similarity.is_degraded else ""
    reason = (
        f"Compared with {in_quotes(expected)} by {way}{instead}; {says(text, wanted=expected)}."
    )
    details: dict[str, object] = {"method": similarity.method, "degraded": similarity.is_degraded}
    if similarity.flags:
        details["flags"] = list(similarity.flags)
    if similarity.critique:
        reason = f"{reason} {similarity.critique}"
    return Grade.of_score(similarity.score, reason, **details).but(calls=similarity.calls)
