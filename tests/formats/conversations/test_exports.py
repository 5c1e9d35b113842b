"""What many products export loads with no word lost, and says what is left out."""

import pytest

from evals_app.formats.conversations.read import read_conversations
from evals_app.formats.conversations.recorded import RecordedConversation
from tests.formats.conversations.exports import AGENT, EXPORTS, USER, Export, Talk


def said_in(conversation: RecordedConversation) -> list[tuple[str, str]]:
    said = []
    for turn in conversation.turns:
        said.append((USER, turn.user))
        said += [(AGENT, message.text) for message in turn.messages]
    return said


def in_lines(talk: Talk) -> list[tuple[str, str]]:
    """Return what was said; a table or a text may have other blank lines."""
    return [(who, "\n".join(filter(None, text.split("\n")))) for who, text in talk.said]


@pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.name)
def test_no_word_is_lost_and_each_loss_is_named(export: Export) -> None:
    file = read_conversations(export.name, export.write())
    found = list(file)

    assert file.problems == []
    assert [
        [(who, "\n".join(filter(None, text.split("\n")))) for who, text in said_in(one)]
        for one in found
    ] == [in_lines(talk) for talk in export.talks]
    assert sum(file.losses.values()) == export.left_out
