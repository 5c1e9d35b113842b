"""`decide --topic`: the answer about the cases with one tag, for pipelines."""

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from evals_app.library.shipping import set_readiness
from evals_app.models import Agent, Case
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db


def decide(*options: str) -> tuple[str, int]:
    out, code = StringIO(), 0
    try:
        call_command("decide", *options, stdout=out)
    except SystemExit as end:
        code = int(end.code or 0)
    return out.getvalue().replace("\u00a0", " "), code


@pytest.fixture(autouse=True)
def _suite() -> None:
    suite = make_suite()
    for name, tag in {"A": "returns", "B": "returns", "C": "sizes", "D": "new"}.items():
        Case.objects.create(suite=suite, name=name, tags=[tag])
    make_run({"A": ["failed"], "B": ["passed"], "C": ["passed"]})


@pytest.mark.parametrize(
    ("topic", "first", "code"),
    [
        ("returns", "returns. No (scripted): 1 case failed, and all must pass.", 1),
        ("sizes", "sizes. Yes (scripted): 1 of 1 case passed.", 0),
        ("new", "new. Not yet (scripted): 1 of 1 case has not run.", 3),
    ],
)
def test_only_the_cases_of_the_topic_decide(topic: str, first: str, code: int) -> None:
    said, exit_code = decide("--agent", "shop", "--topic", topic)

    assert (said.splitlines()[0], exit_code) == (first, code)


def test_shares_and_words_of_people_are_printed() -> None:
    agent, ana = Agent.objects.get(), User.objects.create_user("ana")
    row = set_readiness(agent, "returns", known=["returns"], state="ready", by=ana)

    said, _ = decide("--agent", "shop", "--topic", "returns")

    assert f"  {row.in_words}." in said.splitlines()
    assert said.splitlines()[-1] == "  1 of 2 cases passed (9 to 91 %)."


def test_json_has_the_keys_of_rest() -> None:
    said, code = decide("--agent", "shop", "--topic", "returns", "--json")

    (answer,) = json.loads(said)
    assert code == answer["exit_code"] == 1
    assert (answer["topic"], answer["passed"], answer["decided"]) == ("returns", 1, 2)
    assert answer["interval"] == pytest.approx([0.0945, 0.9055], abs=1e-4)
    assert [reason["suite"] for reason in answer["reasons"]] == ["Refunds"]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--topic", "returns"], "--agent"),
        (["--agent", "shop", "--topic", "return"], "'returns'"),
        (["--agent", "shop", "--topic", "x", "--tag", "y"], "--tag"),
        (["--agent", "shop", "--topic", "x", "refunds"], "suites"),
        (["--agent", "shop", "--topic", "x", "--run", "1"], "--run"),
    ],
)
def test_wrong_usage_is_refused(options: list[str], word: str) -> None:
    with pytest.raises(CommandError, match=word):
        decide(*options)
