"""Objects of OpenAI Evals as people save them, and how tests read them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.foreign.attached import fitting
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem

Json = dict[str, Any]

KNOWN = ExistingObjects(agents={"desk": "http", "clerk": "scripted"})
RIGHT = {
    "type": "string_check",
    "name": "Right",
    "operation": "eq",
    "input": "{{sample.output_text}}",
    "reference": "{{item.label}}",
}
QUESTION = {"role": "user", "content": "{{item.ticket}}"}


def an_eval(*criteria: Json, **more: Any) -> Json:
    return {
        "object": "eval",
        "id": "eval_1",
        "name": "Tickets",
        "data_source_config": {"type": "custom", "schema": {}},
        "testing_criteria": list(criteria or [RIGHT]),
        **more,
    }


def a_run(*items: Json, template: list[Json] | None = None, **more: Any) -> Json:
    """Return a run; what is not about the run itself is about its data source."""
    about: Json = {
        key: more.pop(key) for key in ("id", "eval_id", "created_at", "name") if key in more
    }
    rows = items or ({"ticket": "It is dark", "label": "Hardware"},)
    return {
        "object": "eval.run",
        "id": "evalrun_1",
        "eval_id": "eval_1",
        **about,
        "data_source": {
            "type": "completions",
            "model": "gpt-5-mini",
            "input_messages": {"type": "template", "template": template or [QUESTION]},
            "source": {"type": "file_content", "content": [{"item": item} for item in rows]},
            **more,
        },
    }


def read(
    *objects: Any,
    beside: Mapping[str, str] | None = None,
    agent: str | None = None,
    dialect: Any = None,
) -> Imported:
    """Read each object as a file of its own, and others that lie beside them."""
    files = [
        SourceFile(f"saved/eval_{n}.json", json.dumps(item, indent=1).encode())
        for n, item in enumerate(objects)
    ]
    others = {f"saved/{name}": text.encode() for name, text in (beside or {}).items()}
    return read_files(
        files,
        known=KNOWN,
        find=others.get,
        find_paths=lambda pattern: fitting(pattern, others),
        agent=agent,
        dialect=dialect,
    )


def dumped(spec: Any) -> Any:
    return spec.model_dump(mode="json", exclude_defaults=True)


def suite(*objects: Any, **options: Any) -> Any:
    (located,) = read(*objects, **options).suites
    return dumped(located.spec)


def agent_of(*objects: Any, **options: Any) -> Any:
    (located,) = read(*objects, **options).agents
    return dumped(located.spec)


def checks(criterion: Json, item: Json | None = None, **options: Any) -> Any:
    """Return the checks that one criterion becomes, whether of the suite or of its only case."""
    spec = suite(an_eval(criterion), a_run(item or {"ticket": "hi", "label": "x"}), **options)
    (turn,) = spec["cases"][0]["turns"]
    return [*spec.get("assertions", []), *turn.get("assertions", [])]


def lost(criterion: Json, item: Json | None = None) -> str:
    """Return everything that is said of what a criterion loses."""
    imported = read(an_eval(RIGHT, criterion), a_run(item or {"ticket": "hi", "label": "x"}))
    return " ".join(loss.message for loss in imported.losses)


def errors(*objects: Any, **options: Any) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(*objects, **options)
    return [problem for problem in caught.value.problems if problem.level == "error"]
