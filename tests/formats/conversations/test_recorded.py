from evals_app.engine.record.trial import Message, ToolCall, TurnRecord
from evals_app.formats.conversations.recorded import OutsideGrade, RecordedConversation

_CALL = ToolCall("find", {"mail": "ann@x.org"}, result={"phone": 491511234567, "n": 3, "ok": True})
_TURN = TurnRecord(
    1, "I am Ann", reply="Hi Ann", messages=(Message("assistant", "Hi Ann", (_CALL,)),)
)
_CONVERSATION = RecordedConversation(
    "7",
    (_TURN,),
    history=(Message("assistant", "Ann?"),),
    facts={"city": "Ann Arbor"},
    grades=(OutsideGrade("polite", passed=True, reason="Says Ann"),),
)


def test_each_text_is_changed_and_numbers_that_stay_the_same_stay_numbers() -> None:
    changed = _CONVERSATION.with_texts(
        lambda text, _called: (
            text.replace("Ann", "X").replace("ann@x.org", "Y").replace("491511234567", "Z")
        )
    )

    (turn,) = changed.turns
    (message,) = turn.messages
    (call,) = message.tool_calls
    assert (turn.user, turn.reply, message.text) == ("I am X", "Hi X", "Hi X")
    assert (call.args, call.result) == ({"mail": "Y"}, {"phone": "Z", "n": 3, "ok": True})
    assert changed.history[0].text == "X?"
    assert changed.facts == {"city": "X Arbor"}
    assert changed.grades[0].reason == "Says X"
