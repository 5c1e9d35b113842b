"""Ready by topic: what an agent may answer by itself, on one page that prints well."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any, Literal, NamedTuple

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.kit.pages import form_data, page_context, person
from evals_app.admin.starting.run_dialog import leave_dialog
from evals_app.library.shipping import (
    DECIDING,
    MAX_CHARS,
    MAX_OWNER,
    CannotDecideError,
    set_readiness,
)
from evals_app.models import Agent, Suite, TopicReadiness
from evals_app.models.people.names import shown_name
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.answers.topics.topic_json import agent_topics_json
from evals_app.reports.answers.topics.topic_words import (
    NOT_SET,
    STATES,
    ReadinessState,
    cases_of,
    grown_text,
    judge_text,
    last_runs_text,
    passed_detail,
    passed_text,
    real_text,
    remarks,
    summary_text,
)
from evals_app.reports.renderers.topic_files.topic_markdown import topics_markdown
from evals_app.reports.renderers.topic_files.topic_table import topic_rows
from evals_app.reports.words.kinds import KINDS
from evals_app.runs.reporting import encode, write_csv, write_one_sheet
from evals_app.runs.topics import TopicStanding, topics_of

SEEING_TOPICS = ("evals_app.view_run", "evals_app.view_agent")
_TEMPLATES = "admin/evals_app/agents/topics"
_TONES: Mapping[ReadinessState, str] = {
    "ready": "good",
    "limited": "warn",
    "fix_source": "bad",
    "people_only": "calm",
}
_FileKind = Literal["csv", "xlsx", "markdown"]


class TopicLine(NamedTuple):
    """A row of the page: the topic as REST has it, and its cells in words."""

    topic: Json
    state: str
    tone: str
    passed: str
    detail: str
    dots: list[str]  # the tones of the last full runs
    last_runs: str
    judge: str
    cases_url: str
    real: str
    real_url: str
    grown: list[tuple[str, str]]  # words and addresses


@require_GET
@permission_required(SEEING_TOPICS, raise_exception=True)
def show_topics(request: HttpRequest, pk: int) -> HttpResponse:
    """Show how an agent does on each topic, and what people said."""
    agent = get_object_or_404(Agent, pk=pk)
    today, found = timezone.now().date(), topics_of(agent)
    topics = agent_topics_json(found, today=today)
    suites = {suite.slug: suite for topic in found.topics for suite in topic.suites}
    context = page_context(request, Agent, agent) | {
        "title": "Ready by topic",
        "agent": agent,
        "lines": [
            _line(topic, suites, _real_url(request, standing), _rise_urls(request, standing))
            for topic, standing in zip(topics["topics"], found.topics, strict=True)
        ],
        "has_real": any(topic.real.failed.total or topic.real.rises for topic in found.topics),
        "summary": summary_text(topics),
        "remarks": list(remarks(topics, today=today)),
        "may_decide": request.user.has_perm(DECIDING),
        "today": today,
        "files": [(kind, KINDS[kind].title) for kind in _WRITERS],
    }
    return render(request, f"{_TEMPLATES}/page.html", context)


def _line(
    topic: Json, suites: Mapping[str, Suite], real_url: str, rise_urls: Sequence[str]
) -> TopicLine:
    said, cases = topic["readiness"], cases_of(topic)
    words = map(grown_text, topic["real_conversations"]["grown"])
    grown = list(zip(words, rise_urls, strict=True))
    tone = _TONES[said["state"]] if said else "calm"
    return TopicLine(
        topic,
        STATES[said["state"]] if said else NOT_SET,
        "warn" if said and said["is_over"] else tone,
        passed_text(cases),
        passed_detail(cases, topic["simulated_left_out"]),
        list(map(_tone_of, topic["last_runs"])),
        f"Last full runs, oldest first: {last_runs_text(topic['last_runs'])}",
        judge_text(topic["judge"]),
        _cases_url(topic, suites),
        real_text(topic["real_conversations"]),
        real_url,
        grown,
    )


def _real_url(request: HttpRequest, topic: TopicStanding) -> str:
    """Return where the real conversations of a topic that failed are listed: in its only set."""
    if len(topic.real.sets) != 1 or not request.user.has_perm("evals_app.view_conversationset"):
        return ""
    url = reverse("admin:evals_app_conversationset_change", args=topic.real.sets)
    return f"{url}?{urlencode({'topic': topic.name, 'verdict': 'failed'})}"


def _rise_urls(request: HttpRequest, topic: TopicStanding) -> list[str]:
    """Return where the groups that grew in a topic are shown; empty for who may not see that."""
    may_see = request.user.has_perm("evals_app.view_conversationset")
    sets = [rise.group.reading.conversation_set_id for rise in topic.real.rises]
    urls = [reverse("admin:evals_app_conversationset_change", args=[pk]) for pk in sets]
    return [f"{url}#every-day" if may_see else "" for url in urls]


def _tone_of(run: Json) -> str:
    """Return the mark of a run: a ring if a case failed."""
    if run["passed"] < run["decided"]:
        return "bad"
    return "good" if run["decided"] == run["cases"] else "warn"


def _cases_url(topic: Json, suites: Mapping[str, Suite]) -> str:
    """Return where the cases of a topic are listed: in its only suite."""
    if len(topic["suites"]) != 1:
        return ""
    suite = suites[topic["suites"][0]]
    url = reverse("admin:evals_app_suite_cases", args=[suite.pk])
    return url if topic["topic"] in suite.tags else f"{url}?{urlencode({'tag': topic['topic']})}"


class ReadinessForm(forms.Form):
    """What a person says about a topic."""

    state = forms.ChoiceField(
        label="Ready?", choices=list(STATES.items()), widget=UnfoldAdminSelectWidget
    )
    note = forms.CharField(
        label="Limits, or why (optional)",
        required=False,
        max_length=MAX_CHARS,
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
    )
    owner = forms.CharField(
        label="Owner (optional)",
        required=False,
        max_length=MAX_OWNER,
        widget=UnfoldAdminTextInputWidget,
        help_text="The person or the team who answers for it.",
    )
    until = forms.DateField(
        label="Until (optional)",
        required=False,
        widget=UnfoldAdminTextInputWidget({"type": "date"}),
        help_text="The last day. After it the page says that it is over.",
    )

    def __init__(self, data: Mapping[str, object] | None = None, **kwargs: Any) -> None:
        super().__init__(data, auto_id="topic_%s", **kwargs)


@permission_required((*SEEING_TOPICS, DECIDING), raise_exception=True)
def ask_readiness(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask whether a topic is ready, then note it."""
    agent = get_object_or_404(Agent, pk=pk)
    found = topics_of(agent)
    topic = found.find(request.GET.get("topic", ""))
    if topic is None:
        raise Http404("No case has this tag.")
    form = ReadinessForm(form_data(request), initial=_said_before(request, topic.readiness))
    if form.is_valid():
        known = [other.name for other in found.topics]
        try:
            row = set_readiness(
                agent, topic.name, known=known, by=person(request), **form.cleaned_data
            )
        except CannotDecideError as error:
            form.add_error(error.key if error.key in form.fields else None, error.problems)
        else:
            messages.success(request, f"“{topic.name}”: {row.get_state_display()}.")
            return leave_dialog(reverse("admin:evals_app_agent_topics", args=[pk]))
    history = agent.readiness.filter(topic=topic.name).order_by("-pk")[:_LAST_WORDS]
    context = {"form": form, "topic": topic, "history": history}
    return render(request, f"{_TEMPLATES}/readiness.html", context)


