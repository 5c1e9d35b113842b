"""What pytest runs: a test for each case of a suite, and one for its gates.

The conversations of a case run while the test is set up, so what could not be graded is an error in
pytest's words, and only what the agent did wrong is a failure. Neither passes.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from evals_app.code.agents import AgentLike, SuiteOfAgent
from evals_app.code.freezing import CodeChoices
from evals_app.code.memory_gateway import Purse
from evals_app.code.results import GradedCase, GradedTrial, RunResults
from evals_app.code.running import money, run_in_purse, valid_trials, wait_for
from evals_app.code.suites import Suite, SuiteError
from evals_app.engine.preparing.case_choice import CaseChoice
from evals_app.engine.record.trial import Verdict
from evals_app.engine.suites.suite_spec import CaseSpec
from evals_app.engine.verdicts.gates import GateResult
from evals_app.engine.verdicts.run_summary import summarise_run

_PURSE = pytest.StashKey[Purse]()


def option(config: pytest.Config, name: str) -> str:
    """Return an option of the command line, else of the ini file; empty if neither is set."""
    given = config.getoption(f"--evals-{name}")
    return str(given or config.getini(f"evals_{name.replace('-', '_')}") or "")


def purse_of(config: pytest.Config) -> Purse:
    """Return the money of this process; the processes of xdist each have an equal share."""
    if _PURSE not in config.stash:
        written = option(config, "max-cost")
        limit = money(written, "--evals-max-cost") if written else None
        workers = getattr(config, "workerinput", {}).get("workercount", 1)
        config.stash[_PURSE] = Purse(None if limit is None else limit / workers)
    return config.stash[_PURSE]


def spent_in_words(config: pytest.Config) -> str:
    """Return what the cases cost, in a line for the end; empty if nothing ran in this process."""
    purse = config.stash.get(_PURSE, None)
    return "" if purse is None else f"Evals: models cost ${purse.spent_usd.normalize():f}"


class SuiteNode(pytest.Collector):
    """A suite; its children are its cases and its gates."""

    suite: Suite

    def agent(self) -> AgentLike | None:
        raise NotImplementedError

    def load(self) -> Suite:
        raise NotImplementedError

    def choices(self) -> CodeChoices:
        """Return what the command line chooses for every suite."""
        trials = option(self.config, "trials")
        return CodeChoices(
            CaseChoice(trials=valid_trials(int(trials)) if trials.isdecimal() else None),
            model=option(self.config, "model"),
            judge=option(self.config, "judge"),
            max_cost_usd=purse_of(self.config).max_usd,
        )

    def collect(self) -> Iterator[pytest.Item]:
        self.graded: dict[str, GradedCase] = {}
        try:
            self.suite = self.load()
            choices = self.choices()
        except SuiteError as error:
            raise self.CollectError(str(error)) from error
        if lost := self.suite.project.losses.checks:
            raise self.CollectError(f"{lost} checks of this suite could not be read.")
        for case in self.suite.spec.cases:
            if case.enabled and choices.part.trials_of(case, self.suite.spec):
                yield CaseItem.from_parent(self, name=case.name, case=case, choices=choices)
        if self.suite.spec.gates.limits_set:
            yield GatesItem.from_parent(self, name="gates")


class SuiteFile(SuiteNode, pytest.File):
    """A suite in a file."""

    def load(self) -> Suite:
        return Suite.load(self.path)

    def agent(self) -> AgentLike | None:
        written = option(self.config, "agent")
        if ":" in written:
            return _function(written)
        return Path(written) if written.endswith((".yaml", ".yml")) else written or None


class SuiteOfFunction(SuiteNode):
    """A suite that is run with a function of a test module, which has the decorator `evals`."""

    def __init__(self, *, function: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function = function
        self.marked: SuiteOfAgent = function.evalwell_suite

    def load(self) -> Suite:
        written = self.marked.suite
        if isinstance(written, Suite):
            return written
        beside = self.path.parent / written
        return Suite.load(beside if beside.exists() else written)

    def agent(self) -> AgentLike:
        function: Callable[..., Any] = self.function
        return function

    def choices(self) -> CodeChoices:
        return self.marked.over(super().choices())


def _function(reference: str) -> Callable[..., Any]:
    module, _, name = reference.partition(":")
    try:
        function: Callable[..., Any] = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        where = "pytest looks for modules in the folders of its option pythonpath."
        problem = f"--evals-agent {reference}: {error}. Write module:function; {where}"
        raise SuiteError([problem]) from error
    return function


class CaseItem(pytest.Item):
    """A case, with all of its trials."""

    parent: SuiteNode

    def __init__(self, *, case: CaseSpec, choices: CodeChoices, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case, self.choices = case, choices
        self.extra_keyword_matches.update(case.tags)  # pytest -k smoke
        self.graded: GradedCase | None = None

    def setup(self) -> None:
        """Run the conversations; what could not be graded is an error."""
        results = self._run()
        if isinstance(results, SuiteError):
            pytest.fail(str(results), pytrace=False)
        self.graded = self.parent.graded[self.name] = results.cases[self.case.name]
        if results.cost_usd is not None:
            self.user_properties.append(("cost_usd", f"{results.cost_usd:f}"))
        if self.graded.verdict is Verdict.MEASURED:
            pytest.skip(
                f"It only measures, so it can neither pass nor fail. Score: {self.graded.score}"
            )
        if not self.graded.passed and self.graded.verdict is not Verdict.FAILED:
            notes = "\n".join(results.notes)
            pytest.fail(f"It could not be graded.\n{in_words(self.graded)}\n{notes}", pytrace=False)

    def _run(self) -> RunResults | SuiteError:
        part = CaseChoice(names=(self.case.name,), trials=self.choices.part.trials)
        choices, purse = replace(self.choices, part=part), purse_of(self.config)
        try:
            return wait_for(run_in_purse(self.parent.suite, self.parent.agent(), choices, purse))
        except SuiteError as error:
            return error

    def runtest(self) -> None:
        """Fail if the case failed."""
        if self.graded is not None and self.graded.verdict is Verdict.FAILED:
            pytest.fail(in_words(self.graded), pytrace=False)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        suite = self.parent.suite
        line = suite.case_lines.get(self.case.name)
        return suite.path or self.path, None if line is None else line - 1, self.name


class GatesItem(pytest.Item):
    """The gates of a suite: conditions on all of its cases together."""

    parent: SuiteNode

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.failed: list[str] = []

    def setup(self) -> None:
        """Sum up the cases; a gate that cannot be decided is an error."""
        spec, graded = self.parent.suite.spec, self.parent.graded
        missing = [case.name for case in spec.cases if case.enabled and case.name not in graded]
        if missing:
            pytest.skip(f"Gates are about the whole suite; not run in this process: {missing}")
        facts = [trial.to_fact() for case in graded.values() for trial in case.trials]
        summary = summarise_run(facts, suite=spec, had_baseline=False)
        self.failed = [_gate_text(gate) for gate in summary.gates if gate.passed is False]
        open_gates = [
            _gate_text(gate) for gate in summary.gates if gate.is_applied and gate.passed is None
        ]
        if open_gates and not self.failed:
            pytest.fail("It could not be decided.\n" + "\n".join(open_gates), pytrace=False)

    def runtest(self) -> None:
        """Fail if a gate failed."""
        if self.failed:
            pytest.fail("\n".join(self.failed), pytrace=False)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        return self.parent.suite.path or self.path, None, self.name


def _gate_text(gate: GateResult) -> str:
    return f"{gate.name}: limit {gate.limit:g}, was {gate.actual}. {gate.reason}".rstrip()


def in_words(case: GradedCase) -> str:
    """Return why a case did not pass: of each such trial the reason, the checks, the conversation."""
    wrong = [trial for trial in case.trials if not (trial.passed or trial.is_skipped)]
    return "\n\n".join(map(_trial_in_words, wrong))


def _trial_in_words(trial: GradedTrial) -> str:
    state = trial.verdict.value if trial.verdict else "not run"
    lines = [f"{trial.case}, trial {trial.number}: {state}. {trial.reason}"]
    for one in trial.checks:
        if one.passed is False or not one.is_graded:
            where = "" if one.turn is None else f" (turn {one.turn})"
            lines.append(
                f"  {'failed' if one.is_graded else 'not graded'}: {one.label}{where}: {one.reason}"
            )
            lines += [f"    “{quote.quote}”" for quote in one.evidence]
    lines += [f"  {who}: {text}" for who, text in trial.messages]
    if trial.tool_calls:
        lines += [f"  tool {call.name}: {call.args}" for call in trial.tool_calls]
    return "\n".join(lines)
