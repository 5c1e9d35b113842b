from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from evals_app.engine.judging.answers.asking import UnreadableAnswerError
from evals_app.engine.judging.answers.objects import last_object, read_object, validate_answer


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    number: int


@pytest.mark.parametrize(
    ("text", "last"),
    [
        pytest.param('{"a": 1}', {"a": 1}, id="alone"),
        pytest.param('```json\n{"a": 1}\n```', {"a": 1}, id="fenced"),
        pytest.param('First {"a": 1}, so: {"b": 2}.', {"b": 2}, id="the last one"),
        pytest.param('{"a": 1}, as I said: {"a": 1}', {"a": 1}, id="the same twice"),
        pytest.param('{"a": 1} with no tool {}', {"a": 1}, id="empty braces behind it"),
        pytest.param('{Look at {"a": 1}}', {"a": 1}, id="in braces of the prose"),
        pytest.param('{"a": {"b": "}"}}', {"a": {"b": "}"}}, id="braces inside"),
        pytest.param('{"a": "\\"}"}', {"a": '"}'}, id="escaped quote"),
        pytest.param('He said "{" and {"a": 1}', {"a": 1}, id="a brace in the prose"),
        pytest.param('{not json} {"a": 1}', {"a": 1}, id="a mapping that is none"),
        pytest.param('{"a": 1} {not json}', {"a": 1}, id="junk after it"),
        pytest.param('First {"a": 1}, no: {"a": 2}.', None, id="two that differ"),
        pytest.param('[{"a": 1}, {"a": 2}]', None, id="two in a list"),
        pytest.param('{"a": 1, "a": 2}', None, id="a key twice"),
        pytest.param('{"quote": "{"a": 1}", "a": 2}', None, id="one quoted in a broken one"),
        pytest.param("{'quote': '{\"a\": 1}', 'a': 2}", None, id="one quoted in what is no JSON"),
        pytest.param('{"a": "x"y"} He says {"a": 1}', None, id="one behind a broken one"),
        pytest.param('{"a": 1} {"a": 2, "b', None, id="one that is not complete"),
        pytest.param("[1, 2]", None, id="a list"),
        pytest.param("", None, id="empty"),
        pytest.param("{" * 5_000, None, id="open braces"),
        pytest.param('{"a": 1}' + "{ " * 5_000 + '{"a": 2}', None, id="open braces between"),
        pytest.param("{a" + " " * 200_000 + '{"a": 1}', {"a": 1}, id="a gap behind a brace"),
        pytest.param('{"a":' * 5_000 + "1" + "}" * 5_000, None, id="nested beyond reason"),
        pytest.param('{"a":' * 101 + "1" + "}" * 101, None, id="nested deeply"),
    ],
)
def test_the_last_balanced_object_is_found(text: str, last: dict[str, Any] | None) -> None:
    assert last_object(text) == last


def test_a_reply_without_an_object_cannot_be_read() -> None:
    assert read_object('Sure: {"a": 1}') == {"a": 1}
    with pytest.raises(UnreadableAnswerError, match="holds no JSON object"):
        read_object("Sure.")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param({}, "number: Field required", id="a key missing"),
        pytest.param({"number": "1"}, "number: Input should be a valid integer", id="a text"),
        pytest.param({"number": True}, "number: Input should be a valid integer", id="true"),
        pytest.param({"number": float("nan")}, "number: Input should be", id="no number"),
        pytest.param({"number": 1, "mood": 2}, "mood: Extra inputs", id="a key too many"),
    ],
)
def test_what_is_wrong_with_an_object_is_shown(data: dict[str, Any], says: str) -> None:
    with pytest.raises(UnreadableAnswerError, match=says):
        validate_answer(Answer, data)
