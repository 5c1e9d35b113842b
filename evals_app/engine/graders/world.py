"""The grader of what the agent changed in its world."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.engine.graders.kit.change_matching import Expected, Match, cost, match_up
from evals_app.engine.graders.kit.expected_changes import (
    ExpectedEntity,
    ExpectedLink,
    Kind,
    WorldChange,
    changes_of,
    covers,
)
from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from evals_app.engine.specs.inventory import CheckedName
from fixtures_app.ground.quoting import join_list

# When a record was written; not its content.
TIMES_OF_RECORDS = (
    "created_at",
    "updated_at",
    "modified_at",
    "createdAt",
    "updatedAt",
    "modifiedAt",
)
OUTSIDE_OF_WORLD = "This agent works outside the world, so its changes are unknown."
MAX_LISTED = 100  # expectations of a kind
# A second or two. More is an error: checking only some changes would prove nothing.
MAX_COMPARISONS = 300_000
_LISTED = 12  # changes in a sentence
_DETAILED = 50

Entities = list[ExpectedEntity]
Links = list[ExpectedLink]


def _changes(*, title: str, description: str) -> Any:
    return Field(default_factory=list, max_length=MAX_LISTED, title=title, description=description)


# Words of the summary.
_DOES: dict[Kind, str] = {
    "created": "creates",
    "updated": "updates",
    "deleted": "deletes",
    "linked": "links",
    "unlinked": "unlinks",
}
_ENTITIES: tuple[Kind, ...] = ("created", "updated", "deleted")


class WorldChanges(PlainGrader):
    """Pass when the agent made these changes in its world.

    On a turn, the changes during that turn count; in a final check, those of the whole conversation.
    The states before and after are compared, so something created and then removed is not a change.
    Each expectation needs its own change. The score is the share of expectations that were met,
    including "nothing else"; the check passes only if all are met.

    * `created`, `updated`: what the entity must be like afterwards; `deleted`: what it was like
    * `linked`, `unlinked`: relations; parts that are left out may be anything
    * `nothing_else`: no other change. An update that lists fields covers only these; one that lists
      none covers any change of its entity. Relations removed with a deleted entity are part of its
      deletion

    Ids of created entities are compared only if you give them. `nothing_else` ignores `created_at`,
    `updated_at`, `modified_at` (or `createdAt` and so on) and the fields in `ignore`.
    """

    label: ClassVar[str] = "World was changed"
    in_words: ClassVar[str] = "The booking was created, and nothing else changed."
    family: ClassVar[Literal["world"]] = "world"
    example: ClassVar[dict[str, object]] = {
        "created": [{"type": "refund", "data": {"order": "order-1", "amount": {"fuzzy": 24.5}}}],
        "updated": [{"id": "order-1", "data": {"state": "refunded"}}],
        "linked": [{"from": "refund-1", "type": "of", "to": "order-1"}],
        "nothing_else": True,
    }

    created: Entities = _changes(title="Created", description="Entities that must be created.")
    updated: Entities = _changes(title="Updated", description="Entities that must be changed.")
    deleted: Entities = _changes(title="Deleted", description="Entities that must be removed.")
    linked: Links = _changes(title="Linked", description="Relations that must be created.")
    unlinked: Links = _changes(title="Unlinked", description="Relations that must be removed.")
    nothing_else: Annotated[
        bool,
        Field(
            title="Nothing else may change",
            description="Without any expected change: nothing at all may change.",
        ),
    ] = False
    ignore: Annotated[
        list[Annotated[str, Field(min_length=1)]],
        Field(
            max_length=MAX_LISTED,
            title="Fields that may change",
            description="Exceptions to “Nothing else may change”, for example note or address.city."
            " Timestamps of records (updated_at and so on) may always change.",
        ),
    ] = Field(default_factory=list)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.nothing_else and self.only_forbids():
            raise ValueError(
                "This check passes whatever the agent does. List a change, or set nothing_else."
            )
        ids = [change.id for change in (*self.created, *self.updated, *self.deleted) if change.id]
        if twice := [id_ for id_ in dict.fromkeys(ids) if ids.count(id_) > 1]:
            raise ValueError(
                f"{twice[0]} is listed twice, but an entity has only one change:"
                " created, updated or deleted. Put all its fields in one entry."
            )
        return self

    def _expected_by_kind(self) -> dict[Kind, Sequence[Expected]]:
        return {kind: getattr(self, kind) for kind in _DOES}

    @property
    def _spared_fields(self) -> tuple[str, ...] | None:
        """The fields that may change although nothing else may; None: any may."""
        return (*TIMES_OF_RECORDS, *self.ignore) if self.nothing_else else None

    def grade(self, view: View) -> Grade:
        if view.trial.is_outside:
            return Grade.without_result(Cause.CASE, OUTSIDE_OF_WORLD)
        changes = changes_of(view.world_journal)
        expected = self._expected_by_kind()
        if sum(cost(expected[kind], changes[kind]) for kind in expected) > MAX_COMPARISONS:
            count = sum(map(len, changes.values()))
            reason = (
                f"{count:,} changes and {sum(map(len, expected.values()))} expectations are too many"
                " for one check to compare."
            )
            return Grade(None, None, reason, GradeStatus.ERROR, Cause.HARNESS)
        matches: list[Match] = []
        left: list[WorldChange] = []
        for kind, wanted in expected.items():
            of_kind, rest = match_up(kind, wanted, changes[kind], spared=self._spared_fields)
            matches += of_kind
            left += rest
        return self._grade_matches(matches, changes, left)

    def _grade_matches(
        self,
        matches: Sequence[Match],
        changes: Mapping[Kind, list[WorldChange]],
        left: list[WorldChange],
    ) -> Grade:
        deleted = {change.row["id"] for change in changes["deleted"]}
        unexpected = [c for c in left if self.nothing_else and not self._may_happen(c, deleted)]
        met = sum(len(match.changes) for match in matches)
        total = sum(match.expected.count for match in matches)
        if self.nothing_else:
            met, total = met + (not unexpected), total + 1
        details = {
            "expected": [match.to_json() for match in matches],
            "unexpected": [_change_text(change) for change in unexpected[:_DETAILED]],
        }
        if met == total:
            return Grade.hit(_as_expected(matches, left, self.nothing_else), **details)
        sentences = [f"{met} of {total} expectations met."] if total > 1 else []
        sentences += _missing(matches, changes, left)
        nearest = {id(match.nearest[0]) for match in matches if match.nearest}
        if also := [change for change in unexpected if id(change) not in nearest]:
            sentences.append(f"Not expected: {_several(also, say=_change_text)}.")
        if not matches:
            sentences.insert(0, "Nothing in the world may change.")
        return Grade(
            met / total,
            False,  # noqa: FBT003 - score, verdict
            " ".join(sentences),
            cause=Cause.ASSERTION,
            details=details,
        )

    def _may_happen(self, change: WorldChange, deleted: set[str]) -> bool:
        """Return whether a change does not count: it is part of a deletion, or all its fields are ignored."""
        if change.kind == "unlinked":
            return not deleted.isdisjoint((change.row["from"], change.row["to"]))
        spared = self._spared_fields or ()
        return (
            change.kind == "updated"
            and change.status is None
            and all(covers(spared, name) for name in change.fields)
        )

    def only_forbids(self) -> bool:
        return not any(self._expected_by_kind().values())

    def summary(self) -> str:
        parts = [
            f"{_DOES[kind]} {_several(wanted)}"
            for kind, wanted in self._expected_by_kind().items()
            if wanted
        ]
        if self.nothing_else:
            parts.append("changes nothing else" if parts else "changes nothing in the world")
        text = "; ".join(parts)
        return text[:1].upper() + text[1:]

    def mentions(self) -> Iterator[CheckedName]:
        # An entity that was created and then changed or deleted was not updated or deleted.
        old = {"updated", "deleted"}
        yield from (replace(named, is_old=named.loc[0] in old) for named in super().mentions())

    def warnings(self) -> list[str]:
        warnings = [
            warning
            for wanted in self._expected_by_kind().values()
            for entry in wanted
            for warning in entry.warnings()
        ]
        if self.ignore and not self.nothing_else:
            warnings.append(
                "“Fields that may change” only has an effect with “Nothing else may change”."
            )
        return warnings


def _missing(
    matches: Sequence[Match], changes: Mapping[Kind, list[WorldChange]], left: Sequence[WorldChange]
) -> list[str]:
    """Name each expectation that was not met, and what happened instead."""
    short = [match for match in matches if len(match.changes) < match.expected.count]
    return [f"Missing: {match}{_instead(match, changes, left)}." for match in short[:_LISTED]]


def _instead(
    match: Match, changes: Mapping[Kind, list[WorldChange]], left: Sequence[WorldChange]
) -> str:
    wanted, number = match.expected, len(match.changes)
    tally = f", found {number} of {wanted.count}" if number else ""
    if match.nearest is not None:
        change, faults = match.nearest
        return f"{tally}; closest: {change}, where {join_list(faults)}"
    if isinstance(wanted, ExpectedEntity) and wanted.id is not None:
        became = [c.kind for kind in _ENTITIES for c in changes[kind] if c.row["id"] == wanted.id]
        return f", but it was {became[0]}" if became else "; it did not change"
    if same := [change for change in left if change.kind == match.kind]:
        return f"{tally}; {match.kind} instead: {_several(same)}"
    return f"{tally}; {'nothing else' if number else 'nothing'} was {match.kind}"


def _as_expected(matches: Sequence[Match], left: Sequence[WorldChange], nothing_else: bool) -> str:  # noqa: FBT001 - an option
    rest = " except what may change." if left else "."
    if not matches:
        return f"Nothing in the world changed{rest}"
    changes = _several([change for match in matches for change in match.changes], say=_change_text)
    return f"As expected: {changes}." + (f" Nothing else changed{rest}" if nothing_else else "")


def _change_text(change: WorldChange) -> str:
    return f"{change.kind} {change}"


def _several(items: Sequence[object], say: Callable[[Any], str] = str) -> str:
    more = len(items) - _LISTED
    return "; ".join(map(say, items[:_LISTED])) + (f"; and {more} more" if more > 0 else "")
