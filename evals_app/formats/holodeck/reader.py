"""The HoloDeck dialect: an `agent.yaml` with an agent, its metrics and its test cases.

Each file becomes a suite, by the name of its agent, and the agent itself if it is described there.

Source: the HoloDeck documentation, pages Evaluations and Agent Configuration.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from evals_app.formats.foreign.draft import Draft, make_draft
from evals_app.formats.foreign.shapes import ReaderContext, SourcePlaces
from evals_app.formats.holodeck.agents import HolodeckAgent, read_agent
from evals_app.formats.holodeck.cases import CaseReader
from evals_app.formats.holodeck.metrics import read_metrics
from evals_app.formats.holodeck.models import ModelTranslator
from evals_app.formats.holodeck.shapes import AgentFile, Case, CaseFile
from evals_app.formats.holodeck.source import HolodeckFile
from evals_app.formats.holodeck.variables import has_variable
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import FormatError, Loc, Problem
from evals_app.formats.reading.yaml_source import read_yaml

# What says that a file has something to evaluate.
_OF_SUITES = ("evaluations", "test_cases", "test_cases_file")
# Seconds for a turn, and conversations at once.
_MAX_VALUES = {"llm_timeout": 1500, "parallel_test_cases": 1000}
_READ = AgentFile.model_fields.keys() - {"tools"}


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read agent files, and the files of cases and instructions that they name."""
    models, unfilled = ModelTranslator(), dict[tuple[str, str], Problem]()
    drafts = [
        draft for document in documents for draft in _read_file(document, around, models, unfilled)
    ]
    for draft in (*models.drafts, *drafts):
        yield _without_what_follows(draft, unfilled)


def _without_what_follows(draft: Draft, unfilled: Mapping[tuple[str, str], Problem]) -> Draft:
    """Return a draft in which nothing else is wrong where a variable has no value."""
    problems = (
        problem
        for problem in draft.problems
        if problem.level != "error"
        or unfilled.get((problem.path, problem.keys), problem) == problem
    )
    sound = (reference for reference in draft.references if not has_variable(reference.name))
    return replace(draft, problems=tuple(problems), references=tuple(sound))


def _read_file(
    document: ParsedFile,
    around: ReaderContext,
    models: ModelTranslator,
    unfilled: dict[tuple[str, str], Problem],
) -> list[Draft]:
    written = document.data if isinstance(document.data, dict) else {}
    has_suite = any(written.get(key) is not None for key in _OF_SUITES)
    ignored = frozenset(written) - _READ
    if has_suite and around.agent is not None:
        ignored |= {"instructions"}
    source = HolodeckFile.of(document, AgentFile, around, ignored=ignored)
    file = source.part(AgentFile, ())
    tested = read_agent(source, file, models, has_suite=has_suite)
    drafts = [] if tested.draft is None else [tested.draft]
    if has_suite:
        drafts.append(_suite(source, file or AgentFile(), tested, models))
    elif tested.draft is None:
        if file is not None:
            source.say((), "This file has no agent, no metrics and no test cases.")
        drafts.append(_unsound(source, None))
    *others, last = drafts
    if not source.is_valid:
        # Warnings about what was left out as invalid do not matter.
        last = last.without_spec()
    unfilled |= source.unfilled
    return [*others, replace(last, problems=(*source.problems, *last.problems))]


