from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.admin.conversation.judgements import Judgement, judgement, other_details
from evals_app.models import GradeResult
from evals_app.reports.answers.agreement import NOT_COMPARED
from tests.labels import forty_labels, judged_grade, label, make_yardstick
from tests.makers import make_execution, make_grade, make_run, make_trial

HOSTILE = "<script>alert(1)</script>"


def judged(**details: Any) -> GradeResult:
    return make_grade(1, family="judged", type="rubric", details=details)


def judgement_of(grade: GradeResult) -> Judgement:
    return judgement(grade, {})


def item(number: int = 1, verdict: object = "pass", **changes: Any) -> dict[str, Any]:
    return {"id": number, "text": "Names the day", "verdict": verdict, "critique": "It does."} | (
        changes
    )


@pytest.mark.parametrize(
    ("verdict", "tone", "word"),
    [
        pytest.param("pass", "good", "Met", id="met"),
        pytest.param("fail", "bad", "Missed", id="missed"),
        pytest.param("not_applicable", "calm", "Not applicable", id="not applicable"),
        pytest.param(None, "warn", "Undecided", id="undecided"),
        pytest.param("supported", "good", "Supported", id="of a claim"),
        pytest.param("contradicted", "bad", "Contradicted", id="against a claim"),
        pytest.param("not_mentioned", "calm", "Not mentioned", id="of no known tone"),
        pytest.param(7, "warn", "Undecided", id="no word at all"),
    ],
)
def test_an_item_wears_its_verdict(verdict: object, tone: str, word: str) -> None:
    (line,) = judgement_of(judged(items=[item(verdict=verdict)])).items

    assert f"is-{tone}" in line.badge
    assert line.badge.endswith(f">{word}</span>")
    assert (line.id, line.text, line.note) == (1, "Names the day", "It does.")


def test_the_title_of_items_counts_them() -> None:
    shown = judgement_of(
        judged(items=[item(1), item(2), item(3, "fail")], voters=["a/b", "a/b", "a/b"])
    )

    assert shown.items_title == "Items: 2 met, 1 missed; 3 votes on each"


def test_an_item_shows_its_quote_and_its_votes() -> None:
    evidence = {"quote": "on Friday", "turn": 1, "bears_on": "1", "is_verified": True}

    (line,) = judgement_of(
        judged(items=[item(evidence=evidence, votes=["pass", "fail", "pass", None])])
    ).items

    assert line.quote == {**evidence, "who": ""}  # from before speakers were noted
    assert line.votes == "2 met, 1 missed, 1 undecided"


@pytest.mark.parametrize(
    ("speaker", "who"), [("user", "the user"), ("agent", "the agent"), ("x", "")], ids=str
)
def test_a_quote_shows_who_says_it(speaker: str, who: str) -> None:
    evidence = {"quote": "on Friday", "turn": 1, "is_verified": True, "speaker": speaker}

    (line,) = judgement_of(judged(items=[item(evidence=evidence)])).items

    assert line.quote is not None
    assert line.quote["who"] == who


def test_votes_are_named_with_what_they_said() -> None:
    votes = [
        {"model": "a/b", "raw": "pass", "critique": "Fine."},
        {"model": "c/d", "raw": None, "critique": "The judge refused to answer."},
    ]

    shown = judgement_of(judged(votes=votes))

    assert shown.votes_title == "2 votes: pass, no grade"
    assert [(vote.model, vote.critique) for vote in shown.votes] == [
        ("a/b", "Fine."),
        ("c/d", "The judge refused to answer."),
    ]


@pytest.mark.parametrize(
    ("flags", "warnings", "facts"),
    [
        pytest.param([], 0, (NOT_COMPARED,), id="none"),
        (["injection", "unverified", "same_family"], 3, (NOT_COMPARED,)),
        pytest.param(["uncalibrated"], 0, (NOT_COMPARED,), id="stored when it was"),
        pytest.param(["against_verdict"], 1, (NOT_COMPARED,), id="against its verdict"),
        pytest.param(["scattered"], 1, (NOT_COMPARED,), id="votes"),
        pytest.param(["scripted"], 0, ("scripted judge",), id="scripted"),
        pytest.param(["uncalibrated", "scripted"], 0, ("scripted judge",), id="stored of a script"),
        pytest.param(["of_tomorrow", 7], 0, (NOT_COMPARED,), id="unknown"),
    ],
)
def test_flags_are_explained(flags: list[Any], warnings: int, facts: tuple[str, ...]) -> None:
    shown = judgement_of(judged(flags=flags))

    assert (len(shown.warnings), shown.facts) == (warnings, facts)


