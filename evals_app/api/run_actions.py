"""What is done with a run: cancel, go on, put back in the queue, keep, run again."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.bodies import NewCeiling, Nothing, Pin, RerunCases, read_body
from evals_app.api.endpoint import Endpoint, answers
from evals_app.api.runs import RUN, created, find_run, user_of
from evals_app.api.shapes import RunDetailsShape
from evals_app.documents import run_details
from evals_app.engine.spec import Spec
from evals_app.models import Run
from evals_app.runs import cancel_run, rerun, resume_run
from evals_app.runs.health import requeue


class RunAction(ABC, Endpoint):
    """Something to do with a run, which is then answered as it has become."""

    needs: ClassVar = {"POST": RUN}
    body: ClassVar[type[Spec]] = Nothing

    @abstractmethod
    def act(self, run: Run, body: Any) -> None:  # noqa: ANN401 - of the type in `body`
        """Do it."""

    def post(self, request: Request, pk: int) -> Response:
        body = read_body(self.body, request.data)
        self.act(find_run(pk), body)
        return Response(run_details(pk))


def _described(
    name: str, summary: str, *refused: int, description: str = ""
) -> Callable[[type[RunAction]], type[RunAction]]:
    def describe(action: type[RunAction]) -> type[RunAction]:
        schema = extend_schema(
            operation_id=f"runs_{name}",
            summary=summary,
            description=description,
            request=None if action.body is Nothing else action.body,
            responses=answers(RunDetailsShape, 404, *refused),
        )
        return extend_schema_view(post=schema)(action)

    return describe


@_described(
    "cancel",
    "Cancel a run",
    description="What is being said stops within a second or two; a run that has ended stays "
    "as it is.",
)
class CancelRun(RunAction):
    """Stop a run."""

    def act(self, run: Run, body: Nothing) -> None:
        cancel_run(run)


@_described(
    "resume",
    "Go on with a run that was stopped",
    422,
    description="Out of budget, out of time or cancelled. Results stay; after a budget stop no "
    "call that was paid for is made again.",
)
class ResumeRun(RunAction):
    """Let a run go on."""

    body = NewCeiling

    def act(self, run: Run, body: NewCeiling) -> None:
        resume_run(run, max_cost_usd=body.max_cost_usd)


@_described(
    "requeue",
    "Put what is stuck back in the queue",
    description="Takes back what no living worker holds, and asks workers for the run anew. "
    "Safe at any time: what a worker is at stays with it.",
)
class RequeueRun(RunAction):
    """Get a run going again."""

    def act(self, run: Run, body: Nothing) -> None:
        requeue(run)


@_described("pin", "Keep the transcripts of a run, or no longer")
class PinRun(RunAction):
    """Keep what was said in a run."""

    body = Pin

    def act(self, run: Run, body: Pin) -> None:
        Run.objects.filter(pk=run.pk).update(is_pinned=body.is_pinned)


class RerunRun(Endpoint):
    """Run cases of a run again."""

    needs: ClassVar = {"POST": RUN}

    @extend_schema(
        operation_id="runs_rerun",
        summary="Run cases again, in a new run",
        request=RerunCases,
        responses=answers(RunDetailsShape, 404, 409, 422, status=201),
    )
    def post(self, request: Request, pk: int) -> Response:
        body = read_body(RerunCases, request.data)
        run = find_run(pk)
        by = user_of(request)
        return created(rerun(run, only=body.only, cases=body.cases, version=body.version, by=by))
