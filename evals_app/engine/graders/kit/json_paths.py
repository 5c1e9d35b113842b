"""Graders of the text at a place of a JSON reply."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from evals_app.engine.graders.kit.base import Grader, TextGrader, too_long
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.view import View
from fixtures_app.ground.json_paths import NoSuchPlaceError, describe, find, parse_path, scalar_text
from fixtures_app.ground.json_text import MAX_JSON_BYTES, NotJsonError, read_reply
from fixtures_app.ground.quoting import after_colon


def _check_path(path: str) -> str:
    parse_path(path)
    return path


JsonPathText = Annotated[str, Field(min_length=1), AfterValidator(_check_path)]
ResponsePath = Annotated[
    JsonPathText | None,
    Field(
        title="Part of a JSON reply to check",
        description=(
            "If the reply is JSON, only this part of it is checked, for example answer or"
            " items[0].price. Leave blank to check the whole reply."
        ),
        json_schema_extra={"advanced": True, "mono": True},
    ),
]


@dataclass(frozen=True, slots=True)
class GradedText:
    """The text that a grader reads, and what to note about it."""

    text: str
    notes: dict[str, Any] = field(default_factory=dict)

    def add_note(self, grade: Grade) -> Grade:
        """Note in a grade which part of the reply was read."""
        if not self.notes:
            return grade
        reason = f"At {self.notes['response_path']}: {after_colon(grade.reason)}"
        return grade.but(reason=reason, details={**grade.details, **self.notes})


def graded_text(grader: Grader, view: View) -> GradedText | Grade:
    """Return what a grader reads: the reply, or what is at the grader's `response_path`.

    If nothing can be read, return the failed grade.
    """
    path: str | None = getattr(grader, "response_path", None)
    reply = view.reply
    if path is None:
        return too_long(reply, grader.most_bytes) or GradedText(reply)
    if refused := too_long(reply, MAX_JSON_BYTES):
        return refused
    try:
        document = read_reply(reply)
        value = find(document.value, parse_path(path))
    except (NotJsonError, NoSuchPlaceError) as exc:
        return _failed_grade(grader, f"The reply {exc}", path)
    text = scalar_text(value)
    if text is None:
        reason = f"{path} is {describe(value)}; expected a text, a number, true or false."
        return _failed_grade(grader, reason, path)
    notes: dict[str, object] = {"response_path": path}
    if document.is_fenced:
        notes["is_fenced"] = True
    return too_long(text, grader.most_bytes) or GradedText(text, notes)


def _failed_grade(grader: Grader, reason: str, path: str) -> Grade:
    # A check with only a score leaves the verdict to the threshold.
    failed = Grade.miss(reason, response_path=path)
    return failed if grader.decides(None) else failed.but(passed=None, cause=None)


class PathGrader(TextGrader):
    """A grader of the reply's text, or of a part of a JSON reply.

    A subclass declares `response_path: ResponsePath = None` as its last option: options are shown
    in the order in which they are declared, those of a base class first.
    """

    def grade(self, view: View) -> Grade:
        read = graded_text(self, view)
        if isinstance(read, Grade):
            return read
        return read.add_note(self.grade_reply(read.text, view))


def place_of(grader: Grader) -> str:
    """State where the text is that a grader reads, for a summary: ` at answer`."""
    path: str | None = getattr(grader, "response_path", None)
    return f" at {path}" if path else ""
