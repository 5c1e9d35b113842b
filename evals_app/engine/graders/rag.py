"""Graders of answers that rest on retrieved knowledge.

The context is the turn's own `retrieval_context`, else what retrieval tools returned in the turn,
else in an earlier one.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evals_app.engine.aids import Aids, RagMetric, RagQuestion
from evals_app.engine.graders.measured import MeasuredGrader
from evals_app.engine.trial import Cause, Grade, View


class RagGrader(MeasuredGrader):
    """A metric of question, answer and retrieved context."""

    metric: ClassVar[RagMetric]
    example: ClassVar[dict[str, Any]] = {}

    include_reason: Annotated[
        bool,
        Field(
            title="Name what counts against it",
            description="Otherwise the reason only says how many.",
        ),
    ] = True

    def question(self, view: View, *, key: str) -> RagQuestion:
        return RagQuestion(
            metric=self.metric,
            view=view,
            key=key,
            is_explained=self.include_reason,
            forgives_silence=self.forgives_silence,
            forgives_refusal=self.forgives_refusal,
        )

    @property
    def forgives_silence(self) -> bool:
        """Whether claims of which the context says nothing do no harm."""
        return False

    @property
    def forgives_refusal(self) -> bool:
        """Whether an answer that declines is graded like any other."""
        return False


class Faithfulness(RagGrader):
    """Pass when enough of what the answer claims is supported by what was retrieved.

    A judge lists the factual claims of the answer, then looks each up in the retrieved chunks:
    supported, contradicted, or not mentioned. To be supported or contradicted takes a quote that
    is in the chunk that the judge names; if there is none when it is asked again, the claim is
    undecided. Score: supported claims / claims, or with `mode: no_contradiction` 1 - contradicted
    claims / claims, which is how DeepEval counts; the details have both.

    Undecided claims are neither: where they could change the outcome, or there is no `threshold`,
    the answer is not graded, which is an error of the judge.

    An answer that is empty or claims nothing is not applicable; if nothing else can decide, the
    execution is an error that says so. If the search found nothing the score of any other answer is
    0. Without a `threshold` the score only informs.
    """

    label: ClassVar[str] = "The answer is faithful to what was retrieved"
    calls: ClassVar[str] = "2, the second per 40 claims and 30,000 tokens of context"
    reads_text: ClassVar[bool] = True
    metric: ClassVar[RagMetric] = "faithfulness"

    mode: Annotated[
        Literal["supported", "no_contradiction"],
        Field(
            title="What counts",
            description="Claims that are supported, or that at least are not contradicted.",
        ),
    ] = "supported"

    @property
    def forgives_silence(self) -> bool:
        return self.mode == "no_contradiction"

    def asks(self) -> int:
        return 2


class AnswerRelevancy(RagGrader):
    """Pass when enough of the answer bears on the question.

    A judge calls each sentence, list item and code block of the answer direct, supporting or
    irrelevant. Score: direct and supporting parts / parts. If the answer as a whole evades the
    question, the score is at most 0.5; if it declines to answer, 0, unless `noncommittal: ignore`
    is set. DeepEval has neither cap: its score is the share of relevant statements alone. An empty
    answer scores 0. Parts that the judge does not decide count as they do in `faithfulness`. Without
    a `threshold` the score only informs.
    """

    label: ClassVar[str] = "The answer bears on the question"
    calls: ClassVar[str] = "1 per 40 sentences of the answer"
    reads_text: ClassVar[bool] = True
    metric: ClassVar[RagMetric] = "answer_relevancy"

    noncommittal: Annotated[
        Literal["zero", "ignore"],
        Field(
            title="An answer that declines",
            description="Scores 0, or is graded like any other.",
        ),
    ] = "zero"

    @property
    def forgives_refusal(self) -> bool:
        return self.noncommittal == "ignore"


class ContextualRelevancy(RagGrader):
    """Pass when enough of what was retrieved helps to answer the question.

    A judge calls each sentence of each chunk relevant or irrelevant to the question. Score:
    relevant sentences / sentences; the details have the ratio of each chunk. If the search found
    nothing the score is 0. Sentences that the judge does not decide count as they do in
    `faithfulness`. Without a `threshold` the score only informs.
    """

    label: ClassVar[str] = "What was retrieved bears on the question"
    calls: ClassVar[str] = "1 per 40 sentences and 30,000 tokens of context"
    metric: ClassVar[RagMetric] = "contextual_relevancy"


class ExpectingRagGrader(RagGrader):
    """A metric that holds what was retrieved against the expected answer."""

    uses_expected: ClassVar[bool] = True

    async def grade_with(self, view: View, aids: Aids) -> Grade:
        if problem := self.expected_problem(view.expected(None)):
            return Grade.ungraded(Cause.CASE, problem)
        return await super().grade_with(view, aids)

    def expected_problem(self, expected: str) -> str | None:
        return None if expected.strip() else "The expected text is empty; nothing can lead to it."


class ContextualPrecision(ExpectingRagGrader):
    """Pass when useful chunks are ranked before useless ones.

    A judge, who is not told the ranks, calls each chunk useful or not for arriving at the expected
    answer. Score: the mean, over useful chunks, of the share of useful chunks up to their rank:
    useful, not, useful scores 0.83; not, useful 0.5. If none is useful, or the search found
    nothing, the score is 0. Chunks that the judge does not decide count as they do in
    `faithfulness`. The turn must have an expected answer. Without a `threshold` the score only
    informs.
    """

    label: ClassVar[str] = "Useful knowledge is retrieved first"
    calls: ClassVar[str] = "1 per 40 chunks and 30,000 tokens of context"
    metric: ClassVar[RagMetric] = "contextual_precision"


class ContextualRecall(ExpectingRagGrader):
    """Pass when enough of the expected answer stands in what was retrieved.

    A judge looks each sentence of the expected answer up in the chunks. It is attributable if the
    judge's quote is in the chunk that it names; if it does not when it is asked again, the
    sentence is undecided, which counts as it does in `faithfulness`. Score: attributable sentences
    / sentences. If the search found nothing the score is 0. The turn must have an expected answer.
    Without a `threshold` the score only informs.
    """

    label: ClassVar[str] = "What was retrieved holds the expected answer"
    calls: ClassVar[str] = "1 per 40 sentences of the answer and 30,000 tokens of context"
    metric: ClassVar[RagMetric] = "contextual_recall"
