"""Anything anywhere in files, ours and those of other systems: it is read, or refused with its place."""

import json
from datetime import timedelta
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.foreign.attached import fitting
from evals_app.formats.importing import Imported, SourceData, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError
from evals_app.formats.reading.yaml_source import read_yaml
from evals_app.formats.tables.workbook_writing import write_workbook
from tests.formats.agentura.projects import TALK
from tests.formats.agentv.evals import BEFORE, NEXT
from tests.formats.agentv.evals import NOW as AGENTV
from tests.formats.anywhere import changed, spoilt
from tests.formats.holodeck import projects as holodeck
from tests.formats.openai_evals.saved import RIGHT, a_run, an_eval
from tests.formats.openai_evals.test_criteria import asking, similarity
from tests.formats.openai_evals.test_hosted import result
from tests.formats.pydantic_evals.datasets import DATASET
from tests.formats.tables.test_parquet import written as parquet
from tests.formats.tau_bench.tasks import ASKED, OLD, TICKET
from tests.formats.waza.evals import EVAL, TASK
from tests.library.written import EVERYTHING, PROJECT, PROVIDER

KNOWN = ExistingObjects(
    agents={"desk": "http", "my-agent": "model", "reader": "scripted", "shop": "scripted"},
    fixtures=frozenset({"orders"}),
)

