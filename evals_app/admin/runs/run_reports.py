"""Reports of a run to download: which ones a person may have, and their files."""

from django.http import HttpRequest, StreamingHttpResponse
from django.urls import reverse

from evals_app.models import Run
from evals_app.reports.words.kinds import KINDS, KindName
from evals_app.runs.reading.reports import report

_VIEW_CONVERSATIONS = "evals_app.view_execution"


def report_kinds(request: HttpRequest) -> list[tuple[KindName, str]]:
    """Return the kinds that the page of a run offers to this person, with their titles."""
    return [
        (kind, KINDS[kind].title)
        for kind in KINDS
        if KINDS[kind].is_offered and may_download(request, kind)
    ]


def may_download(request: HttpRequest, kind: KindName) -> bool:
    """Return whether someone who may see a run may download this kind of report."""
    return not KINDS[kind].has_conversations or request.user.has_perm(_VIEW_CONVERSATIONS)


def sent_report(request: HttpRequest, kind: KindName, run: Run) -> StreamingHttpResponse:
    """Return a report as a download, written while it is sent."""

    def link(model: str, pk: int) -> str:
        return request.build_absolute_uri(reverse(f"admin:evals_app_{model}_change", args=[pk]))

    file = report(kind, run, link=link)
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return StreamingHttpResponse(file.content, content_type=file.media_type, headers=headers)
