from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.reports.answers.forecasts import (
    all_in_words,
    basis,
    figures,
    forecast_json,
    in_words,
)


def make_forecast(**changes: Any) -> Forecast:
    fields: dict[str, Any] = {
        "conversations": 24,
        "agent_calls": 48,
        "agent_prompt_tokens": 60_000,
        "agent_response_tokens": 9_000,
        "judge_calls": 24,
        "judge_prompt_tokens": 10_000,
        "judge_response_tokens": 2_432,
        "cost_usd": (Decimal("0.12"), Decimal("0.48")),
        "unpriced": (),
        "duration_s": (65.0, 170.0),
        "earlier_runs": 3,
        "new_cases": 0,
        "is_scripted": False,
    }
    return Forecast(**(fields | changes))


SCRIPT = {"agent_calls": 0, "judge_calls": 0, "is_scripted": True, "cost_usd": (Decimal(0),) * 2}


def test_a_forecast_is_two_sentences() -> None:
    assert in_words(make_forecast()) == (
        "Runs 24 conversations. About 72 model calls, 24 of them by the judge, 81,000 tokens,"
        " $0.12 to $0.48, 65 seconds to 3 minutes (from 3 earlier runs of this suite with this"
        " model)."
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"conversations": 1}, "Runs 1 conversation. ", id="one"),
        pytest.param({"conversations": 0}, "No conversation: no case matches.", id="none"),
        pytest.param({"judge_calls": 0}, "About 48 model calls, 81,000 tokens", id="no judge"),
        pytest.param({"agent_calls": 0}, "About 24 model calls, 81,000 tokens", id="judge alone"),
        pytest.param({"agent_calls": 1, "judge_calls": 0}, "About 1 model call, ", id="one call"),
        pytest.param({"agent_calls": 1176}, "About 1,200 model calls, ", id="two digits"),
        ({"cost_usd": (Decimal("0.5"),) * 2}, "tokens, about $0.50, 65"),
        pytest.param(
            {"cost_usd": None, "unpriced": ("x/a", "x/b")},
            "(from 3 earlier runs of this suite with this model). The cost is unknown: there"
            " is no price for x/a and x/b.",
            id="no price",
        ),
        pytest.param(SCRIPT, "No model is called, so it is free; takes 65 seconds", id="script"),
        pytest.param(
            {"agent_calls": 0, "judge_calls": 0, "is_outside": True},
            "Takes 65 seconds to 3 minutes; the agent's own cost is unknown (from 3 earlier"
            " runs of this suite with this agent).",
            id="agent outside",
        ),
        pytest.param(
            {"agent_calls": 0, "judge_calls": 0, "is_outside": True, "duration_s": None},
            "depend on the agent",
            id="agent outside that was never run",
        ),
        ({"agent_calls": 0, "is_outside": True, "duration_s": None}, "as long as the agent takes"),
        pytest.param(SCRIPT | {"embedder": "openai/small"}, "openai/small", id="embeddings"),
    ],
)
def test_sentences_follow_what_there_is_to_say(changes: dict[str, Any], words: str) -> None:
    assert words in in_words(make_forecast(**changes))


@pytest.mark.parametrize(
    ("duration_s", "words"),
    [
        ((0, 0.4), "less than a second"),
        ((0.2, 1.2), "up to 1 second"),
        ((1.4, 1.4), "about 1 second"),
        ((1, 30), "1 to 30 seconds"),
        ((89, 90), "89 seconds to 2 minutes"),
        ((120, 600), "2 to 10 minutes"),
        ((89 * 60, 90 * 60), "89 minutes to 1.5 hours"),
        ((7200, 36000), "2 to 10 hours"),
    ],
)
def test_durations_have_the_unit_that_says_most(
    duration_s: tuple[float, float], words: str
) -> None:
    assert f", {words} (from" in in_words(make_forecast(duration_s=duration_s))


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (None, "model)."),
        (Decimal("0.48"), "model)."),
        (Decimal("0.20"), "model). It may stop early at the limit of $0.20."),
        (Decimal("0.10"), "It will probably stop early at the limit of $0.10."),
    ],
)
def test_a_limit_that_may_be_reached_is_mentioned(limit: Decimal | None, words: str) -> None:
    assert in_words(make_forecast(), max_cost_usd=limit).endswith(words)


