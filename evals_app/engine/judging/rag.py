"""The metrics of answers that rest on retrieved knowledge (RAG), by name."""

from evals_app.engine.aids import Measured, RagQuestion
from evals_app.engine.judging.claims import ClaimsKept
from evals_app.engine.judging.composing import NO_CONTEXT
from evals_app.engine.judging.faithfulness import faithfulness
from evals_app.engine.judging.inquiry import Inquiry
from evals_app.engine.judging.relevancy import answer_relevancy, contextual_relevancy
from evals_app.engine.judging.retrieval import contextual_precision, contextual_recall


async def measure_rag(question: RagQuestion, inquiry: Inquiry, *, kept: ClaimsKept) -> Measured:
    """Measure what the question names.

    No context at all cannot be measured; a context without chunks scores 0 without a call, except
    that faithfulness still asks whether the answer claims anything.

    Raises:
        JudgeError, ProviderError: a call came to nothing.
    """
    if question.metric == "answer_relevancy":
        return await answer_relevancy(question, inquiry)
    chunks = question.view.retrieved()
    if question.metric == "faithfulness":
        return await faithfulness(question, chunks, inquiry, kept=kept)
    if chunks is None:
        return NO_CONTEXT
    if not chunks:
        return Measured(score=0.0, reason="The search found nothing.")
    if question.metric == "contextual_relevancy":
        return await contextual_relevancy(question, chunks, inquiry)
    if question.metric == "contextual_precision":
        return await contextual_precision(question, chunks, inquiry)
    return await contextual_recall(question, chunks, inquiry)
