"""Sets of real conversations in the admin: the list, and the page of one."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.decorators import display

from evals_app.admin.kit.permissions import ReadOnly
from evals_app.admin.real_conversations.set_page import set_context
from evals_app.models import ConversationSet
from fixtures_app.editing.times import moment


@admin.register(ConversationSet)
class ConversationSetAdmin(ReadOnly):
    """Sets of real conversations: imported, read and graded here."""

    list_display = ("name", "conversations", "when_created")
    search_fields = ("name",)
    change_form_template = "admin/evals_app/real_conversations/page.html"
    when_empty = (
        "Conversations that your agent really had, for example of a help desk. Press Add to import a"
        " file."
    )

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return request.user.has_perm("evals_app.add_conversationset")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Lead to the page that imports a file: it makes sets."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return redirect("admin:evals_app_conversationset_import")

    @display(description="Conversations")
    def conversations(self, target: ConversationSet) -> str:
        return f"{target.count:,}"

    @display(description="Since")
    def when_created(self, target: ConversationSet) -> str:
        return moment(target.created_at)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **kwargs: object
    ) -> HttpResponse:
        context |= set_context(request, context["original"])
        return super().render_change_form(request, context, *args, **kwargs)
