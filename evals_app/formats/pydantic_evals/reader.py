"""The pydantic-evals dialect: each dataset becomes a suite with the chosen agent.

Source: https://ai.pydantic.dev/evals/how-to/dataset-serialization/
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from pydantic import TypeAdapter, ValidationError

from evals_app.engine.basics.template import PARAMS, escape_braces
from evals_app.formats.foreign.building import Placed, suite_drafts
from evals_app.formats.foreign.chats import Chat, chat_of, is_chat
from evals_app.formats.foreign.draft import Draft, cut_texts, validate_part
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.parts import (
    NO_JUDGE,
    as_parameter,
    judge_check,
    judge_named,
    same_as,
    tags_of,
)
from evals_app.formats.foreign.shapes import (
    ReaderContext,
    SourcePlaces,
    first_words,
)
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.words import MESSAGES, USER, plain, text_of
from evals_app.formats.pydantic_evals import DIALECT
from evals_app.formats.pydantic_evals.shapes import (
    KNOWN,
    LOST,
    OWN_CLASS,
    Case,
    ContainsValue,
    Equals,
    EqualsExpected,
    EvaluatedDataset,
    Evaluator,
    LLMJudge,
    MaxDuration,
)
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Json

_DURATION: TypeAdapter[timedelta] = TypeAdapter(timedelta)
_AS_JSON = (
    "No key of these inputs says what is asked, so the agent receives all of them as JSON. To send one "
    "text, write it under a key such as `question`."
)
_PARAMETER = (
    "This key of the inputs is a parameter of the case. The agent gets it where its prompt has {}."
)
_NO_EVALUATORS = (
    "No evaluator in this file compares `expected_output`, perhaps because your program has them. The "
    "reply must be exactly this."
)


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read datasets."""
    for document in documents:
        yield from _read(ForeignFile(document, around, cut_texts(document)))


def _read(reading: ForeignFile) -> Iterator[Draft]:
    root, document = Spot(reading), reading.document
    dataset = root.part(EvaluatedDataset)
    shared = list(root.at("evaluators").entries())
    cases = list(root.at("cases").entries())
    is_bare = not shared and not any(spot.at("evaluators").value for spot in cases)
    name = (dataset and dataset.name) or reading.around.file_name(document)
    checks = _checks(shared, None)
    read_cases = [Placed(_case(spot, shared), spot) for spot in cases]
    for case in read_cases:
        (turn,) = case.part["turns"]
        if is_bare and (expected := case.spot.at("expected_output")).value is not None:
            expected.say(_NO_EVALUATORS, level="guess")
            turn["assertions"] = [same_as(expected.value)]
        elif turn["assertions"]:
            turn["inherit"] = bool(checks)
        else:
            del turn["assertions"]  # it has those of the suite
    title = Placed(name, root.at("name"))
    yield from suite_drafts(DIALECT.name, root, title, read_cases, assertions=checks)


def _case(spot: Spot, shared: Sequence[Spot]) -> Json:
    case, asked_at = spot.part(Case) or Case(inputs="unread"), spot.at("inputs")
    chat, parameters = _inputs(asked_at, case.inputs)
    expected = case.expected_output
    own = [*_of_expected(shared, expected), *_checks(spot.at("evaluators").entries(), expected)]
    metadata = case.metadata if isinstance(case.metadata, dict) else {"metadata": case.metadata}
    turn: Json = {"user": Placed(escape_braces(chat.user), asked_at), "assertions": own}
    if expected is not None:
        turn["expected"] = text_of(expected)
    return {
        "name": case.name or first_words(chat.user),
        "tags": tags_of(spot.at("metadata"), metadata),
        "context_params": parameters,
        "history": chat.history_in_case,
        "turns": [turn],
    }


def _inputs(spot: Spot, inputs: object) -> tuple[Chat, Json]:
    """Read what is asked: a text, a chat, or a mapping of which one key is said."""
    chat = chat_of(inputs)
    if chat is None and isinstance(inputs, dict):
        said = next((key for key in inputs if plain(key) in (*USER, *MESSAGES)), "")
        chat = chat_of(inputs.get(said))
        if chat is not None:
            others = {key: value for key, value in inputs.items() if key != said}
            for key in others:
                variable = f"{{{{{PARAMS}{key}}}}}"
                spot.at(key).say(_PARAMETER.format(variable), level="guess", value="")
            _lose_of_chat(spot.at(said), chat)
            return chat, {key: as_parameter(value) for key, value in others.items()}
    if chat is None and isinstance(inputs, list | dict) and inputs and not is_chat(inputs):
        spot.say(_AS_JSON, level="guess")
    if chat is None and inputs not in (None, "", [], {}) and not is_chat(inputs):
        chat = Chat("", [], text_of(inputs), None, ())
    if chat is None:
        spot.say("Nothing is asked here.")
        chat = Chat("", [], "unread", None, ())
    _lose_of_chat(spot, chat)
    return chat, {}


