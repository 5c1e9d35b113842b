"""What of a model's text is reasoning, and what is its reply."""

import time

import pytest

from evals_app.engine.basics.reasoning import without_reasoning

FENCED = "Write it so:\n```xml\n<think>42</think>\n```\nThen answer."


@pytest.mark.parametrize(
    ("text", "reply", "reasoning"),
    [
        pytest.param("<think>42</think> I do not know.", "I do not know.", "42", id="before"),
        pytest.param("<think>\nIs it 42?\n</think>\n\nNo.", "No.", "Is it 42?", id="on lines"),
        pytest.param("<think>\n\n</think>\n\nNo.", "No.", "", id="empty"),
        pytest.param("<THINK>42</Think> No.", "No.", "42", id="in capitals"),
        pytest.param("<thinking>42</thinking> No.", "No.", "42", id="the longer name"),
        pytest.param("<think >42</think > No.", "No.", "42", id="with spaces"),
        pytest.param("\n  <think>42</think> No.", "No.", "42", id="after blank lines"),
        pytest.param("<think>a</think>No.<think>b</think>Yes.", "No. Yes.", "a\n\nb", id="twice"),
        pytest.param("Let me see. <think>42</think> No.", "Let me see. No.", "42", id="inside"),
        pytest.param("It is 42? 43!\n</think>\n\nNo.", "No.", "It is 42? 43!", id="no beginning"),
        pytest.param("</think>\nNo.", "No.", "", id="only an end"),
        pytest.param("<think>Is it 42", "", "Is it 42", id="cut off"),
        pytest.param("Let me see.\n<think>Is it", "Let me see.", "Is it", id="cut off later"),
        pytest.param("<think>42</think>", "", "42", id="no reply"),
        pytest.param("[Bot] <think>42</think> No.", "[Bot] No.", "42", id="in brackets, not JSON"),
        pytest.param("<think>`a</think> It is `b`.", "It is `b`.", "`a", id="a mark in it"),
        pytest.param("<think>```\na</think>\nNo.", "No.", "```\na", id="a fence in it"),
        pytest.param('<think>{"a": 1}</think>{"a": 2}', '{"a": 2}', '{"a": 1}', id="JSON"),
    ],
)
def test_reasoning_is_not_the_reply(text: str, reply: str, reasoning: str) -> None:
    assert without_reasoning(text) == (reply, reasoning)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("  It is 42.\n", id="no tag"),
        pytest.param("", id="empty"),
        pytest.param("Put it between `<think>` and `</think>`.", id="code in a sentence"),
        pytest.param("Put it between ``<think>`` and ``</think>``.", id="code in two marks"),
        pytest.param(FENCED, id="code on lines of its own"),
        pytest.param(FENCED.replace("```", "~~~~"), id="code between tildes"),
        pytest.param("```\n<think>42", id="code that was cut off"),
        pytest.param("The tag <think> begins it.", id="a tag in a sentence"),
        pytest.param('{"note": "<think>42</think> No."}', id="a JSON object"),
        pytest.param('["</think>"]', id="a JSON list"),
        pytest.param('{"said": "</think> {"a": 1}"}', id="JSON that is broken"),
        pytest.param("<thinker>42</thinker>", id="another tag"),
        pytest.param("I think > 42.", id="the word"),
    ],
)
def test_a_text_about_the_tags_stays_as_it_is(text: str) -> None:
    assert without_reasoning(text) == (text, "")


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param("x <think>", id="beginnings"),
        pytest.param("</think>", id="ends"),
        pytest.param("<think></think>", id="pairs"),
        pytest.param("```a\n", id="fences"),
        pytest.param("`a", id="marks"),
        pytest.param("` ``` ````` ", id="marks of many lengths"),
        pytest.param(" ", id="spaces"),
        pytest.param("\n", id="lines"),
        pytest.param("<think" + " " * 50, id="broken tags"),
    ],
)
def test_long_texts_take_no_time(piece: str) -> None:
    text = piece * (500_000 // len(piece)) + "\nx <think>"

    began = time.process_time()
    without_reasoning(text)

    assert time.process_time() - began < 3
