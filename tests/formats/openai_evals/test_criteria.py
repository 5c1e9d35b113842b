from typing import Any

import pytest

from tests.formats.openai_evals.saved import RIGHT, Json, a_run, an_eval, checks, lost, read

REPLY = "{{ sample.output_text }}"


def text_check(operation: str, **more: Any) -> Json:
    return {**RIGHT, "operation": operation, **more}


@pytest.mark.parametrize(
    ("criterion", "check"),
    [
        pytest.param(text_check("eq"), {"type": "exact_match"}, id="eq"),
        (text_check("eq", input="{{item.label}}", reference=REPLY), {"type": "exact_match"}),
        (text_check("ne"), {"type": "not_matches", "value": r"\Ax\z", "case_sensitive": True}),
        pytest.param(text_check("like"), {"type": "contains", "case_sensitive": True}, id="like"),
        pytest.param(text_check("ilike"), {"type": "contains"}, id="ilike"),
        pytest.param(
            text_check("ilike", reference="Answer: {{item.label}}"),
            {"type": "contains", "value": "Answer: x"},
            id="more than a variable",
        ),
        (text_check("eq", reference="Yes"), {"type": "exact_match", "value": "Yes"}),
        pytest.param(
            text_check("eq", input="{{sample.output_json.order['unit price'][0].id}}"),
            {"type": "exact_match", "response_path": "order['unit price'][0].id"},
            id="part of a JSON reply",
        ),
        pytest.param(
            text_check("eq", input="{{sample.output_tools[0].function.name}}", reference="find"),
            {"type": "tool_called", "value": "find"},
            id="name of a tool",
        ),
        pytest.param(
            text_check("ne", input="{{sample.output_tools[0].function.name}}", reference="find"),
            {"type": "tool_not_called", "value": "find"},
            id="not this tool",
        ),
    ],
)
def test_text_checks(criterion: Json, check: Json) -> None:
    assert checks(criterion) == [{**check, "name": "Right"}]


def similarity(metric: str, **more: Any) -> Json:
    about = {
        "type": "text_similarity",
        "name": "Like",
        "input": REPLY,
        "reference": "{{item.label}}",
    }
    return {**about, "evaluation_metric": metric, "pass_threshold": 0.6, **more}


@pytest.mark.parametrize(
    ("metric", "check"),
    [
        ("bleu", {"type": "bleu"}),
        ("cosine", {"type": "semantic_similarity"}),
        ("fuzzy_match", {"type": "fuzzy_match"}),
        ("meteor", {"type": "meteor"}),
        ("rouge_1", {"type": "rouge", "variant": "rouge1"}),
        ("rouge_2", {"type": "rouge", "variant": "rouge2"}),
        ("rouge_l", {"type": "rouge"}),
    ],
)
def test_measures_of_likeness(metric: str, check: Json) -> None:
    assert checks(similarity(metric)) == [{**check, "name": "Like", "threshold": 0.6}]


def test_a_measure_that_counts_something_else_here_is_a_loss() -> None:
    assert "letters" in lost(similarity("fuzzy_match"))
    assert lost(similarity("rouge_l")) == ""


def asking(kind: str, **more: Any) -> Json:
    prompt = [
        {"role": "developer", "content": "Is it kind?"},
        {"role": "user", "content": {"type": "input_text", "text": "Q: {{item.ticket}} A: {{sample.output_text}}"}},
    ]  # fmt: skip
    return {"type": kind, "name": "Kind", "model": "gpt-5-mini", "input": prompt, **more}


@pytest.mark.parametrize(
    ("bounds", "least", "threshold"),
    [
        (None, 0.7, 0.7),
        ([0, 10], 7, 0.7),
        ([1, 5], 4, 0.75),
        ([-1, 1], 0, 0.5),
        ([1, 7], 5.5, 0.75),
    ],
)
def test_a_score_is_judged_from_0_to_1_whatever_its_range(
    bounds: list[float] | None, least: float, threshold: float
) -> None:
    (check,) = checks(asking("score_model", range=bounds, pass_threshold=least))

    assert (check["type"], check["scale"], check["model"]) == (
        "llm_judge",
        "0-1",
        "openai/gpt-5-mini",
    )
    assert check["threshold"] == threshold