@pytest.mark.parametrize(
    ("limit", "left", "words"),
    [
        pytest.param(None, "0.48", "model).", id="enough is left"),
        pytest.param(None, "0.20", "may stop early at the monthly ceiling", id="perhaps not"),
        pytest.param(None, "0", "will probably stop early at the monthly", id="nothing is left"),
        pytest.param("0.20", "0.30", "at the limit of $0.20.", id="its own is lower"),
        pytest.param("0.30", "0.20", "of which $0.20 is left.", id="the month's is lower"),
    ],
)
def test_what_is_left_of_the_month_counts_as_a_limit(
    limit: str | None, left: str, words: str
) -> None:
    max_cost_usd = None if limit is None else Decimal(limit)

    text = in_words(make_forecast(), max_cost_usd=max_cost_usd, month_left_usd=Decimal(left))

    assert words in text
    assert text.count("stop early") == (words != "model).")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({}, "from 3 earlier runs of this suite with this model", id="runs"),
        pytest.param(
            {"earlier_runs": 1, "is_scripted": True},
            "from 1 earlier run of this suite with this script",
            id="a run of a script",
        ),
        pytest.param(
            {"new_cases": 2},
            "from 3 earlier runs of this suite with this model, 2 cases without a result yet",
            id="new cases",
        ),
        pytest.param({"earlier_runs": 0}, "a guess from the text of the cases", id="a guess"),
    ],
)
def test_it_says_where_it_comes_from(changes: dict[str, Any], words: str) -> None:
    assert basis(make_forecast(**changes)) == words


def test_as_json_nothing_is_rounded_and_unknown_is_null() -> None:
    answer = forecast_json(make_forecast(cost_usd=None, unpriced=("x/a",)), month_left_usd=None)

    assert answer == {
        "conversations": 24,
        "calls": {"agent": 48, "judge": 24},
        "tokens": {
            "agent": {"prompt": 60_000, "response": 9_000},
            "judge": {"prompt": 10_000, "response": 2_432},
        },
        "cost_usd": {"low": None, "high": None},
        "month_left_usd": None,
        "unpriced": ["x/a"],
        "duration_ms": {"low": 65_000, "high": 170_000},
        "may_skip_trials": False,
        "earlier_runs": 3,
        "basis": "from 3 earlier runs of this suite with this model",
    }
    assert forecast_json(make_forecast(), month_left_usd=None)["cost_usd"] == {
        "low": 0.12,
        "high": 0.48,
    }


@pytest.mark.parametrize(
    ("changes", "cost"),
    [
        pytest.param({}, ("$0.12 to $0.48", "about 72 model calls"), id="calls"),
        pytest.param(SCRIPT, ("Free", "no chat model is called"), id="script"),
        pytest.param(
            SCRIPT | {"embedder": "x/e"}, ("Nearly free", "no chat model is called"), id="embedder"
        ),
        pytest.param(
            {"cost_usd": None, "unpriced": ("x/a",)},
            ("Unknown", "a model has no price"),
            id="no price",
        ),
        pytest.param(
            {"agent_calls": 0, "judge_calls": 0, "is_outside": True},
            ("Unknown", "the agent runs elsewhere"),
            id="an agent elsewhere",
        ),
        pytest.param(
            {"agent_calls": 0, "is_outside": True},
            ("$0.12 to $0.48", "about 24 model calls; the agent costs more"),
            id="an agent elsewhere with a judge",
        ),
    ],
)
def test_the_figures_say_how_much_for_how_much_and_how_long(
    changes: dict[str, Any], cost: tuple[str, str]
) -> None:
    script = (
        "script" if "is_scripted" in changes else "agent" if "is_outside" in changes else "model"
    )

    assert figures([make_forecast(**changes)]) == [
        ("Conversations", "24", ""),
        ("Cost", *cost),
        (
            "Time",
            "65 seconds to 3 minutes",
            f"from 3 earlier runs of this suite with this {script}",
        ),
    ]


def test_the_figures_of_several_runs_are_their_sums() -> None:
    both = [make_forecast(), make_forecast(unpriced=("x/a",), cost_usd=None)]

    assert figures([make_forecast()] * 2, month_left_usd=Decimal(3)) == [
        ("Runs", "2", "48 conversations"),
        ("Cost", "$0.24 to $0.96", "about 140 model calls"),
        ("Left this month", "$3.00", ""),
    ]
    assert figures(both, month_left_usd=Decimal(0))[2].value == "$0"
    assert figures(both)[1] == ("Cost", "Unknown", "a model has no price")
    assert all_in_words([make_forecast()] * 2, month_left_usd=Decimal("0.5")).endswith(
        "They may stop early at the monthly ceiling, of which $0.50 is left."
    )
