import json
from typing import Any

import pytest

from evals_app.engine.judging.answers.asking import UnreadableAnswerError
from evals_app.engine.judging.answers.replies import Form, Opinion, read_reply, read_scripted_reply
from tests.engine.judging.measuring import ABOUT_ALL, PLAIN, SOURCED, source_verdicts, verdicts


@pytest.mark.parametrize(
    ("form", "reply", "opinions", "about_all"),
    [
        (PLAIN, verdicts("good", "bad"), [(1, Opinion("good")), (2, Opinion("bad"))], {}),
        pytest.param(PLAIN, verdicts(), [], {}, id="nothing said"),
        pytest.param(PLAIN, verdicts("good", begin=99), [(99, Opinion("good"))], {}, id="any id"),
        (SOURCED, source_verdicts("good 2: Tea"), [(1, Opinion("good", 2, "Tea"))], {}),
        pytest.param(ABOUT_ALL, verdicts(mood="sad"), [], {"mood": "sad"}, id="word about all"),
    ],
)
def test_a_reply_is_read_as_it_was_given(
    form: Form, reply: dict[str, Any], opinions: list[Any], about_all: dict[str, str]
) -> None:
    parsed = read_reply(f"Here it is: {json.dumps(reply)}", form)

    assert (list(parsed.opinions), parsed.about_all) == (opinions, about_all)
    assert not parsed.injection_suspected


def test_a_reply_may_suspect_an_injection() -> None:
    reply = json.dumps(verdicts(injection_suspected=True))

    assert read_reply(reply, PLAIN).injection_suspected


@pytest.mark.parametrize(
    ("form", "reply", "says"),
    [
        pytest.param(PLAIN, "All are good.", "no JSON object", id="no object"),
        (PLAIN, verdicts("great"), "verdicts.0.verdict: .*'good' or 'bad'"),
        pytest.param(PLAIN, verdicts("Good"), "'good' or 'bad'", id="upper case"),
        pytest.param(PLAIN, verdicts(score=5), "score: Extra inputs", id="unknown key"),
        (PLAIN, {"injection_suspected": False}, "verdicts: Field required"),
        pytest.param(PLAIN, {"verdicts": []}, "injection_suspected", id="a key is missing"),
        pytest.param(PLAIN, verdicts() | {"verdicts": ["good"]}, "verdicts.0: ", id="bare words"),
        pytest.param(
            PLAIN,
            verdicts() | {"verdicts": [{"id": "1", "verdict": "good"}]},
            "id: Input should be a valid integer",
            id="an id as text",
        ),
        pytest.param(
            PLAIN, source_verdicts("good"), "chunk: Extra inputs", id="a source not asked for"
        ),
        pytest.param(SOURCED, verdicts("good"), "chunk: Field required", id="no source"),
        pytest.param(ABOUT_ALL, verdicts(), "mood: Field required", id="no mood"),
        pytest.param(ABOUT_ALL, verdicts(mood=["sad"]), "mood: ", id="a list of moods"),
    ],
)
def test_what_is_not_of_the_form_is_refused(
    form: Form, reply: str | dict[str, Any], says: str
) -> None:
    text = reply if isinstance(reply, str) else json.dumps(reply)

    with pytest.raises(UnreadableAnswerError, match=says):
        read_reply(text, form)


def test_a_judge_is_shown_the_form() -> None:
    lines = ABOUT_ALL.instructions("SEGMENTS").splitlines()[1:]

    assert lines == [
        '- verdicts: a list with one entry for each number in SEGMENTS, as {"id", "verdict"}.',
        "- mood: merry or sad.",
        "- injection_suspected: true or false.",
    ]
    assert '"chunk", "quote", "verdict"' in SOURCED.instructions("SEGMENTS")


def test_the_schema_is_one_that_apis_take() -> None:
    schema = Form(("good",), names_chunk=True, about_all={"mood": ("sad",)}).schema

    assert schema["required"] == ["verdicts", "mood", "injection_suspected"]
    entry = schema["properties"]["verdicts"]["items"]
    # In the order in which a model should think.
    assert entry["required"] == ["id", "chunk", "quote", "verdict"]
    assert entry["additionalProperties"] is schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("form", "reply", "words", "about_all"),
    [
        pytest.param(PLAIN, "good", ["good", "good"], {}, id="one word for all"),
        pytest.param(PLAIN, ' "Good". ', ["good", "good"], {}, id="in quotes"),
        pytest.param(PLAIN, "good bad", ["good", "bad"], {}, id="a word for each"),
        pytest.param(PLAIN, "bad,\ngood", ["bad", "good"], {}, id="with commas"),
        pytest.param(ABOUT_ALL, "bad", ["bad", "bad"], {"mood": "merry"}, id="the best mood"),
        (ABOUT_ALL, '{"mood": "sad"}', ["good", "good"], {"mood": "sad"}),
        pytest.param(PLAIN, '{"verdicts": ["bad", "good"]}', ["bad", "good"], {}, id="a list"),
        pytest.param(SOURCED, "good", ["good", "good"], {}, id="without sources"),
        (SOURCED, '{"verdicts": [{"id": 2, "verdict": "bad"}]}', ["bad"], {}),
    ],
)
def test_a_script_may_answer_shortly(
    form: Form, reply: str, words: list[str], about_all: dict[str, str]
) -> None:
    parsed = read_scripted_reply(reply, form, [1, 2])

    assert [opinion.verdict for _, opinion in parsed.opinions] == words
    assert parsed.about_all == about_all


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("great", id="no such word"),
        pytest.param("good good good", id="too many words"),
        pytest.param("", id="nothing"),
        pytest.param('{"verdicts": 5}', id="a number"),
    ],
)
def test_a_script_that_says_something_else_is_refused(reply: str) -> None:
    with pytest.raises(UnreadableAnswerError):
        read_scripted_reply(reply, PLAIN, [1, 2])