def _lose_of_chat(spot: Spot, chat: Chat) -> None:
    for loss in chat.losses(spot.reading.around.agent):
        spot.lose(loss)


# Evaluators.


def _name_of(spot: Spot) -> str:
    """Return the name of an evaluator: alone, with its options, or under `name`."""
    written = spot.value
    if isinstance(written, dict) and written.keys() <= {"name", "arguments"}:
        return text_of(written.get("name"))
    if isinstance(written, dict) and len(written) == 1:
        return str(next(iter(written)))
    return written if isinstance(written, str) else ""


def _of_expected(shared: Sequence[Spot], expected: object) -> list[Json]:
    """Return the checks of shared evaluators that depend on what a case expects."""
    return [
        check
        for spot in shared
        if _name_of(spot) == "EqualsExpected"
        for check in _checks([spot], expected)
    ]


def _checks(evaluators: Iterator[Spot] | Sequence[Spot], expected: object) -> list[Json]:
    return [check for spot in evaluators for check in _evaluator(spot, expected)]


def _evaluator(spot: Spot, expected: object) -> list[Json]:
    """Return the checks that an evaluator is; report what is lost."""
    name, shape = _name_of(spot), KNOWN.get(_name_of(spot))
    if not name:
        spot.say("Expected the name of an evaluator, perhaps with its options below it.")
    elif shape is None:
        spot.lose(f"{name} is left out. {LOST.get(name, OWN_CLASS)}", checks=1)
    elif (options := _options(spot, name, shape)) is not None:
        named = {"name": options.evaluation_name} if options.evaluation_name else {}
        return [{**check, **named} for check in _translate(spot, options, expected)]
    return []


def _options(spot: Spot, name: str, shape: type[Evaluator]) -> Evaluator | None:
    """Read the options of an evaluator: keys with values, or the first of them alone."""
    written, here = spot.value, spot
    if isinstance(written, dict):
        here = spot.at(name if name in written else "arguments")
    given = None if isinstance(written, str) else here.value
    if isinstance(given, dict):
        return here.part(shape)
    fields = [key for key in shape.model_fields if key != "evaluation_name"]
    if isinstance(given, list) and here.loc[-1] == "arguments":
        given = given[0] if given else None
    data = {} if given is None or not fields else {fields[0]: given}
    place = SourcePlaces(spot.document, here.loc)
    options, problems = validate_part(shape, data, spot.document, place=place)
    spot.reading.problems += problems
    return options  # type: ignore[no-any-return]


def _translate(spot: Spot, options: Evaluator, expected: object) -> list[Json]:
    match options:
        case EqualsExpected():
            return [] if expected is None else [same_as(expected)]
        case Equals():
            return [same_as(options.value)]
        case ContainsValue():
            return _contains(spot, options)
        case MaxDuration():
            try:
                seconds = _DURATION.validate_python(options.seconds).total_seconds()
            except ValidationError:
                spot.say("Expected a number of seconds.")
                return []
            return [{"type": "latency", "max_ms": round(seconds * 1000)}]
        case LLMJudge():
            return [_judge(spot, options)]
    return []


def _contains(spot: Spot, options: ContainsValue) -> list[Json]:
    value = options.value
    if isinstance(value, dict) and value:
        return [
            {
                "type": "json_path",
                "path": key if key.isidentifier() else f"$['{key}']",
                "value": item,
            }
            for key, item in value.items()
        ]
    if isinstance(value, str) or (options.as_strings and isinstance(value, int | float)):
        text = {"value": str(value), "case_sensitive": options.case_sensitive}
        return [{"type": "contains", **text}]
    spot.lose("Contains is left out. A reply is a text: write a text to look for.", checks=1)
    return []


def _judge(spot: Spot, options: LLMJudge) -> Json:
    check = judge_check(options.rubric)
    if options.assertion is False:
        check["scale"] = "0-1"  # without a threshold it only informs, as there
    elif options.score:
        spot.lose("A judge returns pass or fail here, and no score beside it.")
    for output in (options.score, options.assertion):
        if isinstance(output, dict) and output.get("evaluation_name"):
            check["name"] = str(output["evaluation_name"])
    if options.model and (model := judge_named(options.model, spot.reading.around)):
        check["model"] = model
    elif options.model:
        spot.lose(NO_JUDGE)
    return check
