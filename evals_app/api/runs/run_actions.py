"""Actions on a run: cancel, resume, put back in the queue, keep, make it the baseline, run or grade again."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.runs.run_views import RUN, VIEW, created_response, find_run
from evals_app.engine.specs.base_spec import Spec
from evals_app.library.baselines import set_baseline, unset_baseline
from evals_app.models import Run
from evals_app.reports.answers.forecasts import RegradeForecastAnswer, regrade_forecast_json
from evals_app.reports.answers.run_answers import RunDetails
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import (
    AsBaseline,
    NewCeiling,
    Nothing,
    Pin,
    RegradeRun,
    RerunCases,
    read_body,
)
from evals_app.requests.endpoint import Endpoint, responses
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.health import requeue
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.reading.run_readers import run_details
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.regrading.start_regrade import plan_regrade, regrade
from evals_app.runs.starting.rerun import rerun


class RunAction(ABC, Endpoint):
    """An action on a run; the answer is the run afterwards, or the new one."""

    needs: ClassVar = {"POST": RUN}
    body: ClassVar[type[Spec]] = Nothing

    @abstractmethod
    def act(self, run: Run, body: Any, user: User) -> Run | None:
        """Carry out the action in the name of a user; return the new run that it starts."""

    def post(self, request: Request, pk: int) -> Response:
        body = read_body(self.body, request.data)
        new = self.act(find_run(pk), body, user_of(request))
        return created_response(new) if new else Response(run_details(pk))


def _describe(
    name: str, summary: str, *refused: int, description: str = "", status: int = 200
) -> Callable[[type[RunAction]], type[RunAction]]:
    def describe(action: type[RunAction]) -> type[RunAction]:
        schema = extend_schema(
            operation_id=f"runs_{name}",
            summary=summary,
            description=description,
            request=None if action.body is Nothing else action.body,
            responses=responses(RunDetails, 404, *refused, status=status),
        )
        return extend_schema_view(post=schema)(action)

    return describe


@_describe(
    "cancel",
    "Cancel a run",
    description="Running conversations stop within two seconds; a run that has ended does not "
    "change.",
)
class CancelRun(RunAction):
    """Stop a run."""

    def act(self, run: Run, body: Nothing, user: User) -> None:
        cancel_run(run)


@_describe(
    "resume",
    "Resume a run that was stopped",
    422,
    description="After its cost limit, its time limit or a cancellation. Results are kept; after "
    "its cost limit, no paid call is repeated.",
)
class ResumeRun(RunAction):
    """Resume a run."""

    body = NewCeiling

    def act(self, run: Run, body: NewCeiling, user: User) -> None:
        resume_run(run, max_cost_usd=body.max_cost_usd)


@_describe(
    "requeue",
    "Put stuck executions back in the queue",
    description="Puts back executions whose worker is gone, and asks workers again. Safe at any "
    "time: executions that a worker is running are not touched.",
)
class RequeueRun(RunAction):
    """Put stuck executions of a run back in the queue."""

    def act(self, run: Run, body: Nothing, user: User) -> None:
        requeue(run)


@_describe("pin", "Keep the transcripts of a run, or stop keeping them")
class PinRun(RunAction):
    """Keep the transcripts of a run."""

    body = Pin

    def act(self, run: Run, body: Pin, user: User) -> None:
        Run.objects.filter(pk=run.pk).update(is_pinned=body.is_pinned)


@_describe(
    "baseline",
    "Make a run the baseline of its suite, or no longer",
    422,
    description="Later runs of the suite are compared with it. It must have ended with a result for"
    " every case, at least one of them passed; another agent or model is fine. Its transcripts are"
    " kept.",
)
class BaselineRun(RunAction):
    """Make a run the baseline of its suite."""

    body = AsBaseline

    def act(self, run: Run, body: AsBaseline, user: User) -> None:
        if body.is_baseline:
            set_baseline(run, by=user)
        else:
            unset_baseline(run, by=user)


@_describe("rerun", "Run cases again, in a new run", 409, 422, status=201)
class RerunRun(RunAction):
    """Run cases of a run again."""

    body = RerunCases

    def act(self, run: Run, body: RerunCases, user: User) -> Run:
        return rerun(run, by=user, **body.model_dump())


@_describe(
    "regrade",
    "Grade the conversations of a run again, in a new run",
    409,
    422,
    status=201,
    description="No agent is asked. Judges that were asked the identical question before are not"
    " asked again, unless `trials` is more than 1.",
)
class Regrade(RunAction):
    """Grade the conversations of a run again."""

    body = RegradeRun

    def act(self, run: Run, body: RegradeRun, user: User) -> Run:
        return regrade(run, by=user, **body.choices())


class ForecastRegrade(Endpoint):
    """A forecast of grading a run again."""

    needs: ClassVar = {"POST": VIEW}

    @extend_schema(
        operation_id="runs_regrade_forecast",
        summary="Forecast what grading a run again takes, and what it leaves out",
        description="Takes the same body as grading again, but starts nothing.",
        request=RegradeRun,
        responses=responses(RegradeForecastAnswer, 404, 422),
    )
    def post(self, request: Request, pk: int) -> Response:
        body = read_body(RegradeRun, request.data)
        by = request.user.pk
        with plan_regrade(find_run(pk), by=by, **body.choices()) as regrading:
            expected = forecast_regrade(regrading)
        left_out = regrading.to_json()["left_out"]
        answer = regrade_forecast_json(expected, left_out, month_left_usd=month_left(by))
        return Response(answer)
