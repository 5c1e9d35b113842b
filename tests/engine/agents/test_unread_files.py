"""A document that cannot be read is said to be so; the turn goes on."""

from evals_app.engine.agents.external.outside import _file
from evals_app.engine.agents.model import _document_text
from evals_app.engine.llm.call import FileContent
from evals_app.engine.specs.files import MEDIA_TYPES

SPOILT = FileContent("list.xlsx", MEDIA_TYPES[".xlsx"], b"no archive")
SAID = "[File list.xlsx cannot be read: it is not a valid xlsx document.]"


def test_a_model_is_shown_that_a_document_cannot_be_read() -> None:
    assert _document_text(SPOILT) == SAID


def test_an_agent_outside_is_shown_that_a_document_cannot_be_read() -> None:
    assert _file(SPOILT)["text"] == SAID
