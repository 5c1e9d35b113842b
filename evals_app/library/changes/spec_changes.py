"""Compare specs with rows: what saving would change."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Self, TypeVar

from django.db.models import QuerySet
from pydantic import BaseModel, ValidationError

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from evals_app.formats.foreign.kept import KEPT
from evals_app.formats.snapshots.key_differences import KeyDifference, differences
from evals_app.models import Case, Suite
from evals_app.models.authored.suites import cases_of
from fixtures_app.ground.json_data import canonical
from fixtures_app.library import Saved

S = TypeVar("S", bound=BaseModel)


def same(left: BaseModel | None, right: BaseModel | None) -> bool:
    """Whether two specs are the same; missing keys equal their defaults."""
    return left is right or _content(left) == _content(right)


def _content(spec: BaseModel | None, parts: set[str] | None = None) -> str:
    if spec is None:
        return ""
    return canonical(
        spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=parts)
    )


def readable(row: Any) -> Any:
    """Return a row's spec; None if the row no longer validates, and so differs from any spec."""
    try:
        return row.to_spec()
    except ValidationError:
        return None


def digest_of(spec: BaseModel) -> str:
    """Return a digest that is equal for equal specs."""
    if isinstance(spec, SuiteSpec):
        return _digest_of_suite(spec, map(digest_of, spec.cases))
    return hashlib.sha256(_content(spec).encode()).hexdigest()


def _digest_of_suite(spec: SuiteSpec, cases: Iterable[str], *, but: Collection[str] = ()) -> str:
    """Return the digest of a suite, `but` for some keys, from those of its cases.

    The cases may be too many for memory.
    """
    # Without keys it never equals the whole: a suite may have nothing there.
    whole = hashlib.sha256(" ".join(but).encode())
    parts = SuiteSpec.model_fields.keys() - set(but)
    for digest in cases:
        whole.update(digest.encode())
    whole.update(_content(spec.model_copy(update={"cases": []}), parts).encode())
    return whole.hexdigest()


class StoredCase(NamedTuple):
    """The row of a case, compared with the case of the same name."""

    pk: int
    position: int
    is_same: bool  # all but the position
    has_same_content: bool  # its turns and checks


@dataclass(frozen=True, slots=True)
class Compared(Generic[S]):
    """A spec, the row of the same slug if there is one, and what saving would do.

    The digest of a row that no longer validates is empty. `details` are the differences, if
    requested, and `cases` those of a stored suite. `unmarked` are digests, new and stored, without
    what people choose on the site and imports keep; empty where there is no such thing.
    """

    spec: S
    row: Any = field(repr=False)
    what: Saved
    digest: str
    digest_before: str
    details: Sequence[KeyDifference] = ()
    cases: Mapping[str, StoredCase] = field(default_factory=dict, repr=False)
    unmarked: tuple[str, str] = ("", "")

    @property
    def mark(self) -> str:
        """What an import remembers of the row, to notice edits."""
        return self.unmarked[0] or self.digest

    @property
    def marks_before(self) -> set[str]:
        """The marks by which the stored row would be as an import wrote it."""
        return {self.digest_before, self.unmarked[1]}

    @classmethod
    def of(
        cls,
        spec: S,
        row: object,
        digests: tuple[str, str],
        details: Sequence[KeyDifference] | None = None,
        cases: Mapping[str, StoredCase] = MappingProxyType({}),
        *,
        unmarked: tuple[str, str] = ("", ""),
    ) -> Self:
        # An import brings back what is archived.
        is_archived = getattr(row, "archived_at", None) is not None
        is_same = digests[0] == digests[1] and not is_archived
        what: Saved = "created" if row is None else "unchanged" if is_same else "updated"
        if details is not None and is_archived:
            details = [KeyDifference("archived", "true", "false"), *details]
        return cls(spec, row, what, *digests, details or (), cases, unmarked)


def compare_specs(
    rows: QuerySet[Any], specs: Sequence[S], *, in_detail: bool = False
) -> list[Compared[S]]:
    """Compare specs with those of some rows that have their slugs; nothing is written."""
    stored = {row.slug: row for row in rows.filter(slug__in=_slugs(specs))}
    results = []
    for spec, slug in zip(specs, _slugs(specs), strict=True):
        row = stored.get(slug)
        before = readable(row) if row is not None else None
        digests = digest_of(spec), digest_of(before) if before is not None else ""
        has_details = in_detail and before is not None
        details = list(differences(before, spec)) if has_details else None
        results.append(Compared.of(spec, row, digests, details))
    return results


