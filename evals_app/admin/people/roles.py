"""Roles, in our words and Unfold's look: Django calls them groups, and rights permissions."""

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_permission_codename
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.models import Group, Permission
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from unfold.admin import ModelAdmin
from unfold.decorators import display

from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.permissions import NotesEachDeletion
from evals_app.models.people.roles import BUILT_IN

if TYPE_CHECKING:
    from django.db.models import ManyToManyField

Group._meta.verbose_name, Group._meta.verbose_name_plural = "role", "roles"  # noqa: SLF001
admin.site.unregister(Group)

_VERBS = {"view": "see", "add": "add", "change": "change", "delete": "delete"}
# Rights that pages ask about though no page adds such a row.
_IN_OTHER_WORDS = {
    "add_run": "Start, cancel and retest runs",
    "decide_release": "Decide what is shipped, and accept known failures",
}


def sentence(role: Group) -> str:
    """Return what a role is for."""
    built_in = BUILT_IN.get(role.name)
    return built_in.sentence if built_in else "A role of your own."


def rights_with_pages(request: HttpRequest) -> QuerySet[Permission]:
    """Return the permissions that matter: those that no page uses are left out."""
    asked = Q(codename__in=_IN_OTHER_WORDS)
    for model in filter(admin.site.is_registered, apps.get_models()):
        page = admin.site.get_model_admin(model)
        # Roles are changed by superusers alone, who need no rights.
        verbs = page.get_model_perms(request) if model is not Group else {"view": True}
        options = model._meta  # noqa: SLF001 - the documented API of models
        names = [get_permission_codename(verb, options) for verb, may in verbs.items() if may]
        asked |= Q(content_type__app_label=options.app_label, codename__in=names)
    return Permission.objects.filter(asked).select_related("content_type")


def right_in_words(right: Permission) -> str:
    """Return a right in plain words: "See suites"."""
    if right.codename in _IN_OTHER_WORDS:
        return _IN_OTHER_WORDS[right.codename]
    verb = right.codename.partition("_")[0]
    model = right.content_type.model_class()
    things = model._meta.verbose_name_plural if model else right.content_type.name  # noqa: SLF001
    return capfirst(f"{_VERBS.get(verb, verb)} {things}")


class RightsField(forms.ModelMultipleChoiceField):
    """Check boxes: Django's two lists are wider than a phone, and need a mouse."""

    widget = Choices

    def label_from_instance(self, obj: Permission) -> str:
        return right_in_words(obj)


@admin.register(Group)
class RoleAdmin(NotesEachDeletion, DjangoGroupAdmin, ModelAdmin):
    """Roles: the fixed ones, and those that superusers make, because they are rights."""

    ordering = ("pk",)
    list_display = ("name", "what")
    filter_horizontal: ClassVar[Any] = ()
    warn_unsaved_form = True
    change_form_outer_before_template = "admin/guide.html"

    # Rights

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return request.user.is_superuser and (obj is None or obj.name not in BUILT_IN)

    has_delete_permission = has_change_permission

    # Pages

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"title": "Roles", **(extra_context or {})})

    def get_fields(self, request: HttpRequest, obj: Group | None = None) -> Any:
        if obj is None or self.has_change_permission(request, obj):
            return ("name", "permissions")
        # The guide has a table of what the fixed roles may do.
        return ("name", "what") if obj.name in BUILT_IN else ("name", "rights")

    def formfield_for_manytomany(
        self,
        db_field: "ManyToManyField[Any, Any]",
        request: HttpRequest | None = None,
        **kwargs: object,
    ) -> "forms.ModelMultipleChoiceField[Any] | None":
        if request is not None:
            rights = rights_with_pages(request)
            kwargs |= {"queryset": rights, "form_class": RightsField, "label": "Rights"}
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    @display(description="What it is for")
    def what(self, role: Group) -> str:
        return sentence(role)

    @display(description="Rights")
    def rights(self, role: Group) -> SafeString:
        given = role.permissions.select_related("content_type")
        return format_html_join("", "<div>{}</div>", ((right_in_words(right),) for right in given))