AGENTURA: Any = {
    "version": 1,
    "agent": {"type": "http", "endpoint": "https://a.example", "headers": {}, "timeout_ms": 5},
    "evals": [
        {"name": "a", "type": "golden_dataset", "dataset": "d.jsonl", "threshold": 0.5},
        {"name": "b", "type": "llm_judge", "dataset": "d.jsonl", "rubric": "r.md", "runs": 1},
        {"name": "c", "type": "performance", "dataset": "d.jsonl", "max_p95_ms": 1},
        {"name": "d", "type": "tool_use", "dataset": "t.jsonl"},
    ],
    "ci": {},
}
AGENTURA_ROWS: Any = [
    {"id": "x", "input": "a", "expected": "b", "context": "c"},
    {"conversation": TALK, "eval_turns": [2]},
]
TOOL_ROWS: Any = [{"input": "a", "expected_tool": "t", "expected_args": {"x": 1}}]
LOBU: Any = {
    "version": 1,
    "name": "x",
    "trials": 2,
    "timeout": 3,
    "tags": ["a"],
    "rubric": "r.md",
    "scoring": {"pass_threshold": 0.5},
    "turns": [
        {"content": "a"},
        {
            "content": "b",
            "assert": [
                {"type": "contains", "value": "x", "options": {"case_insensitive": True}},
                {"type": "regex", "value": "x", "weight": 0.5},
                {"type": "llm-rubric", "value": "x"},
            ],
        },
    ],
}
LOBU_TOML: Any = {
    "agents": {
        "my-agent": {
            "name": "A",
            "description": "B",
            "dir": "c",
            "providers": [{"id": "gemini", "model": "m", "key": "k"}],
            "network": {},
        }
    },
    "memory": {},
}
PROMPTFOO: Any = {
    "prompts": ["Say {{what}}", {"id": "file://p.txt", "label": "p"}],
    "providers": ["echo", {"id": "openai:gpt-5", "config": {"temperature": 0, "tools": [{"name": "t"}]}}],
    "defaultTest": {"vars": {"what": "x"}, "options": {"provider": "openai:gpt-5"}},
    "tests": [
        {"vars": {"what": ["a", "b"]}, "assert": [{"type": "contains", "value": "a"}], "threshold": 1},
        {"assert": [{"type": "assert-set", "assert": [{"type": "trajectory:tool-used", "value": {"pattern": "t"}}]}]},
    ],
    "scenarios": [{"config": [{"vars": {"what": "c"}}], "tests": [{"assert": []}]}],
    "evaluateOptions": {"repeat": 2},
}  # fmt: skip
OPENAI: Any = {
    "eval": an_eval(
        RIGHT,
        similarity("rouge_l"),
        asking("score_model", range=[0, 5], pass_threshold=4, sampling_params={"temperature": 0}),
        asking("label_model", labels=["a", "b"], passing_labels=["a"]),
        {"type": "python", "name": "x", "source": "y"},
    ),
    "runs": [
        a_run(
            {"id": "a", "ticket": "x", "label": "y"},
            template=[
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": [{"type": "input_text", "text": "{{item.ticket}}"}]},
            ],
            created_at=4,
            sampling_params={
                "temperature": 1,
                "tools": [{"type": "function", "function": {"name": "f"}}],
            },
        )
    ],
}
OPENAI_RESULTS: Any = {
    "object": "list",
    "has_more": False,
    "data": [result(1, sample={"input": [{"role": "user", "content": "Hi"}]}, created_at=3)],
}
OPENAI_REGISTRY: Any = {
    "sums": {"id": "sums.v0", "description": "Adds."},
    "sums.v0": {"class": "evals.x:Match", "args": {"samples_jsonl": "s.jsonl"}},
    "kind.v0": {
        "class": "evals.x:ModelBasedClassify",
        "args": {
            "samples_jsonl": "s.jsonl",
            "modelgraded_spec": "q",
            "modelgraded_spec_args": {"criteria": "x"},
            "samples_renamings": {"a": "b"},
        },
    },
}
OPENAI_SAMPLES: Any = [
    {
        "input": [{"role": "system", "content": "Add."}, {"role": "user", "content": "2"}],
        "ideal": "4",
    },
    {"input": "3+3", "ideal": ["6", "six"], "id": "b"},
]
TABLE: Any = [
    {"id": "a", "question": "b", "answer": ["c", "d"], "metadata": {"x": 1}, "tags": ["y"]},
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]},
    {"input": {"question": "x"}, "expected_output": {"answer": 5}, "check": "number"},
]
AGENT_SKILLS = {
    "skill_name": "reader",
    "evals": [
        {
            "id": 1,
            "prompt": "Add up.",
            "expected_output": "A total",
            "files": ["a.txt"],
            "expectations": ["It adds up"],
        }
    ],
}
PYDANTIC: Any = {
    **DATASET,
    "evaluators": [
        "EqualsExpected",
        {"LLMJudge": {"rubric": "x", "model": "openai:gpt-5", "score": {"evaluation_name": "s"}}},
        {"name": "MaxDuration", "arguments": [2]},
        {"Contains": {"value": "d"}},
        {"IsInstance": "str"},
    ],
    "report_evaluators": ["x"],
}
ADK: Any = {
    "eval_set_id": "x",
    "eval_cases": [
        {
            "evalId": "a",
            "conversation": [
                {
                    "user_content": {"parts": [{"text": "Hi"}]},
                    "final_response": {"parts": [{"text": "Hello"}]},
                    "intermediateData": {"toolUses": [{"name": "f", "args": {"x": 1}}]},
                }
            ],
            "session_input": {"state": {"a": 1}},
        }
    ],
}
ADK_TURNS: Any = [{"query": "Hi", "expected_tool_use": [{"tool_name": "f"}], "reference": "Hello"}]
ADK_CONFIG: Any = {
    "criteria": {
        "tool_trajectory_avg_score": {"match_type": "IN_ORDER", "threshold": 0.5},
        "rubric_based_tool_use_quality_v1": {"rubrics": [{"rubricContent": {"textProperty": "x"}}]},
    }
}
COPILOT: Any = {
    "schemaVersion": "1.4.0",
    "metadata": {"name": "a", "tags": ["b"]},
    "default_evaluators": {"Relevance": {}, "Similarity": {"threshold": 4}},
    "items": [
        {
            "prompt": "a",
            "expected_response": "b",
            "evaluators": ["ExactMatch", {"PartialMatch": {}}],
        },
        {"name": "c", "turns": [{"prompt": "d", "evaluators": {"Citations": {}}, "tags": ["e"]}]},
        {"prompt": "f", "evaluators": {"ToolCallSelection": {"calls": [{"tool": "t"}]}}},
    ],
}
DEEPEVAL: Any = [
    {
        "input": "Hi",
        "actual_output": "Yo",
        "expected_output": "Hello",
        "context": ["a"],
        "expected_tools": [{"name": "f", "input_parameters": {"x": 1}}],
        "additional_metadata": {"a": "b"},
    },
    {"scenario": "s", "expected_outcome": "o", "turns": [{"role": "user", "content": "Hi"}]},
]
LOBU_FILE = """\
[agents.my-agent]
name = "A"
dir = "c"
providers = [{id = "gemini", model = "m", key = "k"}]
[memory]
"""
SHOWN: Any = {
    "features": [{"feature_idx": 0, "name": "question", "type": {"dtype": "string"}}],
    "rows": [
        {
            "row_idx": 0,
            "row": {
                "question": "Who?",
                "answers": {"text": ["Yo"], "answer_start": [1]},
                "choices": {"text": ["Yo", "Yes"], "label": ["A", "B"]},
                "must_not": ["No", "Bye"],
            },
            "truncated_cells": [],
        }
    ],
}
SEMICOLONS = """\
Fall;Frage;Antwort;check;must contain;tags
A;Wie lange?;5 Tage;;fünf;a,b
B;Was?;12 %;number;["a", "b"];-
;und?;ja;;;
"""
METRICS = (*(holodeck.NUMERIC, holodeck.EQUALITY, holodeck.GEVAL, holodeck.RAG, holodeck.BEFORE),)
HOLODECK = {
    "whole": holodeck.WHOLE,
    "turns": holodeck.MULTI_TURN,
    "levels": holodeck.THREE_LEVELS,
    "facts": holodeck.FACT_CHECK,
    "metrics": holodeck.with_metrics("".join(METRICS)),
}