def compare_suites(
    specs: Sequence[SuiteSpec], *, in_detail: bool = False, keeping: Collection[str] = ()
) -> list[Compared[SuiteSpec]]:
    """Compare suites with what is stored, a few cases at a time.

    `keeping` are the slugs of those that keep what is chosen on the site.
    """
    rows = Suite.objects.with_head().filter(slug__in=_slugs(specs)).order_by("pk")
    by_slug = {spec.slug: spec for spec in specs}
    stored = {row.slug: row for row in rows}
    pairs: dict[int | None, _ComparedSuite] = {
        row.pk: _ComparedSuite(
            row, by_slug[row.slug], in_detail=in_detail, keeps=row.slug in keeping
        )
        for row in rows
    }
    for case in cases_of(list(rows)):
        pairs[case.suite_id].take(case)
    return [
        pairs[stored[spec.slug].pk].result()
        if spec.slug in stored
        else _compared_with_nothing(spec, keeps=spec.slug in keeping)
        for spec in specs
    ]


def _compared_with_nothing(spec: SuiteSpec, *, keeps: bool) -> Compared[SuiteSpec]:
    cases = list(map(digest_of, spec.cases))
    mark = _digest_of_suite(spec, cases, but=KEPT) if keeps else ""
    return Compared.of(spec, None, (_digest_of_suite(spec, cases), ""), unmarked=(mark, ""))


class _ComparedSuite:
    """Compares a stored suite with a spec while its cases come one by one."""

    def __init__(self, row: Suite, spec: SuiteSpec, *, in_detail: bool, keeps: bool) -> None:
        self._row, self._spec, self._in_detail, self._keeps = row, spec, in_detail, keeps
        self._head: SuiteSpec | None = None
        with suppress(ValidationError):
            self._head = SuiteSpec.model_validate(row.head_mapping(), context=FROZEN)
        self._wanted = {case.name: (case, digest_of(case)) for case in spec.cases}
        self._stored: dict[str, StoredCase] = {}
        self._digests: list[str] = []
        self._details: list[KeyDifference] = []
        self._is_sound = self._head is not None

    def take(self, row: Case) -> None:
        before = readable(row)
        spec, wanted = self._wanted.get(row.name, (None, ""))
        digest = digest_of(before) if before is not None else ""
        is_same = digest == wanted
        has_same_content = is_same or _have_same_content(before, spec)
        self._stored[row.name] = StoredCase(row.pk, row.position, is_same, has_same_content)
        self._digests.append(digest)
        self._is_sound &= before is not None
        if self._in_detail and self._is_sound and not is_same:
            self._details += differences(before, spec, ("cases", row.name))

    def result(self) -> Compared[SuiteSpec]:
        wanted = [digest for _, digest in self._wanted.values()]
        digest = _digest_of_suite(self._spec, wanted)
        mark = _digest_of_suite(self._spec, wanted, but=KEPT) if self._keeps else ""
        if self._head is None or not self._is_sound:
            digests = (digest, "")
            return Compared.of(
                self._spec, self._row, digests, None, self._stored, unmarked=(mark, "")
            )
        digests = (digest, _digest_of_suite(self._head, self._digests))
        marks = (mark, _digest_of_suite(self._head, self._digests, but=KEPT))
        return Compared.of(
            self._spec, self._row, digests, self._all(), self._stored, unmarked=marks
        )

    def _all(self) -> list[KeyDifference] | None:
        if not self._in_detail:
            return None
        head = self._spec.model_copy(update={"cases": []})
        new = (case for case, _ in self._wanted.values() if case.name not in self._stored)
        return [
            *differences(self._head, head),
            *self._details,
            *chain.from_iterable(differences(None, case, ("cases", case.name)) for case in new),
        ]


def _slugs(specs: Iterable[Any]) -> list[str]:
    return [spec.slug for spec in specs]


def _have_same_content(left: CaseSpec | None, right: CaseSpec | None) -> bool:
    parts = {"turns", "final_assertions"}
    return left is not None and _content(left, parts) == _content(right, parts)