_LAST_WORDS = 10


def _said_before(request: HttpRequest, said: TopicReadiness | None) -> dict[str, object]:
    """Return what the form begins with: what was said last, without a day that is over."""
    if said is None:
        return {"owner": shown_name(person(request))}
    is_over = said.is_over(timezone.now().date())
    return {
        "state": said.state,
        "note": said.note,
        "owner": said.owner,
        "until": None if is_over else said.until,
    }


def _markdown(topics: Json, today: date) -> Iterator[bytes]:
    return encode(topics_markdown(topics, today=today))


_WRITERS: Mapping[_FileKind, Callable[[Json, date], Iterator[bytes]]] = {
    "xlsx": lambda topics, _: iter([write_one_sheet("Topics", partial(topic_rows, topics))]),
    "csv": lambda topics, _: encode(write_csv(topic_rows(topics))),
    "markdown": _markdown,
}


@require_GET
@permission_required(SEEING_TOPICS, raise_exception=True)
def download_topics(request: HttpRequest, pk: int, report_kind: str) -> StreamingHttpResponse:  # noqa: ARG001 - Django
    """Send the topics of an agent as a file."""
    kind = next((name for name in _WRITERS if name == report_kind), None)
    if kind is None:
        raise Http404
    agent, today = get_object_or_404(Agent, pk=pk), timezone.now().date()
    content = _WRITERS[kind](agent_topics_json(topics_of(agent), today=today), today)
    name = f"topics-{agent.slug}-{today}{KINDS[kind].suffix}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(content, content_type=KINDS[kind].media_type, headers=headers)
