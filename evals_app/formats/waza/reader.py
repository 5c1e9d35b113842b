"""The waza dialect: each eval.yaml becomes a suite with the chosen agent, each task a case.

Source: https://github.com/microsoft/waza, schemas/eval.schema.json and task.schema.json
"""

from collections.abc import Iterator, Sequence

from evals_app.engine.basics.template import escape_braces
from evals_app.engine.specs.files import content_problem
from evals_app.formats.foreign.draft import Draft, cut_texts
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import ReaderContext, SourcePlaces, distinct_names, slug_of
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import FormatError, Json
from evals_app.formats.reading.yaml_source import read_yaml
from evals_app.formats.waza import DIALECT, is_task
from evals_app.formats.waza.graders import read_behavior, read_grader
from evals_app.formats.waza.shapes import WazaEval, WazaInputs, WazaTask

_A_TASK = (
    "This is a task of waza. Import the eval.yaml that names it, or the folder that holds both."
)
_NO_FILE = "{} is not in this import, or cannot be shown, so it is not attached."


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read evals, and the tasks that they name."""
    for document in documents:
        reading = ForeignFile(document, around, cut_texts(document))
        if is_task(document.data):
            reading.say((), _A_TASK, value="")
            yield reading.remarks(DIALECT.name)
        else:
            yield from _read(reading)


def _read(reading: ForeignFile) -> Iterator[Draft]:
    root, document = Spot(reading), reading.document
    file = root.part(WazaEval) or WazaEval(name="unread")
    places = SourcePlaces(document)
    places.note(("suite",), document, ("name",))
    places.note(("slug",), document, ("name",))
    tasks = list(_tasks(root, file))
    if not tasks and reading.is_valid:
        root.at("tasks").say("No task fits these patterns, so there is nothing to run.")
    cases = []
    for n, spot in enumerate(tasks):
        places.note(("cases", n), spot.document, spot.loc)
        if (task := spot.part(WazaTask)) is not None:
            cases.append(_case(root, spot, task))
    names = distinct_names([str(case["name"]) for case in cases])
    data: Json = {
        "suite": file.name,
        "slug": slug_of(file.name),
        "agent": reading.agent(),
        "description": file.description.strip(),
        "tags": [name for name in (file.skill, file.scenario) if name],
        "trials": file.config.trials_per_task,
        "cases": [
            {"turn_timeout_s": file.config.timeout_seconds, **case, "name": name}
            for case, name in zip(cases, names, strict=True)
        ],
    }
    yield from reading.suite(DIALECT.name, data, places)


def _tasks(root: Spot, file: WazaEval) -> Iterator[Spot]:
    """Return the tasks that the patterns of an eval find, each once."""
    reading = root.reading
    attached, seen = reading.around.attached, set()
    for pattern in file.tasks:
        is_pattern = any(sign in pattern for sign in "*?[")
        paths = attached.sibling_paths(root.document.path, pattern) if is_pattern else [pattern]
        for path in paths:
            content = None if path in seen else reading.around.content(root.document, path)
            seen.add(path)
            try:
                if content is not None:
                    task = read_yaml(reading.path(path), content)
                    yield Spot(ForeignFile(task, reading.around, reading.problems))
                elif not is_pattern:
                    root.at("tasks").say(reading.missing(reading.path(path)))
            except FormatError as error:
                reading.problems += error.problems


def _case(root: Spot, spot: Spot, task: WazaTask) -> Json:
    prompt = _prompt(spot, task.inputs)
    if prompt is None:
        spot.at("inputs").say("A task needs a `prompt`, or a `prompt_file` that can be read.")
    checks = [check for place in (root, spot) for check in _read_graders(place)]
    expected = task.expected
    for kind, texts in (
        ("contains", expected.output_contains),
        ("not_contains", expected.output_not_contains),
    ):
        checks += [{"type": kind, "value": text} for text in texts]
    checks += read_behavior(spot.at("expected", "behavior"), expected.behavior)
    said = [prompt or "unread", *task.inputs.follow_up_prompts]
    turns: list[Json] = [{"user": escape_braces(text), "assertions": []} for text in said]
    turns[0]["files"] = list(_files(root, spot, task.inputs))
    turns[-1]["assertions"] = checks
    timeout = {} if task.timeout_seconds is None else {"turn_timeout_s": task.timeout_seconds}
    return {
        "name": task.name,
        "description": task.description.strip(),
        "tags": task.tags,
        "enabled": task.enabled,
        "turns": turns,
        **timeout,
    }


def _read_graders(spot: Spot) -> Iterator[Json]:
    for entry in spot.at("graders").entries():
        yield from read_grader(entry)


def _prompt(spot: Spot, inputs: WazaInputs) -> str | None:
    if inputs.prompt is not None:
        return inputs.prompt
    here = spot.at("inputs", "prompt_file")
    return here.reading.text(here.loc)


def _files(root: Spot, spot: Spot, inputs: WazaInputs) -> Iterator[str]:
    """Return the files that a task shows, from the folder `fixtures` beside the eval."""
    for n, entry in enumerate(inputs.files):
        path = entry.get("path") if isinstance(entry, dict) else entry
        shown = f"fixtures/{path}"
        found = root.reading.around.content(root.document, shown)
        if found is None or ".." in shown or content_problem(shown, found):
            spot.at("inputs", "files", n).lose(_NO_FILE.format(path or "This file"))
        else:
            yield shown
