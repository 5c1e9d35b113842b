"""Callables, and what is wrong with those that are none."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evals_app.engine.callables.loading import (
    AGENT_FIELDS,
    LoadError,
    Purpose,
    alias_holodeck,
    call_agent,
    load,
)
from tests.engine.operator_code import OperatorCode

TOLD: dict[str, Any] = {
    "input": "Hello",
    "history": [{"role": "user", "content": "Before"}],
    "session_id": "5e55",
    "channel": "api",
    "context_params": {"tier": "gold"},
    "case": "Greeting",
    "trial": 1,
    "clock": None,
    "traceparent": "00-5e55-01",
}


@pytest.fixture
def operator_code(
    operator_code: OperatorCode, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OperatorCode]:
    """Modules that this very process can import."""
    monkeypatch.syspath_prepend(operator_code.folder)
    before = set(sys.modules)
    yield operator_code
    for name in set(sys.modules) - before:
        del sys.modules[name]


def load_from(code: OperatorCode, reference: str, purpose: Purpose = "grader") -> Any:
    return load(reference, purpose=purpose, modules=[code.package])


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("def it(context): ...", id="a function"),
        pytest.param("async def it(context): ...", id="an async function"),
        pytest.param("it = lambda context: 1", id="a lambda"),
        pytest.param("def it(context, *, strict=False): ...", id="with an option"),
        pytest.param("def it(*args): ...", id="any arguments"),
        "it = type('Grader', (), {'__call__': lambda self, context: 1})()",
        "from functools import partial; it = partial(lambda word, context: 1, 'hello')",
        "from functools import cache; it = cache(lambda context: 1)",
    ],
)
def test_what_can_be_called_with_a_context_is_a_grader(
    operator_code: OperatorCode, code: str
) -> None:
    assert callable(load_from(operator_code, operator_code.function(code)))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param("def itt(context): ...", "has no 'it'. Did you mean 'itt'?", id="misspelt"),
        pytest.param("it = 5", "is of type int; expected a function", id="a number"),
        pytest.param("class it: ...", "is a class; expected a function", id="a class"),
        pytest.param("def it(): ...", "one argument, the context", id="no argument"),
        pytest.param("def it(context, other): ...", "missing a required argument: 'other'"),
        pytest.param("from os import system as it", "defined in the module posix", id="os.system"),
        pytest.param(
            "it = eval", "defined in the module builtins, which your administrator", id="eval"
        ),
        pytest.param(
            "import functools, subprocess; it = functools.partial(subprocess.run, ['ls'])",
            "defined in the module subprocess",
            id="a part of another's function",
        ),
        ("import logging; it = logging.getLogger('x').info", "defined in the module logging"),
    ],
)
def test_what_no_grader_could_be_is_refused(
    operator_code: OperatorCode, code: str, message: str
) -> None:
    with pytest.raises(LoadError, match=message):
        load_from(operator_code, operator_code.function(code))


def test_a_module_that_is_missing_is_named_with_the_nearest(operator_code: OperatorCode) -> None:
    operator_code.write("def total(context): ...", name="money")

    with pytest.raises(LoadError, match=r"There is no module .*mony\. Did you mean 'money'\?"):
        load_from(operator_code, f"{operator_code.package}.mony:total")


def test_an_installed_package_is_never_meant(operator_code: OperatorCode) -> None:
    operator_code.write("def total(context): ...", name="money")

    with pytest.raises(LoadError, match=r"There is no module pygmen\..*PYTHONPATH") as refused:
        load_from(operator_code, "pygmen:total")

    assert "Did you mean" not in str(refused.value)


def test_a_module_that_needs_a_missing_one_raises_as_it_is(operator_code: OperatorCode) -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        load_from(operator_code, operator_code.function("import no_such_library"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("def it(input): return input", "Hello", id="by its name"),
        pytest.param("def it(message): return message", "Hello", id="by its place"),
        pytest.param("def it(message, /): return message", "Hello", id="by its place alone"),
        ("def it(case, input): return [case, input]", ["Greeting", "Hello"]),
        ("def it(question, history): return [question, len(history)]", ["Hello", 1]),
        pytest.param("def it(*, input, channel): return channel", "api", id="keywords alone"),
        ("def it(**told): return sorted(told)", sorted(AGENT_FIELDS)),
        pytest.param(
            "def it(message, **told): return [message, *sorted(told)]",
            ["Hello", *sorted(set(AGENT_FIELDS) - {"input"})],
            id="the message, and the rest by name",
        ),
        pytest.param("def it(message=''): return message", "Hello", id="with a default"),
        pytest.param("def it(*words): return words", ("Hello",), id="any number of them"),
        ("def it(client=None, **told): return [client, told['input']]", [None, "Hello"]),
        pytest.param("def it(): return 1", 1, id="nothing"),
        ("def it(input, temperature=0.5): return temperature", 0.5),
        ("it = type('Agent', (), {'__call__': lambda self, message: message})()", "Hello"),
    ],
)
def test_an_agent_is_given_what_it_has_parameters_for(
    operator_code: OperatorCode, code: str, expected: Any
) -> None:
    reference = operator_code.function(code)
    agent = load_from(operator_code, reference, "agent")

    assert call_agent(agent, TOLD, reference) == expected


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def it(input, histroy): ...", "an unknown parameter 'histroy'. Did you mean 'history'?"),
        ("def it(input, model): ...", "Known: input, history, session_id"),
        pytest.param("def it(client, input): ...", "parameter 'client'", id="before the message"),
    ],
)
def test_an_agent_with_a_parameter_that_nobody_fills_is_refused(
    operator_code: OperatorCode, code: str, message: str
) -> None:
    with pytest.raises(LoadError, match=message):
        load_from(operator_code, operator_code.function(code), "agent")


def forget_holodeck() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "holodeck"]:
        del sys.modules[name]


@pytest.fixture
def without_holodeck() -> Iterator[None]:
    forget_holodeck()
    yield
    forget_holodeck()


@pytest.mark.usefixtures("without_holodeck")
def test_a_folder_called_holodeck_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "holodeck").mkdir()
    (tmp_path / "holodeck" / "grading_of_ours.py").write_text(
        "from holodeck.lib.test_runner.code_grader import GraderResult\n"
        "def it(ctx): return GraderResult(score=1.0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    alias_holodeck()

    grader = load("holodeck.grading_of_ours:it", purpose="grader", modules=["holodeck"])

    assert grader(None).score == 1.0


@pytest.mark.usefixtures("without_holodeck")
def test_a_grader_written_for_holodeck_finds_the_contract(operator_code: OperatorCode) -> None:
    alias_holodeck()
    reference = operator_code.function(
        """
        from holodeck.lib.test_runner.code_grader import GraderContext, GraderResult
        from holodeck.models.test_result import ToolInvocation

        def it(ctx: GraderContext) -> GraderResult:
            return GraderResult(score=1.0, passed=True, reason="exact match")
        """
    )

    assert load_from(operator_code, reference)(None).reason == "exact match"