# Files of every dialect: who reads them, the agent to test, and the files by path, the main one first.
EXAMPLES: list[Any] = [
    pytest.param(
        "agentura",
        None,
        {
            "agentura.yaml": AGENTURA,
            "d.jsonl": AGENTURA_ROWS,
            "t.jsonl": TOOL_ROWS,
            "r.md": "# R\n",
        },
        id="Agentura",
    ),
    pytest.param(
        "lobu",
        None,
        {"agents/my-agent/evals/x.yaml": LOBU, "agents/my-agent/evals/r.md": "- a\n"},
        id="Lobu",
    ),
    pytest.param("lobu", None, {"lobu.toml": LOBU_TOML}, id="lobu.toml"),
    ("adk", "desk", {"x.evalset.json": ADK, "eval_config.json": ADK_CONFIG}),
    ("adk", "desk", {"x.test.json": ADK_TURNS}),
    ("adk", "desk", {"x.test.json": [{"name": "a", "data": ADK_TURNS, "initial_state": {}}]}),
    ("deepeval", "desk", {"goldens.json": DEEPEVAL}),
    ("agent-skills", "desk", {"evals/evals.json": AGENT_SKILLS}),
    *(
        pytest.param(
            "holodeck",
            "desk",
            {"p/agent.yaml": yaml.safe_load(text), "p/prompts/system.md": holodeck.PROMPT},
            id=f"HoloDeck, {name}",
        )
        for name, text in HOLODECK.items()
    ),
    ("promptfoo", None, {"x/promptfooconfig.yaml": PROMPTFOO, "x/p.txt": "P {{what}}"}),
    pytest.param("openai-evals", "desk", {"eval_x.json": OPENAI}, id="OpenAI"),
    pytest.param("pydantic-evals", "desk", {"data.yaml": PYDANTIC}, id="pydantic-evals"),
    pytest.param(
        "waza", "desk", {"evals/x/eval.yaml": EVAL, "evals/x/tasks/a.yaml": TASK}, id="waza"
    ),
    *(
        pytest.param("agentv", "desk", {"a.EVAL.yaml": data}, id=f"AgentV, {name}")
        for name, data in {"now": AGENTV, "before": BEFORE, "next": NEXT}.items()
    ),
    pytest.param(
        "openai-evals",
        "desk",
        {"eval_x.json": {**OPENAI, "runs": [], "output_items": OPENAI_RESULTS}},
        id="results of OpenAI",
    ),
    pytest.param(
        "openai-evals",
        "desk",
        {
            "registry/evals/x.yaml": OPENAI_REGISTRY,
            "registry/data/s.jsonl": [{"input": "3+3", "ideal": "6"}],
            "registry/modelgraded/q.yaml": {
                "prompt": "{input}",
                "choice_strings": "YN",
                "choice_scores": {"Y": 1, "N": 0},
            },
        },
        id="registry of OpenAI",
    ),
    pytest.param("openai-evals", "desk", {"samples.jsonl": OPENAI_SAMPLES}, id="samples"),
    ("copilot-studio", "desk", {"office.json": COPILOT}),
    ("tau-bench", "desk", {"domains/x/tasks.json": [TICKET, ASKED, OLD]}),
    pytest.param("table", "desk", {"x.jsonl": TABLE}, id="rows"),
    *(
        pytest.param(None, None, {file.path: read_yaml("", file.content).data}, id=file.path)
        for file in (*EVERYTHING, PROVIDER, *PROJECT[1:])
    ),
]


