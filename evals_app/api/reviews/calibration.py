"""Judges compared with people: the list of criteria, and the calibration of one."""

from collections.abc import Sequence
from typing import Any, ClassVar

from evals_app.models import Yardstick
from evals_app.reports.answers.agreement_answers import (
    YardstickDetails,
    YardstickRow,
    calibration_json,
    corrected_json,
    yardstick_json,
)
from evals_app.requests.endpoint import ListEndpoint, OneEndpoint, describe_get
from evals_app.requests.filters import YardstickFilters
from evals_app.requests.permissions import Need, Scope
from evals_app.runs.judges.calibration import (
    MAX_SHOWN,
    Calibration,
    calibrations_of,
    find_calibration,
    newest_judged_run,
    versions,
)
from fixtures_app.ground.strict_json import JsonObject

_SEE = Need(Scope.READ, "evals_app.view_execution")


@describe_get("yardsticks_list", "List what judges grade by")
class JudgedCriteriaList(ListEndpoint):
    """All criteria in their wordings, the newest first, each with its judge."""

    needs: ClassVar = {"GET": _SEE}
    queryset = Yardstick.objects.all()
    answer = YardstickRow
    filterset_class = YardstickFilters

    def add_details(self, rows: Sequence[Any]) -> Sequence[Calibration]:
        return calibrations_of(rows)

    def row_json(self, row: Calibration) -> JsonObject:
        return yardstick_json(row.yardstick, row.agreement)


@describe_get("yardsticks_get", "Read how far a judge agrees with people", 404)
class OneYardstick(OneEndpoint):
    """The passport of one judge on one criterion."""

    needs: ClassVar = {"GET": _SEE}
    model = Yardstick
    answer = YardstickDetails

    def read(self, key: str) -> JsonObject | None:
        compared = find_calibration(key)
        if compared is None:
            return None
        shown = compared.disagreements[:MAX_SHOWN]
        newest = newest_judged_run(compared)
        return calibration_json(
            compared.yardstick,
            compared.agreement,
            blind=compared.blind,
            ties=compared.ties,
            corrected=newest and corrected_json(newest.run, newest.judged, newest.corrected),
            disagreements=[
                {
                    "execution": answer.newest.execution,
                    "case": answer.newest.place.case,
                    "person": answer.label.person,
                    "judge": answer.label.judge,
                }
                for answer in shown
            ],
            versions=[
                yardstick_json(other.yardstick, other.agreement) for other in versions(compared)
            ],
        )
