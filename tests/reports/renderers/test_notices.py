from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evals_app.reports.renderers.notices import Names, Notice, mail_text, notice_json, slack_json

NOTICE = Notice(
    event="worse",
    run=12,
    suite="refunds",
    suite_name="Refunds & <more>",
    agent="shop",
    agent_name="Shop",
    model="",
    status="finished",
    verdict="failed",
    stop_reason="",
    in_short="run 12: failed",
    cases=38,
    cases_passed=36,
    cases_measured=0,
    cases_not_graded=0,
    cost_usd=0.42,
    created_by="ann",
    started_at=None,
    finished_at=None,
    failed=Names(first=["One", "*Two*"], count=30),
    baseline=9,
    worse=Names(first=["One"], count=1),
    url="https://evals.example.org/12",
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "failed: 36 of 38 cases passed, 1 is worse than in run 9."),
        ({"worse": None}, "failed: 36 of 38 cases passed."),
        ({"worse": None, "cases_not_graded": 2}, "36 of 38 cases passed, 2 could not be graded."),
        ({"worse": Names()}, "failed: 36 of 38 cases passed."),
        ({"worse": Names(count=2)}, "2 are worse"),
        ({"status": "cancelled"}, "was cancelled"),
        ({"event": "test"}, "This is a test."),
    ],
)
def test_a_headline_says_it_in_one_sentence(changes: dict[str, object], words: str) -> None:
    assert words in replace(NOTICE, **changes).headline  # type: ignore[arg-type]


def test_a_chat_gets_escaped_texts_lists_and_links() -> None:
    message = slack_json(NOTICE)

    texts = [block["text"]["text"] for block in message["blocks"][:-1]]
    assert "Refunds &amp; &lt;more&gt;" in message["text"]
    assert texts[1].splitlines()[1:] == ["• One"]
    assert texts[2].splitlines()[-1] == "and 28 more"
    (context,) = message["blocks"][-1]["elements"]
    assert "<https://evals.example.org/12|Open the run>" in context["text"]


def test_sections_stay_within_the_limit_of_slack() -> None:
    long = Names(first=["x" * 200] * 20, count=20)

    blocks = slack_json(replace(NOTICE, failed=long))["blocks"]

    assert max(len(block["text"]["text"]) for block in blocks[:-1]) <= 3000


def test_a_program_gets_type_time_and_data() -> None:
    at = datetime(2026, 11, 26, 3, 4, 5, tzinfo=UTC)

    body = notice_json(NOTICE, at=at)

    assert (body["type"], body["timestamp"]) == ("run.worse", "2026-11-26T03:04:05+00:00")
    assert body["data"]["failed"] == {"count": 30, "names": ["One", "*Two*"]}


def test_an_email_lists_the_cases() -> None:
    text = mail_text(NOTICE)

    assert text.startswith(NOTICE.headline)
    assert "* *Two*\nand 28 more" in text
    assert "https://evals.example.org/12" in text


def test_a_message_about_real_conversations_names_their_set() -> None:
    notice = replace(NOTICE, set_name="Help desk", agent_name="Recorded")

    assert "of 38 conversations passed" in notice.headline
    text = mail_text(notice)
    assert "real conversations of Help desk" in text
    assert "Recorded" not in text
