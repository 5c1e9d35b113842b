"""Judges of plug-ins: what they are asked, what they may answer, and how they may fail."""

import doctest
import time
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.basics.errors import JudgeError
from evals_app.engine.llm import judge_plugins
from evals_app.engine.llm.budget import BudgetAccount, CallBudget
from evals_app.engine.llm.judge_plugins import JudgeReply, JudgeRequest, judge_problem
from evals_app.engine.llm.keys import why_unreachable
from evals_app.engine.llm.models import Models
from evals_app.engine.specs.base_spec import ModelSpec
from tests.engine.llm.makers import make_call
from tests.offered import Offer

pytestmark = pytest.mark.anyio


def as_mapping(request: JudgeRequest) -> Mapping[str, Any]:
    return {"asked": request.question, "of": request.purpose}


async def with_costs(request: JudgeRequest) -> JudgeReply:
    return JudgeReply("{}", cost_usd=0.25, prompt_tokens=7, response_tokens=3, model="house-2")


def broken(request: JudgeRequest) -> str:
    raise ValueError("the server is down")


async def leaves(request: JudgeRequest) -> str:
    raise SystemExit(3)


def slow(request: JudgeRequest) -> str:
    time.sleep(0.5)
    return "{}"


def returns_a_list(request: JudgeRequest) -> Any:
    return ["pass"]


def returns_no_json(request: JudgeRequest) -> Any:
    return {"verdict": {1, 2}}


def earns(request: JudgeRequest) -> JudgeReply:
    return JudgeReply("{}", cost_usd=-1)


def takes_nothing() -> str:
    return ""


async def granted(_: BudgetAccount, amounts: Any) -> list[bool]:
    return [True for _ in amounts]


def the(function: str) -> str:
    return f"{__name__}:{function}"


async def test_it_gets_the_question_and_its_answer_is_a_models(offer: Offer) -> None:
    offer("judges", house=the("as_mapping"))

    async with Models([]) as models:
        reply = await models.complete(
            make_call("Is it polite?", provider="plugin", model="house", purpose="judge")
        )

    assert reply.text == '{"asked": "Is it polite?", "of": "judge"}'
    assert (reply.model, reply.cost_usd) == ("plugin/house", None)


async def test_what_it_costs_counts_as_spent(offer: Offer) -> None:
    offer("judges", house=the("with_costs"))
    budget = CallBudget(granted, is_limited=True)

    async with Models([], budget=budget) as models:
        call = make_call(provider="plugin", model="house", purpose="judge")
        reply = await models.complete(call)

    assert (reply.model, reply.usage.prompt_tokens, reply.usage.response_tokens) == (
        "house-2",
        7,
        3,
    )
    assert budget.account.spent == {call.use: Decimal("0.25")}


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("broken", "raised ValueError: the server is down."),
        ("leaves", "raised SystemExit: 3."),
        ("slow", "took longer than 0.05 s"),
        ("returns_a_list", "expected a text, a mapping or a JudgeReply"),
        ("returns_no_json", "not JSON"),
        ("earns", "expected US dollars"),
    ],
)
async def test_one_that_fails_leaves_no_grade_and_is_named(
    offer: Offer, function: str, words: str
) -> None:
    offer("judges", house=the(function))

    async with Models([]) as models:
        with pytest.raises(JudgeError) as caught:
            await models.complete(make_call(provider="plugin", model="house", timeout_s=0.05))

    assert words in str(caught.value)
    assert "plugin/house of the package" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param(
            "house", "no_such_module:judge", "No module named", id="its module is missing"
        ),
        pytest.param("house", "pathlib:Path", "expected a function", id="a class"),
        pytest.param("house", "math:pi", "expected a function", id="no function"),
        pytest.param("house", the("takes_nothing"), "one argument", id="no argument"),
        pytest.param("The House", the("broken"), "Names are like", id="a name that is not one"),
    ],
)
def test_one_that_cannot_be_used_says_why(offer: Offer, name: str, value: str, words: str) -> None:
    offer("judges", **{name: value})

    assert words in str(judge_problem(name))
    assert value in str(judge_problem(name))


def test_one_that_is_missing_is_unreachable_and_the_nearest_is_named(offer: Offer) -> None:
    offer("judges", house=the("broken"))

    assert why_unreachable(ModelSpec(provider="plugin", name="house"), {}, {}) is None
    assert "house" in str(why_unreachable(ModelSpec(provider="plugin", name="hose"), {}, {}))


def test_the_examples_in_docstrings_are_true() -> None:
    results = doctest.testmod(judge_plugins)

    assert (results.failed, results.attempted > 5) == (0, True)
