"""Measures that a judge makes by several small verdicts: RAG metrics and G-Eval."""

from dataclasses import dataclass, replace

from evals_app.engine.basics.errors import JudgeError, ProviderError
from evals_app.engine.judging.answers.asking import Asker
from evals_app.engine.judging.metrics.claims import ClaimMemory
from evals_app.engine.judging.metrics.composing import NO_CONTEXT
from evals_app.engine.judging.metrics.faithfulness import faithfulness
from evals_app.engine.judging.metrics.geval import measure_by_steps
from evals_app.engine.judging.metrics.relevancy import answer_relevancy, contextual_relevancy
from evals_app.engine.judging.metrics.retrieval import contextual_precision, contextual_recall
from evals_app.engine.judging.metrics.steps import Steps
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.record.aids import MetricScore, RagQuestion, StepsQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMeasure:
    """Measure by asking a model; equal inputs lead to equal prompts.

    `claims` and `steps` are shared by everything that a process measures in a run.

    Raises, when asked:
        JudgeError, ProviderError: it could not be measured; `calls` has what was asked.
    """

    asker: Asker
    claims: ClaimMemory
    steps: Steps
    judge_prompt: str = ""

    async def __call__(self, question: RagQuestion | StepsQuestion) -> MetricScore:
        inquiry = Inquiry.about(
            question.view, key=question.key, asker=self.asker, advice=self.judge_prompt
        )
        try:
            if isinstance(question, RagQuestion):
                measured = await measure_rag(question, inquiry, kept=self.claims)
            else:
                measured = await measure_by_steps(question, inquiry, steps=self.steps)
        except (JudgeError, ProviderError) as exc:
            exc.calls = tuple(inquiry.calls)
            raise
        return replace(measured, calls=tuple(inquiry.calls))


async def measure_rag(question: RagQuestion, inquiry: Inquiry, *, kept: ClaimMemory) -> MetricScore:
    """Measure what the question names.

    No context at all cannot be measured; a context without chunks scores 0 without a call, except
    that faithfulness still asks whether the answer claims anything.

    Raises:
        JudgeError, ProviderError: a call failed.
    """
    if question.metric == "answer_relevancy":
        return await answer_relevancy(question, inquiry)
    chunks = question.view.retrieved_chunks()
    if question.metric == "faithfulness":
        return await faithfulness(question, chunks, inquiry, kept=kept)
    if chunks is None:
        return NO_CONTEXT
    if not chunks:
        return MetricScore(score=0.0, reason="The search found nothing.")
    if question.metric == "contextual_relevancy":
        return await contextual_relevancy(question, chunks, inquiry)
    if question.metric == "contextual_precision":
        return await contextual_precision(question, chunks, inquiry)
    return await contextual_recall(question, chunks, inquiry)
