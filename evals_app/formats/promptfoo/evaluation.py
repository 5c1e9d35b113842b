"""Turns a configuration into agents and suites."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from evals_app.formats.foreign.building import Placed, placed_draft, with_distinct_names
from evals_app.formats.foreign.draft import Draft, make_draft
from evals_app.formats.foreign.shapes import GENERIC, SourcePlaces, slug_of
from evals_app.formats.promptfoo.assertions import AssertionContext, optional_key, read_checks
from evals_app.formats.promptfoo.cases import ExpandedTest, is_meant, read_cases, tests_of
from evals_app.formats.promptfoo.prompts import FilledPrompt, PromptTemplate, read_prompts
from evals_app.formats.promptfoo.providers import SuiteTarget, read_targets
from evals_app.formats.promptfoo.shapes import Config, EvaluateOptions
from evals_app.formats.promptfoo.source import ProjectSpot
from evals_app.formats.reading.problems import Json
from fixtures_app.ground.words import near

_NAME_CHARS = 200
_SLUG_CHARS = 100
_ASKED = ("prompts", "providers", "targets", "tests", "scenarios", "defaultTest")


@dataclass(frozen=True, slots=True)
class _Suite:
    """What one suite asks: a prompt, of an agent, with the cases that pass by one rule."""

    target: SuiteTarget
    prompt: PromptTemplate
    slug: str
    agent: str
    # Whether the system prompt of the agent is filled in case by case.
    has_parameters: bool
    threshold: float | None
    # Knows it from others of this prompt and agent, by the threshold; empty if it is alone.
    rule: str
    # The tests of each case: one, or the turns of a conversation.
    cases: Sequence[Sequence[tuple[ExpandedTest, FilledPrompt]]]


class Evaluation:
    """A configuration while its agents and suites are made."""

    def __init__(self, root: ProjectSpot, config: Config) -> None:
        self._root = root
        self._config = config
        self._options = config.evaluate_options or EvaluateOptions()
        self._targets = read_targets(root)
        self._cases = read_cases(root)
        self._prompts = read_prompts(root.at("prompts"), [case.values for case in self._cases])
        for case in self._cases:
            case.tell_untagged()
        self._base = _base_name(root, config.description)
        self._agents: dict[str, Draft] = {}
        self._unasked: set[int] = set()  # cases that were reported

    def drafts(self) -> list[Draft]:
        """Return the agents and suites; what is wrong is reported to the project."""
        is_valid = self._root.project.base.is_valid
        if tests_of(self._root).value is None and self._root.at("scenarios").value is None:
            self._root.say("There are no tests and no scenarios here, so there is nothing to run.")
        elif not self._cases and is_valid:
            self._refuse(self._root, "None of these tests can be read, so no suite is made.")
        if not self._prompts and is_valid:
            message = "None of these prompts can be read, so no suite is made."
            self._refuse(self._root.at("prompts"), message)
        if not self._targets and is_valid:
            self._root.say("There are no providers here, so no agent is asked.")
        suites = [
            suite
            for target in self._targets
            for prompt in self._prompts
            if is_meant(target.prompts, prompt.labels)
            for suite in self._suites(target, prompt)
        ]
        if self._targets and self._prompts:
            self._tell_unasked(suites)
        if not suites and self._root.project.base.is_valid:
            self._refuse(self._root, "None of these tests can be asked, so no suite is made.")
        return [*self._agents.values(), *map(self._suite_draft, suites)]

    def _refuse(self, spot: ProjectSpot, message: str) -> None:
        """Refuse a configuration of which nothing is left; what was lost are its errors now."""
        problems = self._root.project.base.problems
        named: set[str] = set()
        for n, problem in enumerate(problems):
            is_asked = problem.keys.startswith(_ASKED) or problem.path != self._root.document.path
            if problem.level == "loss" and is_asked and problem.message not in named:
                named.add(problem.message)
                problems[n] = replace(problem, level="error")
        spot.say(message)

    def _tell_unasked(self, suites: Sequence[_Suite]) -> None:
        """Report names in filters that do not exist, and tests that no suite has."""
        prompts = [prompt.labels for prompt in self._prompts]
        providers = [item.labels for item in self._targets]
        for target in self._targets:
            _tell_unknown(target.spot, "prompts", target.prompts, prompts)
        cases = (case for suite in suites for turns in suite.cases for case, _ in turns)
        asked = self._unasked | set(map(id, cases))
        for case in self._cases:
            _tell_unknown(case.spot, "prompts", case.names_of("prompts"), prompts)
            _tell_unknown(case.spot, "providers", case.names_of("providers"), providers)
            if id(case) not in asked:
                message = "No provider and prompt apply to this test. It is left out."
                case.spot.lose(message, checks=len(case.assertions))

    def _suites(self, target: SuiteTarget, prompt: PromptTemplate) -> Iterator[_Suite]:
        """Return a suite, or one for each threshold, for a suite has one rule of passing."""
        chosen: dict[float | None, list[list[tuple[ExpandedTest, FilledPrompt]]]] = {}
        for turns in self._conversations(target, prompt):
            chosen.setdefault(turns[0][0].threshold, []).append(turns)
        system = _system_prompt([turns[0][1] for cases in chosen.values() for turns in cases])
        agent = self._agent(target, prompt, system) if chosen else ""
        for threshold, cases in chosen.items():
            rule = "" if threshold is None or len(chosen) == 1 else f"score {threshold:g}"
            slug = _slug(
                self._base,
                prompt.slug if len(self._prompts) > 1 else "",
                target.slug if len(self._targets) > 1 else "",
                slug_of(rule, instead=""),
            )
            has_parameters = target.agent is None and "{{" in system
            yield _Suite(target, prompt, slug, agent, has_parameters, threshold, rule, cases)

    def _conversations(
        self, target: SuiteTarget, prompt: PromptTemplate
    ) -> list[list[tuple[ExpandedTest, FilledPrompt]]]:
        """Return what a target is asked, the turns of a conversation together."""
        conversations: dict[object, list[tuple[ExpandedTest, FilledPrompt]]] = {}
        for case in self._cases:
            is_asked = is_meant(case.names_of("prompts"), prompt.labels)
            if not (is_asked and is_meant(case.names_of("providers"), target.labels)):
                continue
            if (question := self._question(case, prompt)) is not None:
                key = case.conversation if prompt.is_conversation else id(case)
                conversations.setdefault(key, []).append((case, question))
        for turns in conversations.values():
            for case, question in turns[1:]:
                _report_differences(case, question, *turns[0])
        return list(conversations.values())

    def _question(self, case: ExpandedTest, prompt: PromptTemplate) -> FilledPrompt | None:
        question = prompt.say(case.values)
        if question is None:
            why = "the first and the last message are not the user's, so there is nothing to ask."
            if not prompt.text.fill(case.values).strip():
                why = "the message is empty with the variables of this test."
            message = f"In the prompt {prompt.name!r} {why} This test is left out."
            case.spot.lose(message, checks=len(case.assertions))
            self._unasked.add(id(case))
            return None
        for name in prompt.text.missing(case.values):
            message = (
                f"The prompt {prompt.name!r} uses {{{{{name}}}}}, which this test does not set: it is "
                "empty."
            )
            case.spot.say(message, level="warning")
        return question

    def _agent(self, target: SuiteTarget, prompt: PromptTemplate, system: str) -> str:
        """Return the slug of the agent for a prompt, and draft it unless it is here."""
        if target.agent is not None:
            if system:
                prompt.spot.lose(
                    f"The agent {target.agent} has its own system prompt. This one is left out."
                )
            return target.agent
        if system and target.made.get("driver") == "http":
            prompt.spot.lose(
                "An agent at a web address has its own system prompt. This one is left out."
            )
            system = ""
        own = prompt.slug if system and len(self._prompts) > 1 else ""
        slug = _slug(self._base, target.slug, own)
        if slug not in self._agents:
            document = target.spot.document
            data = {"agent": target.name[:_NAME_CHARS], "slug": slug, "system_prompt": system}
            places = SourcePlaces(document, target.spot.loc)
            places.note(("system_prompt",), prompt.spot.document, prompt.spot.loc)
            self._agents[slug] = make_draft(
                "agent", "promptfoo", document, data | target.made, place=places
            )
        return slug

    def _suite_draft(self, suite: _Suite) -> Draft:
        title = [self._config.description or self._base]
        title += [suite.prompt.name] if len(self._prompts) > 1 else []
        title += [suite.target.name] if len(self._targets) > 1 else []
        title += [suite.rule] if suite.rule else []
        names = [turns[0][0].name or f"row-{n:04}" for n, turns in enumerate(suite.cases, 1)]
        cases = [Placed(self._case(suite, turns), turns[0][0].spot) for turns in suite.cases]
        data: Json = {
            "suite": " - ".join(title)[:_NAME_CHARS],
            "slug": suite.slug,
            "agent": Placed(suite.agent, suite.target.spot),
            "description": self._config.description or "",
            "tags": [f"{key}={value}" for key, value in self._config.tags.items()],
            **optional_key("trials", self._options.repeat),
            **optional_key("concurrency", self._options.max_concurrency),
            "cases": with_distinct_names(cases, names),
        }
        if suite.threshold is not None:
            data |= {"pass_rule": "score", "pass_threshold": suite.threshold}
        return placed_draft("suite", "promptfoo", self._root, data)

    def _case(self, suite: _Suite, turns: Sequence[tuple[ExpandedTest, FilledPrompt]]) -> Json:
        question = turns[0][1]
        timeout_ms = self._options.timeout_ms or None  # 0: none
        return {
            "tags": list(dict.fromkeys(tag for turn, _ in turns for tag in turn.tags)),
            "context_params": question.parameters if suite.has_parameters else {},
            "history": question.history,
            "turns": [Placed(self._turn(suite, *turn), turn[0].spot) for turn in turns],
            **optional_key("turn_timeout_s", timeout_ms and timeout_ms / 1000),
        }

    def _turn(self, suite: _Suite, case: ExpandedTest, question: FilledPrompt) -> Json:
        asked = f"{case.text_option('prefix')}{question.user}{case.text_option('suffix')}"
        turn: Json = {
            "user": Placed(asked, suite.prompt.spot),
            "files": list(case.files),
        }
        setting = AssertionContext(
            values=case.values,
            turn=turn,
            transforms=[*suite.target.transforms(), *case.transforms()],
            grader=case.option("provider"),
            templates=self._config.assertion_templates,
            by_score=suite.threshold is not None,
            metadata=case.metadata,
        )
        checks = (check for spot in case.assertions for check in read_checks(spot, setting))
        turn["assertions"] = [Placed(check, spot) for check, spot in checks]
        return turn


def _report_differences(
    case: ExpandedTest, question: FilledPrompt, first: ExpandedTest, first_question: FilledPrompt
) -> None:
    """Report settings that a later turn of a conversation cannot have."""
    if case.threshold != first.threshold:
        case.spot.lose("A conversation has one threshold, that of its first test.")
    if question.system != first_question.system:
        case.spot.lose("A conversation has one system prompt, that of its first test.")


def _tell_unknown(
    spot: ProjectSpot, key: str, wanted: Sequence[str] | None, known: Sequence[Sequence[str]]
) -> None:
    """Report those names of a filter that mean none of what is here, by its labels."""
    for name in wanted or ():
        if not any(is_meant([name], labels) for labels in known):
            hint = near(name, [label for labels in known for label in labels])
            spot.lose(f"Its {key} name {name!r}, which does not exist here.{hint}")


def _base_name(root: ProjectSpot, description: str | None) -> str:
    """Return what a configuration is about: its file, folder or description."""
    *parts, _ = PurePosixPath(root.document.path).name.split(".")
    own = " ".join(part for part in parts if part != "promptfooconfig")
    if slug_of(parts[0]) not in GENERIC:
        return slug_of(own)
    # The same wherever the import begins: else the next one would make other suites.
    folder = root.project.base.around.project(root.document)
    return slug_of(f"{folder or description or 'promptfoo'} {own}")


def _slug(*parts: str) -> str:
    return "-".join(filter(None, parts))[:_SLUG_CHARS].strip("-")


def _system_prompt(questions: Sequence[FilledPrompt]) -> str:
    """Return the system prompt of an agent: the same for all cases, or with their parameters."""
    texts = {question.system for question in questions}
    if len(texts) == 1 and "{{" not in (text := texts.pop()):
        return text
    return questions[0].template if questions else ""
