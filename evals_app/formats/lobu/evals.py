"""Eval files: each becomes a suite of one case, with the slug of its agent and of its name."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from evals_app.engine.specs.base_spec import Slug
from evals_app.formats.foreign.building import Placed, placed_draft
from evals_app.formats.foreign.draft import Draft, cut_texts
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import (
    Foreign,
    ReaderContext,
    slug_of,
    suite_slug,
)
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.lobu.agents import TestedAgent
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Json

# The minimum pass rate and the weight of the rubric: files cannot state either.
_PASS_RATE = 0.8
_RUBRIC_WEIGHT = 0.5

_SLUG: TypeAdapter[str] = TypeAdapter(Slug)

# In place of an invalid turn.
_UNREAD = {"user": "unread"}

Text = Annotated[str, Field(min_length=1)]


class _Assertion(Foreign):
    type: str
    value: Annotated[Text, Field(description="The text, pattern or criteria to check.")]
    weight: Annotated[float, Field(ge=0)] = 1.0


class _Options(Foreign):
    overlooks = True

    case_insensitive: bool = False


class _Contains(_Assertion):
    options: _Options = _Options()


class _Regex(_Assertion):
    lost = {"options": "Patterns always ignore case. Left out."}


class _LlmRubric(_Assertion):
    lost = {"options": "A judge has no options here. Left out."}


_ASSERTIONS: dict[str, type[_Assertion]] = {
    "contains": _Contains,
    "regex": _Regex,
    "llm-rubric": _LlmRubric,
}


class _Turn(Foreign):
    content: Annotated[Text, Field(description="What the user says.")]
    checks: Annotated[list[object], Field(alias="assert")] = []


class _Scoring(Foreign):
    pass_threshold: Annotated[float, Field(ge=0, le=1)] = 0.8


class _Eval(Foreign):
    version: Literal[1] = 1
    name: Annotated[Text, Field(description="The name of the eval.")]
    description: str = ""
    trials: Annotated[int, Field(ge=1, le=100)] = 3
    timeout: Annotated[float, Field(gt=0, le=1500, description="Seconds for a turn.")] = 120.0
    tags: list[Text] = []
    rubric: Text | None = None
    scoring: _Scoring = _Scoring()
    turns: Annotated[list[object], Field(min_length=1, description="The conversation.")]


def read_eval(document: ParsedFile, around: ReaderContext, tested: TestedAgent) -> Iterator[Draft]:
    """Read an eval file that tests an agent; it is an error if none is named."""
    reading = ForeignFile(document, around, cut_texts(document))
    agent = tested.agent
    if agent is None:
        message = (
            "No agent is named. Move the file to agents/<id>/evals/, or choose one when you "
            "import (--agent)."
        )
        reading.say((), message)
        yield replace(_suite(reading, "unnamed"), references=())
    elif not _is_slug(agent):
        slug = slug_of(agent, instead="my-agent")
        message = (
            f"The agent {agent} cannot have this name here: a slug consists of lower-case "
            "letters, digits and single hyphens. Rename its folder, and its table in lobu.toml, "
            f"to {slug}."
        )
        reading.say((), message)
        yield replace(_suite(reading, slug), references=())
    else:
        home = slug_of(tested.home or agent)
        if home != agent:
            message = f"The suite tests {agent} because of --agent, not the agent of its folder."
            reading.say((), message, level="loss")
        yield _suite(reading, agent, home=home)
    yield reading.remarks("lobu")


def _is_slug(text: str) -> bool:
    try:
        _SLUG.validate_python(text)
    except ValidationError:
        return False
    return True


def _suite(reading: ForeignFile, agent: str, *, home: str = "") -> Draft:
    """Return the suite of an eval; it is known by the agent to which it belongs."""
    owner, document = home or agent, reading.document
    # The rest is checked even if something is wrong.
    written = reading.part(_Eval, ()) or _Eval(name="unnamed", turns=[{}])
    root = Spot(reading)
    turns = [_turn(spot) for spot in root.at("turns").entries()]
    has_rubric = isinstance(document.value(("rubric",)), str)
    rubric = reading.text(("rubric",)) if has_rubric else ""
    name = document.value(("name",))
    stem = slug_of(PurePosixPath(document.path).stem, instead="eval")
    slug = suite_slug(owner, name if isinstance(name, str) else stem, instead=stem)
    timeout = Placed(written.timeout, root.at("timeout"))
    case = {"name": written.name, "turn_timeout_s": timeout, "turns": turns or [_UNREAD]}
    data = {
        # Many agents have an eval of the same name.
        "suite": Placed(f"{owner} - {written.name}", root.at("name")),
        "slug": Placed(slug, root.at("name")),
        "agent": agent,
        "description": written.description,
        "tags": written.tags,
        "trials": written.trials,
        "min_pass_rate": _PASS_RATE,
        "pass_rule": "score",
        "pass_threshold": written.scoring.pass_threshold,
        "rubric": rubric or "",
        "rubric_weight": _RUBRIC_WEIGHT,
        "cases": [Placed(case, root)],
    }
    draft = placed_draft("suite", "lobu", root, data)
    return draft if reading.is_valid else draft.without_spec()


def _turn(spot: Spot) -> Json:
    """Return a turn in our words; one without checks is asked, and not graded."""
    turn = spot.part(_Turn)
    checks = [
        Placed(_check(written), entry)
        for entry in spot.at("assert").entries()
        if (written := spot.reading.one_of(_ASSERTIONS, entry.loc)) is not None
    ]
    asked = _UNREAD if turn is None else {"user": Placed(turn.content, spot.at("content"))}
    return {**asked, "assertions": checks}


def _check(written: _Assertion) -> Json:
    match written:
        case _Contains():
            is_exact = not written.options.case_insensitive
            check = {"type": "contains", "value": written.value, "case_sensitive": is_exact}
        case _Regex():
            check = {"type": "matches", "value": written.value}
        case _:
            check = {"type": "llm_judge", "criteria": written.value, "scale": "pass_fail"}
    return {**check, "weight": written.weight}
