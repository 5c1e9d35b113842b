"""Tasks to check grades: what people say of them, counted, and as JSON for other tools."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import Field

from evals_app.engine.verdicts.overruling import Ruling, consensus
from evals_app.reports.answers.run_answers import Answer, Json


@dataclass(frozen=True, slots=True)
class TaskItem:
    """A grade, or (`item`) one bullet of a rubric: what the judge says, and each person's word.

    `judged` is None if the judge could not decide.
    """

    position: int
    grade: int
    item: int | None
    execution: int
    case: str
    trial: int
    turn: int | None
    check: str
    bullet: str
    judged: bool | None
    words: tuple[Ruling, ...] = ()

    @property
    def people_say(self) -> bool | None:
        """Return what most people say; None if they are divided or undecided."""
        return consensus(self.words).passed

    @property
    def people_disagree(self) -> bool:
        return len(_verdicts(self.words)) > 1

    @property
    def is_compared(self) -> bool:
        """Whether both the judge and people decided."""
        return self.judged is not None and self.people_say is not None

    @property
    def differs(self) -> bool:
        """Whether people say something else than the judge."""
        return self.is_compared and self.people_say is not self.judged

    def ruling_of(self, person: int | None) -> Ruling | None:
        return next((word for word in self.words if word.person == person), None)


@dataclass(frozen=True, slots=True)
class CheckTally:
    """Items of one check: how many there are, have an answer, and can be compared with the judge."""

    check: str
    total: int
    answered: int
    compared: int
    agreeing: int


@dataclass(frozen=True, slots=True)
class PersonProgress:
    """How many items a person has answered."""

    person: int | str
    name: str
    done: int


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """How far a task is.

    `shared` are the items that two people or more decided, `agreed` those on which they all say the
    same; `disputed` are the positions of the others.
    """

    total: int
    people: tuple[PersonProgress, ...]
    shared: int
    agreed: int
    disputed: tuple[int, ...]

    def done_by(self, person: int | None) -> int:
        return next((row.done for row in self.people if row.person == person), 0)


def tallies(items: Iterable[TaskItem]) -> list[CheckTally]:
    """Count the items of each check, the one with the most differences first."""
    by_check: dict[str, list[TaskItem]] = {}
    for item in items:
        by_check.setdefault(item.check, []).append(item)
    counted = [
        CheckTally(
            check,
            total=len(members),
            answered=sum(bool(member.words) for member in members),
            compared=sum(member.is_compared for member in members),
            agreeing=sum(member.is_compared and not member.differs for member in members),
        )
        for check, members in by_check.items()
    ]
    return sorted(counted, key=lambda row: (row.agreeing - row.compared, row.check))


def progress_of(
    words: Sequence[tuple[int, Sequence[Ruling]]], *, assigned: Sequence[tuple[int, str]]
) -> TaskProgress:
    """Count what has been answered: `words` are those on each position.

    Of a task that is assigned, only these people are listed.
    """
    names: dict[int | str, str] = dict(assigned)
    done: dict[int | str, int] = dict.fromkeys(names, 0)
    for _, spoken in words:
        for word in spoken:
            if not assigned:
                names[word.person] = word.name
            if word.person in names:
                done[word.person] = done.get(word.person, 0) + 1
    shared = [(position, spoken) for position, spoken in words if _count_decided(spoken) > 1]
    disputed = tuple(position for position, spoken in shared if len(_verdicts(spoken)) > 1)
    people = sorted(names.items(), key=lambda entry: entry[1].casefold())
    return TaskProgress(
        total=len(words),
        people=tuple(PersonProgress(person, name, done[person]) for person, name in people),
        shared=len(shared),
        agreed=len(shared) - len(disputed),
        disputed=disputed,
    )


def agreement_with_judge(items: Iterable[TaskItem], person: int | str) -> tuple[int, int]:
    """Return on how many items a person agrees with the judge, of how many that both decided."""
    pairs = [
        (word.passed, item.judged)
        for item in items
        for word in item.words
        if word.person == person and word.passed is not None and item.judged is not None
    ]
    return sum(passed is judged for passed, judged in pairs), len(pairs)


def _verdicts(words: Iterable[Ruling]) -> set[bool]:
    return {word.passed for word in words if word.passed is not None}


def _count_decided(words: Iterable[Ruling]) -> int:
    return sum(word.passed is not None for word in words)


# JSON


class TaskPerson(Answer):
    """How many items a person has answered."""

    name: str
    done: int


class ReviewTaskRow(Answer):
    """A task, as lists show it."""

    id: int
    run: int
    count: int = Field(description="Grades and bullets to check.")
    people: list[str] = Field(description="User names; empty: anyone who may review.")
    created_by: str | None
    created_at: datetime
    closed_at: datetime | None


class SaidOfItem(Answer):
    """What a person says of an item."""

    by: str
    passed: bool | None = Field(description="null: cannot tell.")
    score: float | None = Field(description="On a scale, from 0 to 1.")
    reason: str


class JudgedItem(Answer):
    """What the judge says of an item."""

    passed: bool | None = Field(description="null: not decided.")
    score: float | None
    reason: str


class ReviewTaskItem(Answer):
    """A grade, or one bullet of a rubric, to check."""

    position: int
    execution: int
    case: str
    trial: int
    turn: int | None = Field(description="null: the whole conversation.")
    grade: int
    item: int | None = Field(description="The number of the bullet; null: the whole check.")
    check: str = Field(description="Its label.")
    criterion: str = Field(description="What is to be met, in words.")
    under: list[str] = Field(description="The headings above a bullet.")
    scale: Literal["pass_fail", "1-5"] = Field(description="How to answer.")
    is_revealed: bool = Field(
        description="Whether you see what others say: you have answered, or the task is closed."
    )
    judge: JudgedItem | None = Field(description="null until it is revealed.")
    people: list[SaidOfItem] | None = Field(description="null until it is revealed.")


class ReviewTaskDetails(ReviewTaskRow):
    """A task with its items."""

    progress: list[TaskPerson]
    shared: int = Field(description="Items that two people or more decided.")
    agreed: int = Field(description="Of them, items on which they all say the same.")
    disputed: list[int] = Field(description="Positions of the others.")
    items: list[ReviewTaskItem]


def progress_json(progress: TaskProgress) -> Json:
    """Return the progress as the keys of `ReviewTaskDetails`."""
    return {
        "progress": [TaskPerson.of_object(row) for row in progress.people],
        "shared": progress.shared,
        "agreed": progress.agreed,
        "disputed": list(progress.disputed),
    }
