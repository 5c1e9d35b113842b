"""Sets of real conversations: find, make and remove them."""

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils.text import slugify

from evals_app.engine.basics.errors import CannotError
from evals_app.models import ConversationSet, Execution, Reading, Run, SpanInbox
from evals_app.runs.forgetting.conversations import empty_questions
from evals_app.runs.recorded.received_spans import remove_waiting_spans
from evals_app.runs.recorded.uploads import remove_upload

AT_ONCE = 500  # conversations that are removed in one transaction


class CannotRemoveSetError(CannotError):
    """A set cannot be removed as long as something works with it."""


def find_or_make_set(name: str, *, by: User | None = None) -> ConversationSet:
    """Return the set of this name or slug, which is made where there is none."""
    name = " ".join(name.split())[:200]
    slug = slugify(name)[:100] or "conversations"
    known = ConversationSet.objects.filter(slug=name).first()
    if known is not None:
        return known
    return ConversationSet.objects.get_or_create(
        slug=slug, defaults={"name": name, "created_by": by}
    )[0]


def remove_set(target: ConversationSet) -> None:
    """Remove a set for good: its conversations, and every run that graded them.

    Raises:
        CannotRemoveSetError: a run grades them.
    """
    runs = Run.all_runs.filter(conversation_set=target)
    if is_open := runs.filter(status__in=Run.OPEN).order_by("pk").first():
        raise CannotRemoveSetError(f"Run {is_open.pk} grades its conversations. Cancel it first.")
    rows = Execution.objects.filter(run__in=runs.values("pk")).order_by("-pk")
    while ids := list(rows.values_list("pk", flat=True)[:AT_ONCE]):
        Execution.objects.filter(pk__in=ids).delete()
    empty_questions(Reading.objects.filter(Q(conversation_set=target) | Q(run__in=runs)))
    uploads = list(target.imports.exclude(upload="").values_list("upload", flat=True))
    inbox = SpanInbox.objects.filter(conversation_set=target).first()
    target.delete()
    if inbox is not None:
        remove_waiting_spans(inbox)
    for name in uploads:
        remove_upload(name)
