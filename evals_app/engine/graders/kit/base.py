"""What every grader is: a frozen model whose fields are the options of an assertion."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from pydantic import Field

from evals_app.engine.record.aids import Aids, Judge
from evals_app.engine.record.grade import Evidence, Family, Grade
from evals_app.engine.record.trial import Cause, TurnRecord
from evals_app.engine.record.view import View
from evals_app.engine.specs.base_spec import SHARE, ModelSpec, Spec
from evals_app.engine.specs.inventory import CheckedName, names_in

# In UTF-8, of checks that take long or cost money; those that only search read whatever agents may
# answer. A longer reply is the agent's failure: checking half of it would prove nothing.
MAX_TEXT_BYTES = 200_000

Need = Literal["expected", "context"]

FROM_TURN: object = Field(min_length=1, description="Leave blank to take the turn's expected text.")
# Tolerances of numbers.
ABSOLUTE: object = Field(ge=0, allow_inf_nan=False, title="Allowed difference")
RELATIVE: object = Field(
    ge=0,
    allow_inf_nan=False,
    title="Allowed relative difference",
    description="A share of the expected number.",
    json_schema_extra=SHARE | {"example": 0.01, "advanced": True},
)


class Grader(Spec):
    """Turn a View of a trial into a Grade.

    A subclass's fields are its options: YAML, the admin form, REST and the reference page all
    follow from them. Its docstring's first line says when it passes, the rest how it scores.
    `Field` gives each option a title and a description; `json_schema_extra` may contain
    `{"rows": 3}` (a text area of that many lines), `{"mono": True}` (a pattern or code),
    `{"names": "tool"}` (what it names, see `inventory`), a unit (`SHARE`),
    `{"advanced": True}` (rarely set, so forms fold it away), `{"words": {...}}` (what each value of
    a choice means) or `{"reply_examples": [...]}` (replies that forms show with their grades, with
    `{number}` and `{other}`).
    """

    label: ClassVar[str]  # what a person reads in the list of checks
    # Such a check in everyday words, for the picker and the reference page.
    in_words: ClassVar[str]
    family: ClassVar[Family]
    # Options that validate, for the reference page and as a start in forms.
    example: ClassVar[dict[str, Any]]
    # Initial values of a new check in a form, where they differ from the defaults of files.
    begins: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    # What it costs in model calls, for the reference page.
    calls: ClassVar[str] = "none"
    # Other products that have this check, for people who migrate from them.
    named_by: ClassVar[tuple[str, ...]] = ()
    # Without its own `value`, the turn's expected text is used.
    uses_expected: ClassVar[bool] = False
    # The threshold if the assertion sets none; None: the score then only informs.
    usual_threshold: ClassVar[float | None] = None
    # Whether it reads text, which `scope` selects.
    reads_text: ClassVar[bool] = False
    # The longest reply that it reads; None: as long as replies may be.
    most_bytes: ClassVar[int | None] = None
    # Has a score but no verdict of its own: only a threshold decides.
    only_scores: ClassVar[bool] = False

    def summary(self) -> str:
        """Summarize what is checked, for a collapsed row: Reply contains “refund”."""
        return self.label

    def warnings(self) -> list[str]:
        """Return warnings about options that are valid but probably unintended."""
        return []

    def advice(self) -> list[str]:
        """Return advice for a better check, shown to people who write it here.

        It is not shown for files of other systems.
        """
        return []

    def cannot_fail(self) -> str | None:
        """Explain why no reply can fail this check, and what to write instead; None if one can."""
        return None

    def only_forbids(self) -> bool:
        """Return whether it only forbids something, so that doing nothing passes it."""
        return False

    def mentions(self) -> Iterator[CheckedName]:
        """Find the tools, chunks and entities that it names."""
        return names_in(self)

    def main_key(self) -> tuple[str, ...]:
        """Return the key of the first option that was written, empty if none was."""
        fields = type(self).model_fields.items()
        keys = (info.alias or name for name, info in fields if name in self.model_fields_set)
        return tuple(islice(keys, 1))

    def decides(self, threshold: float | None) -> bool:
        """Return whether this check has a verdict, or only informs."""
        return threshold is not None or not self.only_scores

    def obeys_threshold(self) -> bool:
        """Return whether a threshold decides if one is set."""
        return self.usual_threshold is not None or not self.decides(None)

    def reads_more(self) -> bool:
        """Return whether it reads more of a conversation than replies."""
        return not self.reads_text

    def jurors(self) -> Sequence[ModelSpec]:
        """Return the models that are asked instead of the judge, if any."""
        return ()

    def asks(self) -> int:
        """Return the number of judge calls if nothing is asked twice."""
        return int(self.family == "judged")

    def needs(self) -> frozenset[Need]:
        """Return what the turn must have for this check."""
        has_own = getattr(self, "value", None) is not None
        return frozenset({"expected"} if self.uses_expected and not has_own else ())

    def expected_problem(self, expected: str) -> str | None:
        """Explain why this check cannot use a turn's expected text; None if it can."""
        return None


