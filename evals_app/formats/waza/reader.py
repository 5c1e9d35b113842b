"""The waza dialect: each eval.yaml becomes a suite with the chosen agent, each task a case.

Source: https://github.com/microsoft/waza, schemas/eval.schema.json and task.schema.json
"""

from collections.abc import Iterator, Sequence

from evals_app.engine.basics.template import escape_braces
from evals_app.formats.foreign.building import Placed, suite_drafts
from evals_app.formats.foreign.draft import Draft, cut_texts
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.parts import NO_FILE, can_be_shown
from evals_app.formats.foreign.shapes import ReaderContext
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
    root = Spot(reading)
    file = root.part(WazaEval) or WazaEval(name="unread")
    tasks = list(_tasks(root, file))
    if not tasks and reading.is_valid:
        root.at("tasks").say("No task fits these patterns, so there is nothing to run.")
    cases = [
        Placed(_case(root, spot, task, file.config.timeout_seconds), spot)
        for spot in tasks
        if (task := spot.part(WazaTask)) is not None
    ]
    yield from suite_drafts(
        DIALECT.name,
        root,
        Placed(file.name, root.at("name")),
        cases,
        description=file.description.strip(),
        tags=[name for name in (file.skill, file.scenario) if name],
        trials=file.config.trials_per_task,
    )


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


def _case(root: Spot, spot: Spot, task: WazaTask, timeout_s: float) -> Json:
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
    return {
        "name": task.name,
        "description": task.description.strip(),
        "tags": task.tags,
        "enabled": task.enabled,
        "turns": turns,
        "turn_timeout_s": task.timeout_seconds or timeout_s,
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
        if can_be_shown(root, shown):
            yield shown
        else:
            spot.at("inputs", "files", n).lose(NO_FILE.format(path or "This file"))
