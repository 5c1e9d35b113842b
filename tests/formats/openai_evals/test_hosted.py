import json
from typing import Any

import pytest

from evals_app.formats.reading.problems import NoAgent
from tests.formats.openai_evals.saved import (
    QUESTION,
    RIGHT,
    Json,
    a_run,
    agent_of,
    an_eval,
    errors,
    read,
    suite,
)


def test_an_eval_is_a_suite_with_a_case_for_each_item() -> None:
    run = a_run(
        {"id": "a", "ticket": "It is dark", "label": "Hardware"}, {"ticket": "x", "label": "y"}
    )

    spec = suite(an_eval(metadata={"team": "desk"}), run)

    assert (spec["suite"], spec["slug"], spec["tags"]) == ("Tickets", "tickets", ["team=desk"])
    assert spec["assertions"] == [{"type": "exact_match", "name": "Right"}]
    assert spec["cases"] == [
        {"name": "a", "turns": [{"user": "It is dark", "expected": "Hardware"}]},
        {"name": "row-0002", "turns": [{"user": "x", "expected": "y"}]},
    ]


SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}}


def test_the_model_of_the_run_is_the_agent() -> None:
    settings: dict[str, Any] = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_completion_tokens": 40,
        "seed": 3,
    }
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
    settings |= {"reasoning_effort": "minimal", "response_format": form}
    run = a_run(
        template=[{"role": "developer", "content": "Be kind."}, QUESTION], sampling_params=settings
    )

    agent = agent_of(an_eval(), run)

    assert agent["slug"] == "tickets-gpt-5-mini"
    assert agent["system_prompt"] == "Be kind."
    named = {"provider": "openai", "name": "gpt-5-mini"}
    sampled = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 40, "seed": 3, "effort": "minimal"}
    assert agent["model"] == {**named, **sampled}
    assert agent["settings"]["response_format"] == SCHEMA
    assert suite(an_eval(), run)["agent"] == "tickets-gpt-5-mini"
    assert read(an_eval(), run).losses == []


def test_functions_are_tools_that_nothing_answers() -> None:
    function = {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}
    tools = [{"type": "function", "function": function}, {"type": "web_search"}]
    run = a_run(sampling_params={"tools": tools})

    (tool,) = agent_of(an_eval(), run)["tools"]

    assert (tool["name"], tool["description"]) == ("find", "Finds.")
    assert "error" in tool["rules"][0]
    losses = read(an_eval(), run).losses
    assert {loss.keys.rpartition(".")[2] for loss in losses} == {"tools", "tools[1]"}


def test_a_named_agent_is_asked_instead_and_gets_the_system_prompt_as_a_parameter() -> None:
    run = a_run(template=[{"role": "system", "content": "Be kind."}, QUESTION])

    imported = read(an_eval(), run, agent="desk")

    assert imported.agents == []
    assert imported.suites[0].spec.agent == "desk"
    assert imported.suites[0].spec.cases[0].context_params == {"instructions": "Be kind."}
    assert "threadContext.params.instructions" in imported.losses[0].message


def test_system_prompts_that_differ_are_parameters_of_their_cases() -> None:
    template = [{"role": "system", "content": "Speak {{item.language}}."}, QUESTION]
    rows = [{"ticket": "a", "label": "b", "language": item} for item in ("French", "German")]

    agent = agent_of(an_eval(), a_run(*rows, template=template))
    cases = suite(an_eval(), a_run(*rows, template=template))["cases"]

    assert agent["system_prompt"] == "{{threadContext.params.instructions}}"
    instructions = [case["context_params"]["instructions"] for case in cases]
    assert instructions == ["Speak French.", "Speak German."]


def test_earlier_messages_are_the_history() -> None:
    template: list[Json] = [
        QUESTION,
        {"role": "assistant", "content": "Which one?"},
        {"role": "user", "content": [{"type": "input_text", "text": "The {{ item.label }} one."}]},
    ]

    (case,) = suite(an_eval(), a_run(template=template))["cases"]

    assert [item["content"] for item in case["history"]] == ["It is dark", "Which one?"]
    assert case["turns"][0]["user"] == "The Hardware one."


def test_messages_may_be_in_the_item_itself() -> None:
    dialog = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi {{you}}"}]
    messages = {"type": "item_reference", "item_reference": "item.dialog"}
    run = a_run({"dialog": dialog, "label": "x"}, input_messages=messages)

    assert agent_of(an_eval(), run)["system_prompt"] == "Be kind."
    assert suite(an_eval(), run)["cases"][0]["turns"][0]["user"] == r"Hi \{{you}}"


