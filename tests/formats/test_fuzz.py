"""Valid files, bent in thousands of ways: each is read, or refused in words that name the place."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evals_app.formats import FormatError, Problem, SourceFile, is_eval_file, is_shown, read_files
from evals_app.formats.yaml_source import read_yaml
from evals_app.formats.yaml_text import write_yaml

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
PROJECTS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
BENT = 100  # of each project
JUNK: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        3.5,
        10**30,
        "",
        " ",
        "\u0000",
        "x" * 5_000,
        "{{x}}",
        "../../etc/passwd",
    ),
    *(
        "${HOME}",
        "[",
        "(?P<x>",
        [],
        {},
        [[]],
        [None],
        {"": None},
        {"type": "contains"},
        "2026-01-01",
    ),
    *(
        "scripted/nobody",
        "anthropic/",
        "=1+1",
        "\ud7ff",
        "A\u0300",
        float("1e308"),
        [1, "a", {"b": [2]}],
    ),
]

Place = list[str | int]


def files_of(project: str) -> dict[str, bytes]:
    folder = EXAMPLES / project
    return {
        path.relative_to(EXAMPLES).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def read(files: dict[str, bytes]) -> list[Problem]:
    """Read what an import of the folder would read; give what it says."""
    evals = [
        SourceFile(path, content)
        for path, content in files.items()
        if is_eval_file(path) and not is_shown(path)
    ]
    others = {path: path.read_bytes() for path in EXAMPLES.glob("*.agent.yaml")}
    evals += [SourceFile(path.name, content) for path, content in others.items()]
    try:
        imported = read_files(evals, find=files.get)
    except FormatError as error:
        return error.problems
    return [*imported.warnings, *imported.losses]


def check(problems: list[Problem], files: dict[str, bytes]) -> None:
    """Every problem says something, of a place that exists."""
    for problem in problems:
        assert problem.message.strip(), problem
        assert "Traceback" not in problem.message, problem
        assert problem.path in files or problem.path.endswith(".agent.yaml"), problem
        lines = files.get(problem.path, b"").count(b"\n") + 1
        assert problem.path.endswith(".xlsx") or 0 <= problem.line <= lines + 1, problem


def places(data: Any, here: Place | None = None) -> Iterator[Place]:
    here = here or []
    yield here
    entries = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data if isinstance(data, list) else [])
    )
    for key, value in entries:
        yield from places(value, [*here, key])


def bend(data: Any, dice: random.Random) -> Any:
    """Change one place: another value, no value, another key, an entry twice, two places swapped."""
    data = json.loads(json.dumps(data))
    inner = [place for place in places(data) if place]
    if not inner:
        return dice.choice(JUNK)
    *way, last = dice.choice(inner)
    holder = data
    for step in way:
        holder = holder[step]
    kind = dice.randrange(6)
    if kind == 0:
        del holder[last]
    elif kind == 1 and isinstance(holder, dict):
        holder[dice.choice(["", "typ", "nmae", f"{last}s", str(last).upper()])] = holder.pop(last)
    elif kind == 2 and isinstance(holder, list):
        holder.append(holder[last])  # type: ignore[index]
    elif kind == 3:
        *other_way, other = dice.choice(inner)
        value: Any = data
        for step in (*other_way, other):
            value = value[step]
        holder[last] = json.loads(json.dumps(value))
    elif kind == 4:
        holder[last] = [holder[last]]
    else:
        holder[last] = dice.choice(JUNK)
    return data


def bend_data(content: bytes, dice: random.Random) -> bytes:
    data = read_yaml("x.yaml", content).data
    for _ in range(dice.randint(1, 3)):
        data = bend(data, dice)
    return write_yaml(data)


def bend_json(content: bytes, dice: random.Random) -> bytes:
    return json.dumps(bend(json.loads(content), dice), indent=1).encode()


def bend_lines(content: bytes, dice: random.Random) -> bytes:
    """Bend JSON, one value a line."""
    lines = content.decode().splitlines()
    at = dice.randrange(len(lines)) if lines else 0
    try:
        lines[at : at + 1] = [json.dumps(bend(json.loads(lines[at]), dice))]
    except (ValueError, IndexError):
        return bend_bytes(content, dice)
    return "\n".join(lines).encode()


def bend_bytes(content: bytes, dice: random.Random) -> bytes:
    """Cut, double or spoil a part, as an editor or a broken transfer does."""
    if not content:
        return b"\xff"
    begin = dice.randrange(len(content))
    end = min(len(content), begin + dice.randint(1, 40))
    middle = dice.choice(
        [b"", content[begin:end] * 2, dice.randbytes(4), b"\t", b"\r", b": ", b'"', b"&a *a", b"- "]
    )
    return content[:begin] + middle + content[end:]


def bender(path: str, dice: random.Random) -> Callable[[bytes, random.Random], bytes]:
    if dice.random() < 0.25:
        return bend_bytes
    if path.endswith((".yaml", ".yml")):
        return bend_data
    if path.endswith(".json"):
        return bend_json
    return bend_lines if path.endswith(".jsonl") else bend_bytes


@pytest.mark.parametrize("project", PROJECTS)
def test_bent_files_are_read_or_refused_with_their_place(project: str) -> None:
    files = files_of(project)
    check(read(files), files)
    dice = random.Random(project)
    refused = 0
    for _ in range(BENT):
        path = dice.choice(sorted(files))
        bent = files | {path: bender(path, dice)(files[path], dice)}
        problems = read(bent)
        check(problems, bent)
        refused += any(problem.level == "error" for problem in problems)
    # A reader that takes everything, or nothing, would pass without being tried.
    assert 0 < refused < BENT
