import pytest

from evals_app.engine.suites.case_templates import TEMPLATES, CaseTemplate, Tools, left_over
from evals_app.engine.verdicts.grading import NO_AIDS, grade_check
from tests.engine.makers import make_case, make_suite, make_trial, make_turn

TOOLS = frozenset({"budget", "find_order", "order.cancel", "bookSeat"})


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("tools", [None, frozenset(), TOOLS])
def test_every_template_is_a_case_that_asserts_something(
    template: CaseTemplate, tools: frozenset[str] | None
) -> None:
    case = template.fill(tools)
    suite = make_suite(case)

    assert case.name == template.title
    assert not suite.asserts_nothing(case)
    assert [check.cannot_fail_at() for turn in case.turns for check in turn.assertions or ()] == [
        None for turn in case.turns for _ in turn.assertions or ()
    ]


@pytest.mark.parametrize("slug", ["look-up", "confirmation", "must-not-call"])
def test_checks_of_tools_name_tools_that_the_agent_has(slug: str) -> None:
    checks = [
        check for turn in TEMPLATES[slug].fill(TOOLS).turns for check in turn.assertions or ()
    ]
    mentions = [named for check in checks for named in check.grader.mentions()]

    assert mentions
    assert {named.name for named in mentions} <= TOOLS


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(TOOLS, Tools("find_order", "bookSeat"), id="by the words of their names"),
        pytest.param({"budget"}, Tools(), id="no word fits"),
        pytest.param(None, Tools(), id="unknown"),
    ],
)
def test_tools_are_recognized_by_whole_words(names: frozenset[str] | None, expected: Tools) -> None:
    assert Tools.of(names) == expected


@pytest.mark.anyio
async def test_a_reply_with_more_numbers_than_the_right_one_passes() -> None:
    case = TEMPLATES["number"].fill(None)
    check = (case.turns[0].assertions or [])[0]
    trial = make_trial(make_turn(f"Order 204 comes to {case.turns[0].expected} EUR."))

    grade = await grade_check(
        check, trial=trial, case=case, turn=1, aids_for=lambda _check, _key: NO_AIDS, key=""
    )

    assert grade.passed is True


def test_placeholders_that_were_not_replaced_are_found_and_other_brackets_are_not() -> None:
    started = TEMPLATES["look-up"].fill(TOOLS)
    replaced = make_case("Where is [it]?", contains="[1] ['x']")

    assert [text[:3] for text in left_over(started)] == ["[A ", "[wo"]
    assert left_over(replaced) == []
