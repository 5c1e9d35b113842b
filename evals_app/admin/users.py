"""People and groups, in Unfold's look."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from evals_app.admin.choices import Choices

admin.site.unregister(User)
admin.site.unregister(Group)


class ChecksRights:
    """Rights as check boxes: Django's two boxes are wider than a phone, and need a mouse."""

    filter_horizontal = ()

    def formfield_for_manytomany(self, *args: Any, **kwargs: Any) -> forms.Field | None:
        django: Any = super()
        field: forms.Field | None = django.formfield_for_manytomany(
            *args, **{"widget": Choices(), **kwargs}
        )
        if field is not None:
            # "Hold down Control" is not how check boxes work.
            field.help_text = ""
        return field


@admin.register(User)
class UserAdmin(ChecksRights, DjangoUserAdmin, ModelAdmin):
    """Django's, with Unfold's forms."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    show_full_result_count = False


@admin.register(Group)
class GroupAdmin(ChecksRights, DjangoGroupAdmin, ModelAdmin):
    """Django's, in Unfold's look."""
