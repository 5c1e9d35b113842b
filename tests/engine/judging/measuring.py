"""What measures of a judge are tested with: views of an answer, and replies on many items."""

from typing import Any

from evals_app.engine.judging.answers.replies import Form
from evals_app.engine.judging.prompts.inquiry import Inquiry
from evals_app.engine.llm.call import ModelCall, UserMessage
from evals_app.engine.record.view import View
from tests.engine.graders.makers import make_trial, make_turn
from tests.engine.judging.makers import FakeModel, make_asker

NONCE = "0123456789ab"


def prompt_of(call: ModelCall) -> str:
    """Return what a call asks, without the rules."""
    message = call.messages[0]
    assert isinstance(message, UserMessage)
    return message.text


def make_inquiry(model: FakeModel | None = None, **changes: Any) -> Inquiry:
    return Inquiry(make_asker(model or FakeModel(), **changes), NONCE)


def rag_view(
    answer: str = "Books can be returned within 30 days.",
    *,
    chunks: tuple[str, ...] | None = ("Returns are accepted for 30 days.", "Tea is free."),
    question: str = "How long may I return books?",
    expected: str | None = None,
    **changes: Any,
) -> View:
    """Look at one answer, and at what was retrieved for it."""
    turn = make_turn(answer, user=question)
    fields = {"expected_text": expected, "retrieval_context": chunks, **changes}
    return View(make_trial(turn), turn, **fields)


def verdicts(*words: str, begin: int = 1, **rest: Any) -> dict[str, Any]:
    """Write a reply with a word for each item in order; `supported 2: tea` has a chunk and a quote."""
    entries = []
    for number, word in enumerate(words, begin):
        verdict, _, source = word.partition(" ")
        chunk, _, quote = source.partition(": ")
        named = {"chunk": int(chunk), "quote": quote} if source else {}
        entries.append({"id": number, **named, "verdict": verdict})
    return {"verdicts": entries, "injection_suspected": False, **rest}


def source_verdicts(*words: str, begin: int = 1, **rest: Any) -> dict[str, Any]:
    """Write a reply like `verdicts`, in which every entry has a source, perhaps none."""
    reply = verdicts(*words, begin=begin, **rest)
    none = {"chunk": 0, "quote": ""}
    return reply | {"verdicts": [none | entry for entry in reply["verdicts"]]}


def claims(*texts: str, **rest: Any) -> dict[str, Any]:
    """Write a reply that lists claims; `claim < source` has a source, else the claim is it."""
    claims = []
    for text in texts:
        claim, _, source = text.partition(" < ")
        claims.append({"source": source or claim, "claim": claim})
    return {"claims": claims, "injection_suspected": False, **rest}


PLAIN = Form(("good", "bad"))
SOURCED = Form(("good", "bad"), names_chunk=True)
ABOUT_ALL = Form(("good", "bad"), about_all={"mood": ("merry", "sad")})