class PlainGrader(Grader):
    """A grader that needs nothing but the trial: fast, free, always the same."""

    @abstractmethod
    def grade(self, view: View) -> Grade:
        """Grade what the View shows; an exception becomes a grade in error."""


class AidedGrader(Grader):
    """A grader that needs others: code of the operator's, the similarity of texts."""

    @abstractmethod
    async def grade_with(self, view: View, aids: Aids) -> Grade:
        """Grade what the View shows.

        Raises:
            JudgeError, ProviderError: there was no usable answer.
            CodeError: code of the operator's failed.
        """


class TextGrader(PlainGrader):
    """A grader of the reply's text."""

    family: ClassVar[Family] = "text"
    reads_text: ClassVar[bool] = True

    def grade(self, view: View) -> Grade:
        return too_long(view.reply, self.most_bytes) or self.grade_reply(view.reply, view)

    @abstractmethod
    def grade_reply(self, reply: str, view: View) -> Grade:
        """Grade a reply that is not too long."""


class JudgedGrader(Grader):
    """A grader that asks a judge."""

    family: ClassVar[Literal["judged"]] = "judged"
    reads_text: ClassVar[bool] = True
    most_bytes: ClassVar[int | None] = MAX_TEXT_BYTES

    @abstractmethod
    async def judge(self, view: View, judge: Judge, *, key: str, threshold: float | None) -> Grade:
        """Ask the judge about the View; `key` identifies the assertion within its execution.

        Raises:
            JudgeError: the judge gave no usable verdict.
        """


def failed_by_agent(reason: str) -> Grade:
    """Return the failed grade of something that the agent never did; it has no score."""
    return Grade(None, False, reason, cause=Cause.AGENT)  # noqa: FBT003 - score, verdict


def unanswered_turn(turns: Sequence[TurnRecord]) -> Grade | None:
    """Return the grade if the agent failed one of the turns: no reply is never a fast one."""
    failed = next((turn for turn in turns if turn.error), None)
    if failed is None:
        return None
    return failed_by_agent(f"Turn {failed.index} failed: {failed.error}")


def too_long(reply: str, limit: int | None) -> Grade | None:
    """Return the grade of a reply that is longer than a check reads; None if it is not."""
    problem = None if limit is None else length_problem(reply, limit, subject="The reply")
    return None if problem is None else failed_by_agent(problem).but(score=0.0)


def length_problem(text: str, limit: int, *, subject: str) -> str | None:
    """State that a text is longer than a check reads; None if it is not."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size <= limit:
        return None
    return f"{subject} has {size:,} bytes; this check reads texts of up to {limit:,} bytes."


def seen_in_reply(view: View, quote: str) -> tuple[Evidence, ...]:
    """Return a piece of the graded text as evidence, with its turn."""
    if not quote:
        return ()
    in_sight = view.turns if view.whole_text or view.turn is not None else view.turns[-1:]
    for turn in in_sight:
        if quote in turn.reply:
            # From 1, as people count, wherever the record's own index starts.
            places = (n for n, other in enumerate(view.trial.turns, 1) if other == turn)
            return (Evidence(quote, turn=next(places, turn.index), is_verified=True),)
    return ()
