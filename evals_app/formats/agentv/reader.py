"""The AgentV dialect: each eval file becomes a suite with the chosen agent.

Source: https://agentv.dev, pages Eval Files, Tests and Graders.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from evals_app.engine.basics.template import escape_braces
from evals_app.formats.agentv import DIALECT
from evals_app.formats.agentv.graders import Graders, read_criterion
from evals_app.formats.agentv.shapes import EvalSuite, EvalTest
from evals_app.formats.foreign.building import Placed, suite_drafts
from evals_app.formats.foreign.chats import is_chat, last_answer, read_chat
from evals_app.formats.foreign.draft import Draft, cut_texts
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.parts import NO_FILE, can_be_shown, tags_of
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.words import text_of
from evals_app.formats.reading.json_lines import read_json_lines
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import FormatError, Json
from evals_app.formats.reading.yaml_source import read_yaml

_MAX_TRIALS = 100
_PASSES = 0.8  # of the score of a test
_KEYS = ("assertions", "assert", "evaluators")


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read eval files, and the cases and prompts that they name."""
    for document in documents:
        yield from _read(ForeignFile(document, around, cut_texts(document)))


def _read(reading: ForeignFile) -> Iterator[Draft]:
    root = Spot(reading)
    file = root.part(EvalSuite) or EvalSuite()
    key = "evalcases" if file.evalcases is not None else "tests"
    spots = list(_tests(root.at(key)))
    if not spots and reading.is_valid:
        root.say("There are no tests here, so there is nothing to run.")
    threshold = _first(file.threshold, file.execution.threshold, _PASSES)
    yield from suite_drafts(
        DIALECT.name,
        root,
        file.name or reading.around.file_name(reading.document),
        [Placed(_case(spot, root, file), spot) for spot in spots],
        description=file.description,
        tags=file.tags,
        pass_threshold=threshold,
        **{"pass_rule": "score", **_trials(root, file)},
    )


def _trials(root: Spot, file: EvalSuite) -> Json:
    written = file.execution.trials if file.repeat is None else file.repeat
    count = written.get("count") if isinstance(written, dict) else written
    if written is not None and not (isinstance(count, int) and 1 <= count <= _MAX_TRIALS):
        root.lose("Set trials on the suite instead of this way to repeat tests.")
        return {}
    return {} if count is None else {"trials": count}


def _tests(spot: Spot) -> Iterator[Spot]:
    """Return the tests of a file, with those of the files that it names."""
    if isinstance(spot.value, str):
        yield from _of_files(spot)
    for entry in spot.entries():
        if isinstance(entry.value, str):
            yield from _of_files(entry)
        else:
            yield entry


def _of_files(spot: Spot) -> Iterator[Spot]:
    path, reading = str(spot.value).removeprefix("file://"), spot.reading
    attached = reading.around.attached
    paths = attached.sibling_paths(spot.document.path, path) if "*" in path else [path]
    for item in paths:
        content = reading.around.content(spot.document, item)
        try:
            read_file = read_json_lines if item.endswith(".jsonl") else read_yaml
            found = read_file(reading.path(item), content) if content is not None else None
        except FormatError as error:
            reading.problems += error.problems
            continue
        if found is None:
            spot.lose(
                f"The file {reading.path(item)} is missing, so its tests are left out.", checks=1
            )
        else:
            yield from Spot(ForeignFile(found, reading.around, reading.problems)).entries()


def _case(spot: Spot, root: Spot, file: EvalSuite) -> Json:
    test = spot.part(EvalTest) or EvalTest(id="unread", input="unread")
    variables = test.vars
    asked = _first(test.input_messages, test.input, variables.get("input"))
    expected = _first(
        test.expected_messages, test.expected_output, variables.get("expected_output")
    )
    files: list[str] = []
    skips = test.execution.skip_defaults
    messages = [*([] if skips else _messages(root, file.input, [])), *_messages(spot, asked, files)]
    chat = read_chat(messages)
    if chat is None:
        spot.say("Nothing is asked in this test.")
    for loss in chat.losses(root.reading.around.agent) if chat else ():
        spot.lose(loss)
    for key in variables.keys() - {"input", "expected_output"}:
        spot.at("vars", key).lose("Only `input` and `expected_output` of `vars` are read.")
    answer = _answer(expected)
    graders = Graders(test.criteria or test.expected_outcome or test.outcome, bool(answer))
    own = [entry for place in _places_of(spot) for entry in place.entries()]
    shared = [] if skips else [entry for place in _places_of(root) for entry in place.entries()]
    checks = [check for entry in (*own, *shared) for check in graders.read(entry)]
    checks += [check for entry in spot.at("rubrics").entries() for check in read_criterion(entry)]
    if not (own or shared or test.rubrics):
        checks = graders.implicit()
    turn: Json = {"user": escape_braces(chat.user if chat else "unread"), "assertions": checks}
    turn |= ({"expected": answer} if answer else {}) | ({"files": files} if files else {})
    return {
        "name": test.id,
        "description": graders.criteria,
        "tags": tags_of(spot.at("metadata"), test.metadata),
        "history": chat.history_in_case if chat else [],
        "turns": [turn],
        **({"turn_timeout_s": file.timeout_seconds} if file.timeout_seconds else {}),
    }


def _places_of(spot: Spot) -> list[Spot]:
    """Return where a test or a file may have its checks."""
    return [spot.at(key) for key in _KEYS] + [spot.at("execution", key) for key in _KEYS]


def _first(*values: object) -> object:
    return next((value for value in values if value is not None), None)


def _messages(spot: Spot, written: Any, files: list[str]) -> list[Json]:
    """Return messages as chats have them; files that can be shown go to `files`."""
    if written is None:
        return []
    if isinstance(written, dict) and "role" in written:
        written = [written]
    if not is_chat(written):
        return [{"role": "user", "content": text_of(written)}]
    return [{**item, "content": _content(spot, item.get("content"), files)} for item in written]


def _content(spot: Spot, content: object, files: list[str]) -> str:
    if not isinstance(content, list):
        return text_of(content)
    texts = []
    for part in content:
        value = part.get("value", part.get("text")) if isinstance(part, dict) else part
        if isinstance(part, dict) and part.get("type") == "file" and isinstance(value, str):
            path = value.removeprefix("./")
            if can_be_shown(spot, path):
                files.append(path)
            else:
                spot.lose(NO_FILE.format(value))
        else:
            texts.append(text_of(value))
    return "\n\n".join(texts)


def _answer(expected: Any) -> str:
    """Return the expected answer as a text: the last message, or data as JSON."""
    if not is_chat(expected):
        return text_of(expected)
    answer, _ = last_answer([{**item, "content": _plain(item.get("content"))} for item in expected])
    return answer or ""


def _plain(content: object) -> str:
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "\n\n".join(
            text_of(part.get("value")) for part in content if part.get("type") != "file"
        )
    return text_of(content)
