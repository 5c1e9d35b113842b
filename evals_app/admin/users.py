"""People and groups, in Unfold's look."""

from typing import TYPE_CHECKING, Any, TypeAlias

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from evals_app.admin.choices import Choices

if TYPE_CHECKING:
    from django import forms
    from django.db.models import ManyToManyField

Rights: TypeAlias = "ManyToManyField[Any, Any]"

admin.site.unregister(User)
admin.site.unregister(Group)


def explained(
    field: "forms.ModelMultipleChoiceField[Any] | None",
) -> "forms.ModelMultipleChoiceField[Any] | None":
    """Leave out the advice to hold down Control, which check boxes do not need."""
    if field is not None:
        field.help_text = ""
    return field


def as_boxes(
    django: Any,  # noqa: ANN401 - the admin of Django beneath ours
    db_field: Rights,
    request: HttpRequest | None,
    **kwargs: Any,
) -> "forms.ModelMultipleChoiceField[Any] | None":
    """Give rights as check boxes: Django's two boxes are wider than a phone, and need a mouse."""
    kwargs["widget"] = Choices()
    return explained(django.formfield_for_manytomany(db_field, request, **kwargs))


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):
    """Django's, with Unfold's forms."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    show_full_result_count = False
    filter_horizontal = ()

    def formfield_for_manytomany(
        self, db_field: Rights, request: HttpRequest | None = None, **kwargs: Any
    ) -> "forms.ModelMultipleChoiceField[Any] | None":
        return as_boxes(super(), db_field, request, **kwargs)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    """Django's, in Unfold's look."""

    filter_horizontal = ()

    def formfield_for_manytomany(
        self, db_field: Rights, request: HttpRequest | None = None, **kwargs: Any
    ) -> "forms.ModelMultipleChoiceField[Any] | None":
        return as_boxes(super(), db_field, request, **kwargs)
