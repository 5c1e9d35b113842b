"""What the newest result of a case says: at the name of the case, and at each check that failed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, FilteredRelation, Q, Subquery
from django.urls import reverse
from django.utils.http import urlencode

from evals_app.admin.kit.presentation import SIGNS, Sign
from evals_app.admin.regrading.regrade_dialog import last_to_try
from evals_app.admin.suites.case_turns import TurnFormSet, checks_of
from evals_app.engine.record.trial import Verdict
from evals_app.models import Case, Execution


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a check failed, and where to read the conversation."""

    reason: str
    url: str


@dataclass(frozen=True, slots=True)
class LastResult:
    """The results of a case: how many, and what the newest run of it found, also one by hand.

    `missed` has the checks that failed, by the number of their turn and their sentence. `to_try` is
    the run whose conversations its checks may be tried on.
    """

    count: int
    results_url: str
    to_try: int | None
    sign: Sign
    url: str
    run: int
    is_by_hand: bool
    at: datetime
    missed: dict[tuple[int | None, str], Miss]

    def point_out(self, formsets: Iterable[Any]) -> None:
        """Tell each check on the page why it failed; one that was edited since is another check."""
        for formset in formsets:
            if isinstance(formset, TurnFormSet):
                for number, turn in enumerate(formset.rows, 1):
                    for checks in checks_of(turn):
                        self._tell(checks.rows, number)
            else:
                self._tell(formset.rows, None)

    def _tell(self, checks: Iterable[Any], turn: int | None) -> None:
        for check in checks:
            check.missed = self.missed.get((turn, check.title))


def last_result(case: Case) -> LastResult | None:
    """Return what the newest run of a case found, by one query; None without any result."""
    own = Execution.objects.filter(
        case=case.name, run__suite_slug=case.suite.slug, run__conversation_set=None
    )
    finished = own.filter(status=Execution.Status.FINISHED)
    newest = finished.order_by("-pk").values("run")[:1]
    counts = own.order_by().values("case")
    rows = (
        finished.filter(run=Subquery(newest))
        .annotate(
            failed=FilteredRelation("grades", condition=Q(grades__passed=False)),
            count=Subquery(counts.annotate(count=Count("pk")).values("count")),
            to_try=Subquery(counts.annotate(last=last_to_try(case)).values("last")),
        )
        .order_by("trial", "pk", "failed__position")
        .values(*_COLUMNS)
    )
    found = list(rows)
    return _read(case, found) if found else None


_COLUMNS = (
    *("pk", "verdict", "run", "run__is_tryout", "finished_at", "count", "to_try"),
    *("failed__turn", "failed__label", "failed__reason"),
)


def _read(case: Case, rows: list[dict[str, Any]]) -> LastResult:
    missed: dict[tuple[int | None, str], Miss] = {}
    for row in rows:
        if row["failed__label"] is not None:
            miss = Miss(row["failed__reason"], _address(row))
            missed.setdefault((row["failed__turn"], row["failed__label"]), miss)
    first = min(rows, key=lambda row: _GRAVEST.index(row["verdict"]))
    query = urlencode({"case": case.name, "suite_slug": case.suite.slug})
    return LastResult(
        count=first["count"],
        results_url=f"{reverse('admin:evals_app_execution_changelist')}?{query}",
        to_try=first["to_try"],
        sign=SIGNS[first["verdict"]],
        url=_address(first),
        run=first["run"],
        is_by_hand=first["run__is_tryout"],
        at=first["finished_at"],
        missed=missed,
    )


_GRAVEST = [Verdict.FAILED, Verdict.ERRORED, Verdict.MEASURED, Verdict.PASSED]


def _address(row: Mapping[str, object]) -> str:
    return reverse("admin:evals_app_execution_change", args=[row["pk"]])
