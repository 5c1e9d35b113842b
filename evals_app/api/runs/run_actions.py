"""Actions on a run: cancel, resume, put back in the queue, keep, make it the baseline, run or grade again."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.runs.run_views import RUN, VIEW, created_response, find_run
from evals_app.engine.specs.base_spec import Spec
from evals_app.library.baselines import set_baseline, unset_baseline
from evals_app.library.changes.edits import (
    CANCELLED,
    REQUEUED,
    RESUMED,
    note_edit,
    pin_note,
)
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

Act = Callable[[Run, Any, User], Run | None]


def _action(
    name: str,
    summary: str,
    *refused: int,
    body: type[Spec] = Nothing,
    description: str = "",
    status: int = 200,
) -> Callable[[Act], type[Endpoint]]:
    """Make a view of an action on a run; the answer is the run afterwards, or one that it starts."""

    def make_view(act: Act) -> type[Endpoint]:
        class RunAction(Endpoint):
            __doc__ = act.__doc__
            needs: ClassVar = {"POST": RUN}

            @extend_schema(
                operation_id=f"runs_{name}",
                summary=summary,
                description=description,
                request=None if body is Nothing else body,
                responses=responses(RunDetails, 404, *refused, status=status),
            )
            def post(self, request: Request, pk: int) -> Response:
                given = read_body(body, request.data)
                new = act(find_run(pk), given, user_of(request))
                return created_response(new) if new else Response(run_details(pk))

        return RunAction

    return make_view


@_action(
    "cancel",
    "Cancel a run",
    description="Running conversations stop within two seconds; a run that has ended does not "
    "change.",
)
def cancel(run: Run, _body: Nothing, user: User) -> None:
    """Stop a run."""
    if cancel_run(run):
        note_edit(run, user=user, note=CANCELLED)


@_action(
    "resume",
    "Resume a run that was stopped",
    422,
    body=NewCeiling,
    description="After its cost limit, its time limit or a cancellation. Results are kept; after "
    "its cost limit, no paid call is repeated.",
)
def resume(run: Run, body: NewCeiling, user: User) -> None:
    """Resume a run."""
    resume_run(run, max_cost_usd=body.max_cost_usd)
    note_edit(run, user=user, note=RESUMED)


@_action(
    "requeue",
    "Put stuck conversations back in the queue",
    description="Puts back conversations whose worker is gone, and asks workers again. Safe at any "
    "time: conversations that a worker is running are not touched.",
)
def put_back(run: Run, _body: Nothing, user: User) -> None:
    """Put stuck executions of a run back in the queue."""
    requeue(run)
    note_edit(run, user=user, note=REQUEUED)


@_action("pin", "Keep the transcripts of a run, or stop keeping them", body=Pin)
def pin(run: Run, body: Pin, user: User) -> None:
    """Keep the transcripts of a run."""
    Run.objects.filter(pk=run.pk).update(is_pinned=body.is_pinned)
    note_edit(run, user=user, note=pin_note(is_pinned=body.is_pinned))


@_action(
    "baseline",
    "Make a run the released version of its suite, or no longer",
    422,
    body=AsBaseline,
    description="Later runs of the suite are compared with it. It must have ended with a result for"
    " every case, at least one of them passed; another agent or model is fine. Its transcripts are"
    " kept.",
)
def make_baseline(run: Run, body: AsBaseline, user: User) -> None:
    """Make a run the baseline of its suite."""
    change = set_baseline if body.is_baseline else unset_baseline
    change(run, by=user)


@_action("rerun", "Run cases again, in a new run", 409, 422, status=201, body=RerunCases)
def run_again(run: Run, body: RerunCases, user: User) -> Run:
    """Run cases of a run again."""
    return rerun(run, by=user, **body.model_dump())


@_action(
    "regrade",
    "Grade the conversations of a run again, in a new run",
    409,
    422,
    status=201,
    body=RegradeRun,
    description="No agent is asked. Judges that were asked the identical question before are not"
    " asked again, unless `trials` is more than 1.",
)
def grade_again(run: Run, body: RegradeRun, user: User) -> Run:
    """Grade the conversations of a run again."""
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
