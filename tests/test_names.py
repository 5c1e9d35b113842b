"""Names: one thing has one, and what a function is called says what it does or returns."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("evals_app", "evalsite", "fixtures_app")

# Files of other systems are read into classes with the words of these systems; Django looks for Command.
SHARED = {"Agent", "Assertion", "Case", "Command", "Config", "Run", "Suite", "Tool", "Turn"}

IRREGULAR = [
    "begun",
    "bound",
    "built",
    "chosen",
    "done",
    "drawn",
    "found",
    "frozen",
    "given",
    "gone",
    "held",
    "kept",
    "known",
    "left",
    "lost",
    "made",
    "meant",
    "paid",
    "said",
    "seen",
    "sent",
    "shown",
    "spent",
    "taken",
    "told",
    "written",
]
# Nouns, verbs and adjectives that end alike, and names that others look for: of Django REST framework
# and the standard library, and of properties that mirror columns.
NO_PARTICIPLES = {
    *("children", "embed", "feed", "forbidden", "listen", "need", "open", "proceed"),
    *("seed", "shorten", "speed", "token", "between", "when", "len"),
    *("throttled", "decided", "passed", "measured"),
}


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """Parse all modules, once."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [
        (path.relative_to(ROOT).as_posix(), ast.parse(path.read_text()))
        for path in paths
        if "migrations" not in path.parts
    ]


def is_participle(name: str) -> bool:
    word = name.strip("_")
    return word not in NO_PARTICIPLES and (
        word in IRREGULAR or re.fullmatch(r"[a-z]+(ed|en)", word) is not None
    )


def returns_something(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    annotation = function.returns
    return not (isinstance(annotation, ast.Constant) and annotation.value is None)


def test_no_two_public_classes_have_one_name() -> None:
    places = defaultdict(list)
    for path, module in modules():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path)

    assert {
        name: paths for name, paths in places.items() if len(paths) > 1 and name not in SHARED
    } == {}


def test_no_function_that_returns_something_is_called_by_a_bare_participle() -> None:
    assert [
        f"{path}:{node.lineno} {node.name}"
        for path, module in modules()
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and is_participle(node.name)
        and returns_something(node)
    ] == []


def test_limits_are_called_max_or_min() -> None:
    house_word = re.compile(r"_?(MOST|LEAST|LONGEST|SHORTEST|LARGEST|SMALLEST|FEWEST|DEEPEST)(_|$)")

    assert [
        f"{path}:{target.lineno} {target.id}"
        for path, module in modules()
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and house_word.match(target.id)
    ] == []
