"""Graders of replies that rest on retrieved knowledge.

The context is the turn's own `retrieval_context`, or else what retrieval tools returned in the turn,
or else in an earlier one.
"""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from evals_app.engine.graders.kit.measured import MeasuredGrader
from evals_app.engine.record.aids import Aids, RagMetric, RagQuestion
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View


class RagGrader(MeasuredGrader):
    """A metric of question, answer and retrieved context."""

    metric: ClassVar[RagMetric]
    example: ClassVar[dict[str, object]] = {}

    include_reason: Annotated[
        bool,
        Field(
            title="Explain the score",
            description="Quotes what counts against the reply. Otherwise the reason only counts it.",
            json_schema_extra={"advanced": True},
        ),
    ] = True

    def question(self, view: View, *, key: str) -> RagQuestion:
        return RagQuestion(metric=self.metric, view=view, key=key, is_explained=self.include_reason)


class Faithfulness(RagGrader):
    """Pass when enough of the reply's claims are supported by what was retrieved.

    A judge lists the factual claims of the reply, then looks each of them up in the retrieved chunks:
    supported, contradicted, or not mentioned. Supported and contradicted require a quote from the
    chunk that the judge names; if the quote is not there even when the judge is asked again, the
    claim is undecided. Score: supported claims / claims, or with `mode: no_contradiction`, 1 -
    contradicted claims / claims, which is how DeepEval counts. The details have both.

    Undecided claims are neither. If they could change the outcome, or there is no `threshold`, the
    reply is not graded, which is an error of the judge.

    For a reply that is empty or claims nothing, the check is not applicable. If no other check can
    decide, the conversation is an error. If the search found nothing, any other reply scores 0. Without
    a `threshold` the score only informs.
    """

    label: ClassVar[str] = "Reply is faithful to what was retrieved"
    in_words: ClassVar[str] = "The reply claims nothing that the fetched pages do not say."
    calls: ClassVar[str] = "1, then 1 per 40 claims and 30,000 tokens of context"
    reads_text: ClassVar[bool] = True
    metric: ClassVar[RagMetric] = "faithfulness"

    mode: Annotated[
        Literal["supported", "no_contradiction"],
        Field(
            title="What counts",
            json_schema_extra={
                "words": {
                    "supported": "Claims that the context supports",
                    "no_contradiction": "Claims that the context does not contradict",
                }
            },
        ),
    ] = "supported"

    def question(self, view: View, *, key: str) -> RagQuestion:
        is_mild = self.mode == "no_contradiction"
        return replace(super().question(view, key=key), forgives_silence=is_mild)

    def asks(self) -> int:
        return 2


class AnswerRelevancy(RagGrader):
    """Pass when enough of the reply is relevant to the question.

    A judge rates each sentence, list item and code block of the reply as direct, supporting or
    irrelevant. Score: direct and supporting parts / parts. If the reply as a whole evades the
    question, the score is at most 0.5; if it declines to answer, it is 0 unless
    `noncommittal: ignore` is set. DeepEval has neither limit. An empty reply scores 0. Undecided
    parts are treated as in `faithfulness`. Without a `threshold` the score only informs.
    """

    label: ClassVar[str] = "Reply is relevant to the question"
    in_words: ClassVar[str] = "Every sentence of the reply helps to answer the question."
    calls: ClassVar[str] = "1 per 40 sentences of the reply"
    reads_text: ClassVar[bool] = True
    metric: ClassVar[RagMetric] = "answer_relevancy"

    noncommittal: Annotated[
        Literal["zero", "ignore"],
        Field(
            title="Replies that decline to answer",
            json_schema_extra={
                "words": {"zero": "They score 0", "ignore": "They are graded like any other"}
            },
        ),
    ] = "zero"

    def question(self, view: View, *, key: str) -> RagQuestion:
        is_mild = self.noncommittal == "ignore"
        return replace(super().question(view, key=key), forgives_refusal=is_mild)


class ContextualRelevancy(RagGrader):
    """Pass when enough of what was retrieved helps to answer the question.

    A judge rates each sentence of each chunk as relevant or irrelevant to the question. Score:
    relevant sentences / sentences. The details have the ratio of each chunk. If the search found
    nothing, the score is 0. Undecided sentences are treated as in `faithfulness`. Without a
    `threshold` the score only informs.
    """

    label: ClassVar[str] = "What was retrieved is relevant to the question"
    in_words: ClassVar[str] = "The fetched pages are about the question."
    calls: ClassVar[str] = "1 per 40 sentences and 30,000 tokens of context"
    metric: ClassVar[RagMetric] = "contextual_relevancy"


class ExpectingRagGrader(RagGrader):
    """A metric that compares what was retrieved with the expected answer."""

    uses_expected: ClassVar[bool] = True

    async def grade_with(self, view: View, aids: Aids) -> Grade:
        if problem := self.expected_problem(view.expected_value(None)):
            return Grade.without_result(Cause.CASE, problem)
        return await super().grade_with(view, aids)

    def expected_problem(self, expected: str) -> str | None:
        if expected.strip():
            return None
        return "The expected text is empty, so there is nothing to compare with."


class ContextualPrecision(ExpectingRagGrader):
    """Pass when useful chunks are ranked before useless ones.

    A judge who does not know the ranks rates each chunk as useful or not for finding the expected
    answer. Score: the mean, over all useful chunks, of the share of useful chunks up to that rank:
    useful, not, useful scores 0.83; not, useful scores 0.5. If no chunk is useful, or the search
    found nothing, the score is 0. Undecided chunks are treated as in `faithfulness`. The turn must
    have an expected answer. Without a `threshold` the score only informs.
    """

    label: ClassVar[str] = "Useful knowledge is retrieved first"
    in_words: ClassVar[str] = "The page that has the answer comes first in the results."
    calls: ClassVar[str] = "1 per 40 chunks and 30,000 tokens of context"
    metric: ClassVar[RagMetric] = "contextual_precision"


class ContextualRecall(ExpectingRagGrader):
    """Pass when what was retrieved contains enough of the expected answer.

    A judge looks up each sentence of the expected answer in the chunks. A sentence is attributable
    if the judge's quote is in the chunk that it names. If the quote is not there even when the judge
    is asked again, the sentence is undecided and treated as in `faithfulness`. Score: attributable
    sentences / sentences. If the search found nothing, the score is 0. The turn must have an expected
    answer. Without a `threshold` the score only informs.
    """

    label: ClassVar[str] = "What was retrieved contains the expected answer"
    in_words: ClassVar[str] = "The fetched pages contain everything in the expected answer."
    calls: ClassVar[str] = "1 per 40 sentences of the answer and 30,000 tokens of context"
    metric: ClassVar[RagMetric] = "contextual_recall"
