"""Try a check in the editor: grade a pasted reply at once, without a run; nothing is stored."""

from typing import Any

from asgiref.sync import async_to_sync
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render

from evals_app.admin.checks.check_form import CheckForm
from evals_app.admin.conversation.transcripts import readable_trial
from evals_app.admin.kit.presentation import SIGNS, verdict_state
from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.trial import Trial
from evals_app.engine.verdicts.trying import reads_more, try_check
from evals_app.models import Case, Transcript
from evals_app.reports.words.figures import score_text
from evals_app.requests.throttles import CheckTrials
from fixtures_app.editing.editor import problems_of, with_plain_newlines
from fixtures_app.editing.rows import read_position

_WRITING = [
    f"evals_app.{action}_{row}" for row in ("case", "suite") for action in ("add", "change")
]
_READING = ("evals_app.view_execution",)


def try_posted_check(request: HttpRequest) -> HttpResponse:
    """Grade `reply` by the check posted under `prefix`; a page fragment."""
    if not any(map(request.user.has_perm, _WRITING)):
        raise PermissionDenied
    rate = CheckTrials()
    if not rate.allow_request(request, None):
        refused = _render(request, again_s=rate.retry_after, status=429)
        refused.headers["Retry-After"] = rate.retry_after
        return refused
    posted = with_plain_newlines(request.POST)
    form = CheckForm(posted, prefix=posted.get("prefix") or None)
    if not form.is_valid() or form.spec is None:
        problems = [
            problem for part in form.parts for problem in problems_of(part, "", form.prefix or "")
        ]
        return _render(request, problems=problems)
    turn = read_position(posted.get("turn")) or None
    grade = async_to_sync(try_check)(
        form.spec,
        reply=posted.get("reply", ""),
        turn=turn,
        expected=posted.get("expected") or None,
        last=_last_trial(request, posted.get("case")) if reads_more(form.spec) else None,
    )
    state = _state(grade)
    score = "" if grade.score is None else score_text(grade.score, scale="0-1")
    return _render(request, grade=grade, state=state, sign=SIGNS[state], score=score)


def _render(request: HttpRequest, *, status: int = 200, **context: Any) -> HttpResponse:
    return render(request, "admin/evals_app/checks/tried.html", context, status=status)


def _state(grade: Grade) -> str:
    if grade.status is GradeStatus.OK:
        return verdict_state(grade.passed, otherwise="informational")
    return "error" if grade.status is GradeStatus.ERROR else "ungraded"


def last_reply(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the latest reply of the agent in a turn of a case, to try checks on."""
    sees_case = any(request.user.has_perm(f"evals_app.{what}_case") for what in ("view", "change"))
    if not (sees_case and request.user.has_perms(_READING)):
        raise PermissionDenied
    stored = _last_stored(get_object_or_404(Case, pk=pk))
    trial = readable_trial(stored)
    if stored is None or trial is None:
        return JsonResponse({"reply": "", "source": ""})
    number = read_position(request.GET.get("turn")) or len(trial.turns)
    reply = next((turn.reply for turn in trial.turns[number - 1 : number]), "")
    source = f"This is the reply of run {stored.execution.run_id}." if reply else ""
    return JsonResponse({"reply": reply, "source": source})


def _last_trial(request: HttpRequest, pk: str | None) -> Trial | None:
    """Return the last conversation of a case, if the person may read it."""
    if not request.user.has_perms(_READING):
        return None
    case = Case.objects.filter(pk=read_position(pk)).first()
    return None if case is None else readable_trial(_last_stored(case))


def _last_stored(case: Case) -> Transcript | None:
    stored = Transcript.objects.filter(
        execution__case=case.name, execution__run__suite=case.suite_id
    )
    return stored.select_related("execution").order_by("-execution").first()