@pytest.mark.parametrize(("dialect", "agent", "files"), EXAMPLES)
@given(data=st.data())
def test_whatever_a_file_holds_is_read_or_refused_with_its_place(
    dialect: str | None, agent: str | None, files: dict[str, Any], data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from([name for name in files if not isinstance(files[name], str)]))
    files = {**files, path: data.draw(changed(files[path]))}
    contents = {name: content_of(name, value) for name, value in files.items()}
    main = next(iter(files))
    is_data = main.endswith(".toml")
    source = SourceData(main, files[main]) if is_data else SourceFile(main, contents[main])
    try:
        imported = read_files(
            [source],
            dialect=dialect,
            agent=agent,
            known=KNOWN,
            find=contents.get,
            find_paths=lambda pattern: fitting(pattern, contents),
            environment={**holodeck.ENVIRONMENT, **holodeck.FILLED},
        )
        is_read = imported != Imported()
        problems = [*imported.warnings, *imported.losses]
    except FormatError as error:
        is_read, problems = False, error.problems

    assert is_read or problems or not files[main]
    assert all(problem.message.strip() for problem in problems)
    assert {problem.path for problem in problems} <= files.keys()
    assert is_data or all(problem.line > 0 for problem in problems)


# A small file of every kind that is read, by the name of its dialect or ending.
FILES: dict[str, dict[str, bytes]] = {
    **{
        name: {path: text.encode() for path, text in dialect.sample}
        for name, dialect in DIALECTS.items()
    },
    "toml": {"lobu.toml": LOBU_FILE.encode()},
    "xlsx": {"refunds.xlsx": write_workbook([("Cases", [["user", "expected"], ["Hi", "12 %"]])])},
    "parquet": {"refunds.parquet": parquet([{"question": "a", "answer": ["b"], "day": None}])},
    "a viewer of data sets": {"rows.json": json.dumps(SHOWN, indent=1).encode()},
    "UTF-16": {"fragen.csv": SEMICOLONS.encode("utf-16")},
    "semicolons": {"fragen.csv": SEMICOLONS.encode()},
}


@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in FILES.items()])
@settings(deadline=timedelta(seconds=5))
@given(data=st.data())
def test_a_file_that_is_cut_or_spoilt_is_read_or_refused(
    files: dict[str, bytes], data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(sorted(files)))
    content = data.draw(spoilt(files[path]))
    files = {**files, path: content}
    try:
        imported = read_files(
            [SourceFile(*file) for file in files.items()],
            agent="desk",
            known=KNOWN,
            find=files.get,
            find_paths=lambda pattern: fitting(pattern, files),
        )
        problems = [*imported.warnings, *imported.losses, *imported.guesses]
    except FormatError as error:
        problems = error.problems
        assert problems

    assert all(problem.message.strip() for problem in problems)
    assert {problem.path for problem in problems} <= files.keys()
    lines = content.count(b"\n") + content.count(b"\r") + 1
    assert all(problem.line <= lines + 1 for problem in problems if problem.path == path)


def content_of(path: str, value: Any) -> bytes:
    """Write a file as its ending says."""
    if isinstance(value, str) and not path.endswith((".json", ".jsonl", ".yaml")):
        return value.encode()
    if path.endswith(".jsonl"):
        return "\n".join(map(json.dumps, value if isinstance(value, list) else [value])).encode()
    return json.dumps(value).encode()