def test_without_messages_the_field_that_asks_is_sent_and_items_without_it_are_left_out() -> None:
    run = a_run({"question": "Why?", "label": "x"}, {"label": "y"}, input_messages=None)

    imported = read(an_eval(), run)

    assert [case.turns[0].user for case in imported.suites[0].spec.cases] == ["Why?"]
    assert [loss.keys for loss in imported.losses] == ["data_source.source.content[1].item"]


def test_a_variable_that_an_item_does_not_have_is_warned_of() -> None:
    imported = read(an_eval(), a_run({"ticket": "a", "label": "b"}, template=[
        {"role": "user", "content": "{{item.ticket}} {{item.nothing}}"}
    ]))  # fmt: skip

    assert ["item.nothing" in warning.message for warning in imported.warnings] == [True]


def test_of_several_runs_the_newest_is_read() -> None:
    old = a_run({"ticket": "old", "label": "x"}, id="evalrun_1", created_at=5)
    new = a_run({"ticket": "new", "label": "x"}, id="evalrun_2", created_at=9, name="Second")

    imported = read(an_eval(), {"object": "list", "data": [new, old]})

    assert imported.suites[0].spec.cases[0].turns[0].user == "new"
    assert [(loss.keys, "Second" in loss.message) for loss in imported.losses] == [
        ("data[1]", True)
    ]


@pytest.mark.parametrize("status", ["failed", "canceled", "in_progress"])
def test_a_newer_run_that_was_not_completed_is_left_out(status: str) -> None:
    old = a_run({"ticket": "old", "label": "x"}, created_at=5) | {"status": "completed"}
    new = a_run({"ticket": "new", "label": "x"}, id="evalrun_2", created_at=9) | {"status": status}

    both, alone = read(an_eval(), [new, old]), read(an_eval(), new)

    asked = [item.suites[0].spec.cases[0].turns[0].user for item in (both, alone)]
    assert asked == ["old", "new"]
    assert [loss.keys for loss in both.losses] == ["[0]"]


def test_several_evals_have_their_own_runs_even_of_one_name() -> None:
    runs = [a_run(), a_run({"ticket": "b", "label": "c"}, eval_id="eval_2")]

    imported = read([an_eval(), an_eval(id="eval_2")], runs)

    asked = {item.spec.slug: item.spec.cases[0].turns[0].user for item in imported.suites}
    assert asked == {"tickets": "It is dark", "tickets-2": "b"}


def test_bodies_that_created_an_eval_and_a_run_are_read() -> None:
    body = {"name": "Tickets", "data_source_config": {"type": "custom", "item_schema": {}}}
    run = {key: value for key, value in a_run().items() if key == "data_source"}

    assert suite(body | {"testing_criteria": [RIGHT]}, run)["slug"] == "tickets"


def test_answers_that_items_bring_are_reported_once() -> None:
    run = a_run()
    rows = [{"item": {"ticket": "a", "label": "b"}, "sample": {"output_text": "b"}}] * 3
    run["data_source"]["source"]["content"] = rows

    imported = read(an_eval(), run)

    assert len(imported.suites[0].spec.cases) == 3
    assert [loss.keys for loss in imported.losses] == ["data_source.source.content[0]"]


# Items that are somewhere else.


def without_content(**source: Any) -> Json:
    return a_run(source={"type": "file_id", "id": "file-7", **source})


ROWS = '{"item": {"ticket": "a", "label": "b"}}\n{"ticket": "c", "label": "d"}\n'


@pytest.mark.parametrize("name", ["file-7.jsonl", "file-7-tickets.jsonl", "items.jsonl"])
def test_items_of_a_file_are_read_next_to_the_run(name: str) -> None:
    cases = suite(an_eval(), without_content(), beside={name: ROWS})["cases"]

    assert [case["turns"][0]["user"] for case in cases] == ["a", "c"]


def test_of_several_files_the_one_with_the_id_is_read() -> None:
    beside = {"file-7.jsonl": ROWS, "file-8.jsonl": '{"ticket": "x", "label": "y"}'}

    assert len(suite(an_eval(), without_content(), beside=beside)["cases"]) == 2


def result(n: int, **more: Any) -> Json:
    return {
        "object": "eval.run.output_item",
        "run_id": "evalrun_1",
        "eval_id": "eval_1",
        "datasource_item_id": n,
        "datasource_item": {"ticket": f"t{n}", "label": "x"},
        "results": [],
        **more,
    }