def test_the_prompt_of_a_grader_is_the_criteria_with_the_item_filled_in() -> None:
    (check,) = checks(
        asking("score_model", range=[1, 7], pass_threshold=4), {"ticket": "Why?", "label": "x"}
    )

    assert check["criteria"].startswith("Is it kind?\n\nQ: Why? A: [the reply]\n\n")
    assert "from 1 to 7" in check["criteria"]


def test_a_label_passes_or_fails() -> None:
    labels = {"labels": ["kind", "plain", "rude"], "passing_labels": ["kind", "plain"]}

    (check,) = checks(asking("label_model", **labels))

    assert "scale" not in check  # pass or fail is usual
    assert "kind, plain, rude" in check["criteria"]
    assert "kind or plain" in check["criteria"]


def test_settings_of_a_grader_are_those_of_the_judge() -> None:
    settings = {"temperature": 0, "max_completions_tokens": 9, "reasoning_effort": "low"}

    (check,) = checks(asking("score_model", pass_threshold=1, sampling_params=settings))

    assert check["model"] == {
        "provider": "openai", "name": "gpt-5-mini", "temperature": 0, "max_tokens": 9, "effort": "low",
    }  # fmt: skip


def test_a_model_may_be_one_of_another_provider_or_a_scripted_judge() -> None:
    (check,) = checks(asking("score_model", model="scripted/clerk", pass_threshold=1))

    assert check["model"] == "scripted/clerk"


@pytest.mark.parametrize(
    ("criterion", "word"),
    [
        pytest.param({"type": "python", "name": "c", "source": "pass"}, "`code`", id="code"),
        pytest.param({"type": "multi", "name": "c", "graders": {}}, "formula", id="several"),
        pytest.param({"type": "string_chek", "name": "c"}, "'string_check'", id="misspelt"),
        pytest.param(similarity("gleu"), "bleu", id="gleu"),
        pytest.param(similarity("rouge_4"), "rouge_l", id="rouge_4"),
        pytest.param(similarity("rogue_l"), "'rouge_l'", id="unknown metric"),
        pytest.param(text_check("eq", input="{{item.ticket}}"), "sample.output_text", id="two of the item"),
        pytest.param(text_check("eq", reference=REPLY), "Two parts", id="two of the reply"),
        (text_check("like", input="{{item.label}}", reference=REPLY), "`input`"),
        pytest.param(text_check("eq", input=f"So: {REPLY}"), "middle", id="among other text"),
        pytest.param(text_check("eq", input="{{sample.model}}"), "sample.model", id="not the reply"),
        pytest.param(text_check("eq", input="{{sample}}"), "{{sample}}", id="all of the sample"),
        pytest.param(text_check("like", input="{{sample.output_json.a}}"), "json_path", id="part, like"),
        pytest.param(text_check("eq", reference="{{labels.x}}"), "{{labels.x}}", id="unknown variable"),
        pytest.param(text_check("eq", reference="{{item.gone}}"), "item.gone", id="empty in the item"),
        pytest.param(text_check("ne", reference="x" * 1001), "1,000", id="too long for a pattern"),
    ],
)  # fmt: skip
def test_what_has_no_equal_here_is_lost_with_what_to_do(criterion: Json, word: str) -> None:
    assert word in lost(criterion)


def test_a_score_that_nothing_is_asked_of_is_only_shown() -> None:
    (check,) = checks(asking("score_model"))

    assert "threshold" not in check


def test_what_is_no_variable_in_the_prompt_of_a_grader_is_reported() -> None:
    prompt = [{"role": "user", "content": 'Grade {{item.label}} {{ f({"a": 1}) }}: {{reply}}'}]

    losses = read(
        an_eval(asking("score_model", input=prompt, pass_threshold=1)),
        a_run({"ticket": "a", "label": "x"}),
    ).losses

    assert [("f(" in loss.message, "reply" in loss.message) for loss in losses] == [
        (True, False),
        (False, True),
    ]