def _suite(
    source: HolodeckFile, file: AgentFile, tested: HolodeckAgent, models: ModelTranslator
) -> Draft:
    document, places = source.document, SourcePlaces(source.document)
    cases = _cases(source, places, models)
    if not cases and source.is_valid:
        where = "test_cases" if source.value(("test_cases_file",)) is None else "test_cases_file"
        source.say((where,), "There are no cases, so nothing is tested.", level="warning")
    checks = read_metrics(source, ("evaluations", "metrics"), models)
    for n, check in enumerate(checks):
        check.note(places, ("assertions", n), document)
    written = source.value(("name",))
    name = written if isinstance(written, str) and written else source.around.agent
    slug = source.slug(name) if name else None
    if name is None or tested.slug is None:
        return _unsound(source, slug)
    places.note(("suite",), document, ("name",))
    places.note(("slug",), document, ("name",))
    places.note(("agent",), document, tested.loc)
    data = {
        "suite": name,
        "slug": slug,
        "agent": tested.slug,
        "description": file.description or "",
        "judge_model": _judge(source, file, tested, places, models),
        "assertions": [item.data for item in checks],
        "cases": cases,
        **_how_to_run(source, file, places, cases),
    }
    draft = make_draft("suite", "holodeck", document, data, place=places)
    says_judge = source.value(("evaluations", "model")) not in (None, [])
    return draft if says_judge else replace(draft, unsaid=frozenset({"judge_model"}))


def _judge(
    source: HolodeckFile,
    file: AgentFile,
    tested: HolodeckAgent,
    places: SourcePlaces,
    models: ModelTranslator,
) -> object:
    loc: Loc = ("evaluations", "model")
    if file.evaluations is None or file.evaluations.model is None:
        if file.model is None or not tested.is_replaced:
            return "agent"
        # It would judge itself, and continues to judge whichever agent is tested in its place.
        places.note(("judge_model",), source.document, ("model",))
        return models.model_value(source, ("model",), file.model)
    places.note(("judge_model",), source.document, loc)
    return models.model_value(source, loc, file.evaluations.model)


def _how_to_run(
    source: HolodeckFile, file: AgentFile, places: SourcePlaces, cases: Sequence[dict[str, object]]
) -> dict[str, object]:
    """Return the settings of the suite, and set those of its cases."""
    if file.execution is None:
        return {}
    if (timeout := _within(source, "llm_timeout", file.execution.llm_timeout)) is not None:
        for c, case in enumerate(cases):
            case["turn_timeout_s"] = timeout
            written_at = ("execution", "llm_timeout")
            places.note(("cases", c, "turn_timeout_s"), source.document, written_at)
    at_once = _within(source, "parallel_test_cases", file.execution.parallel_test_cases)
    places.note(("concurrency",), source.document, ("execution", "parallel_test_cases"))
    return {} if at_once is None else {"concurrency": at_once}


def _within(source: HolodeckFile, key: str, written: float | None) -> float | None:
    """Return a setting, capped at the maximum here; a cap is reported."""
    most = _MAX_VALUES[key]
    if written is None or written <= most:
        return written
    message = f"At most {most} is possible here, so {written:g} is read as {most}."
    source.say(("execution", key), message, level="loss")
    return most


def _unsound(source: HolodeckFile, slug: str | None) -> Draft:
    data = {"slug": slug} if slug else {}
    document = source.document
    return Draft("suite", "holodeck", document, data, None, place=document.problem)


def _cases(
    source: HolodeckFile, places: SourcePlaces, models: ModelTranslator
) -> list[dict[str, object]]:
    """Read the cases of a file, from there or from the file that it names."""
    path, is_inline = source.value(("test_cases_file",)), source.value(("test_cases",)) is not None
    if path is not None and is_inline:
        message = "Cases are either here or in another file. Remove test_cases or this key."
        source.say(("test_cases_file",), message)
    if is_inline or not isinstance(path, str):
        return CaseReader(source, places, models).read(("test_cases",))
    content = source.content(("test_cases_file",))
    if content is None:
        return []
    try:
        document = read_yaml(source.path(path), content)
    except FormatError as error:
        source.problems += error.problems
        return []
    # A list of cases, or a mapping that has it.
    is_list = isinstance(document.data, list)
    other = HolodeckFile.of(document, list[Case] if is_list else CaseFile, source.around)
    if not is_list:
        other.part(CaseFile, ())
    cases = CaseReader(other, places, models).read(() if is_list else ("test_cases",))
    source.problems += other.problems
    source.unfilled |= other.unfilled
    return cases