def test_settings_that_the_judge_did_not_accept_are_named() -> None:
    shown = judgement_of(judged(dropped=["temperature", "top_p"]))

    assert shown.facts == ("temperature, top p not accepted by the judge model",)


@pytest.mark.parametrize(
    ("count", "passed", "is_open"),
    [
        pytest.param(12, True, True, id="a few"),
        pytest.param(13, True, False, id="many, all well"),
        pytest.param(13, False, True, id="many, not all well"),
    ],
)
def test_many_items_are_folded_unless_something_is_wrong(
    *, count: int, passed: bool, is_open: bool
) -> None:
    grade = judged(items=[item(n) for n in range(count)])
    grade.passed = passed

    assert judgement_of(grade).is_open is is_open


@pytest.mark.parametrize(
    "details",
    [
        pytest.param({"items": "all", "votes": 3, "flags": {}, "voters": None}, id="no lists"),
        pytest.param({"items": ["a", 1, None], "votes": [[]]}, id="no mappings"),
        pytest.param({"items": [{}], "votes": [{}]}, id="empty mappings"),
        pytest.param({"items": [{"votes": 5}]}, id="votes that are no list"),
        pytest.param({"items": [{"id": "x", "verdict": [], "evidence": "q"}]}, id="other kinds"),
    ],
)
def test_details_of_another_shape_break_no_page(details: dict[str, Any]) -> None:
    judgement_of(judged(**details))


def test_the_items_of_other_checks_are_json_like_the_rest() -> None:
    grade = make_grade(1, family="code", details={"items": [item()], "x": 1})

    assert judgement_of(grade).items == ()
    assert other_details(grade) == grade.details
    assert other_details(judged(items=[], votes=[], flags=[], raw=4)) == {"raw": 4}


@pytest.mark.django_db
def test_the_page_shows_items_and_votes_and_runs_nothing_in_them(admin_client: Client) -> None:
    evidence = {"quote": HOSTILE, "turn": 1, "bears_on": "", "is_verified": False}
    items = [item(3, "fail", text=HOSTILE, critique=HOSTILE, evidence=evidence)]
    votes = [{"model": HOSTILE, "raw": HOSTILE, "critique": HOSTILE}]
    grade = judged(items=items, votes=votes, flags=["injection"], raw=4)
    grade.evidence = [evidence]
    execution = make_execution(make_run(["failed"]), trial=make_trial(), grades=[grade])

    page = admin_client.get(reverse("admin:evals_app_execution_change", args=[execution.pk]))

    text = page.content.decode()
    assert HOSTILE not in text
    assert '<li value="3">' in text
    assert "aimed at the judge" in text
    assert text.count("(not in the conversation)") == 1
    assert "&quot;raw&quot;: 4" in text


def with_grades(*grades: GradeResult) -> str:
    execution = make_execution(make_run(["failed"]), trial=make_trial(), grades=grades)
    return reverse("admin:evals_app_execution_change", args=[execution.pk])


@pytest.mark.django_db
def test_a_grade_says_how_its_judge_agrees_with_people_as_it_is_today(admin_client: Client) -> None:
    yardstick = make_yardstick()
    url = with_grades(judged_grade(yardstick))
    before = admin_client.get(url).content.decode()
    forty_labels(yardstick)

    after = admin_client.get(url).content.decode()

    calibration = reverse("admin:evals_app_yardstick", args=[yardstick.digest])
    assert NOT_COMPARED in before
    assert NOT_COMPARED not in after
    assert f'<a href="{calibration}">agrees with people in 34 of 40</a>' in after


@pytest.mark.django_db
def test_a_bullet_says_how_its_judge_agrees_with_people(admin_client: Client) -> None:
    rubric, first, second = (make_yardstick(name) for name in ("Rubric", "Polite", "Short"))
    items = [item(1, yardstick=first.digest), item(2, yardstick=second.digest)]
    label(first, person=True)
    label(first, person=False)

    page = admin_client.get(with_grades(judged_grade(rubric, details={"items": items})))
    text = page.content.decode()

    assert text.count("agrees with people in 1 of 2") == 1
    assert text.count("agrees with people on 1 of 2 bullets") == 1