def test_items_of_results_are_read_where_nothing_else_has_them() -> None:
    page = {"object": "list", "data": [result(1), result(2), result(3, run_id="evalrun_0")]}

    cases = suite(an_eval(), without_content(), page)["cases"]

    assert [case["turns"][0]["user"] for case in cases] == ["t1", "t2"]


def test_messages_of_results_are_sent_again_where_the_run_has_none() -> None:
    asked = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Logged?"}]
    run = a_run(source={"type": "stored_completions"}, input_messages=None)

    logged = [result(1, sample={"input": asked, "output": []})]

    assert suite(an_eval(), run, logged)["cases"][0]["turns"][0]["user"] == "Logged?"
    assert agent_of(an_eval(), run, logged)["system_prompt"] == "Be kind."


def test_a_page_that_is_cut_off_is_reported() -> None:
    first = {"object": "list", "data": [result(1)], "has_more": True}
    second = {"object": "list", "data": [result(2)], "has_more": False}

    imported = read(an_eval(), without_content(), first)

    assert [(loss.path, loss.keys) for loss in imported.losses] == [
        ("saved/eval_2.json", "has_more")
    ]
    assert read(an_eval(), without_content(), first, second).losses == []


def test_rows_of_items_may_be_sent_along_as_a_file() -> None:
    rows = [{"item": {"ticket": "a", "label": "b"}}, {"item": {"ticket": "c", "label": "d"}}]

    assert len(suite(an_eval(), without_content(), rows)["cases"]) == 2


# What is missing.


NO_ITEMS = a_run(source={"type": "file_content", "content": []})
TWO_FILES = {"a.jsonl": ROWS, "b.jsonl": ROWS}


@pytest.mark.parametrize(
    ("objects", "beside", "message"),
    [
        pytest.param([an_eval(), without_content()], {}, "files/file-7/content", id="no items"),
        pytest.param([an_eval(), without_content()], TWO_FILES, "a.jsonl, b.jsonl", id="two files"),
        pytest.param([an_eval(), NO_ITEMS], {}, "no items that can be asked", id="an empty list"),
        pytest.param([a_run()], {}, "evals/eval_1", id="a run without its eval"),
        pytest.param([[{"item": {"ticket": "a"}}]], {}, "eval", id="items without an eval"),
        pytest.param([{"object": "list", "data": []}], {}, "no eval", id="an empty page"),
    ],
)
def test_what_is_missing_is_shown_with_how_to_get_it(
    objects: list[Any], beside: dict[str, str], message: str
) -> None:
    (problem,) = errors(*objects, beside=beside)

    assert message in problem.message


def test_an_empty_page_next_to_an_eval_does_no_harm() -> None:
    assert read({"object": "list", "data": []}, an_eval(), a_run()).losses == []


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([an_eval(id="eval_2", name="Never run")], id="an eval without a run"),
        pytest.param([an_eval(id="eval_2", name="x"), a_run(eval_id="eval_2", source={"type": "logs"})],
                     id="logs that nobody saved"),
        pytest.param([a_run(eval_id="eval_9")], id="a run of an eval that is gone"),
    ],
)  # fmt: skip
def test_an_eval_that_is_not_whole_does_not_keep_others_back(others: list[Json]) -> None:
    # The file beside belongs to nobody here, or to the first.
    imported = read(an_eval(), a_run(), *others, beside={"file-1.jsonl": ROWS})

    assert [item.spec.slug for item in imported.suites] == ["tickets"]
    assert len(imported.losses) == 1


def test_an_eval_whose_run_names_no_model_asks_for_an_agent() -> None:
    problems = errors(an_eval(), a_run(model=None))

    assert [isinstance(problem, NoAgent) for problem in problems] == [True]
    assert suite(an_eval(), a_run(model=None), agent="desk")["agent"] == "desk"


def test_an_eval_of_which_no_criterion_is_left_keeps_its_cases() -> None:
    imported = read(an_eval({"type": "python", "name": "x", "source": "pass"}), a_run())

    assert len(imported.suites[0].spec.cases) == 1
    assert "testing_criteria" in {warning.keys for warning in imported.warnings}


def test_what_is_no_object_of_the_api_is_refused_with_its_place() -> None:
    (problem,) = errors([an_eval(), {"object": "file"}, a_run()])

    assert (problem.keys, problem.line) == ("[1]", json.dumps([an_eval(), 0], indent=1).count("\n"))
