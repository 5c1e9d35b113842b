"""People and groups, in Unfold's look.

Only superusers give rights: groups, permissions and superuser status. Other people who may change
people change only those without rights beyond their own, because a new password is a way to act as
another person.
"""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.db.models import Model, Q
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from evals_app.admin.choices import Choices

if TYPE_CHECKING:
    from django import forms
    from django.db.models import ManyToManyField

_RIGHTS = ("is_superuser", "groups", "user_permissions")

admin.site.unregister(User)
admin.site.unregister(Group)


class RightsAsBoxes:
    """Rights as check boxes: Django's two lists are wider than a phone, and need a mouse."""

    filter_horizontal: Any = ()

    def formfield_for_manytomany(
        self,
        db_field: "ManyToManyField[Any, Any]",
        request: HttpRequest | None = None,
        **kwargs: Any,
    ) -> "forms.ModelMultipleChoiceField[Any] | None":
        django: Any = super()
        field: forms.ModelMultipleChoiceField[Any] | None = django.formfield_for_manytomany(
            db_field, request, **kwargs | {"widget": Choices()}
        )
        if field is not None:
            field.help_text = ""  # it would advise to hold down Control
        return field


def rights_of(person: User) -> set[str]:
    """Return the permissions of a person, active or not, without superuser status."""
    given = Permission.objects.filter(Q(user=person) | Q(group__user=person))
    names = given.values_list("content_type__app_label", "codename")
    return {f"{app}.{codename}" for app, codename in names}


def may_manage(request: HttpRequest, person: User | None) -> bool:
    """Whether the current user has all rights of a person."""
    if person is None or request.user.is_superuser:
        return True
    return not person.is_superuser and request.user.has_perms(rights_of(person))


@admin.register(User)
class UserAdmin(RightsAsBoxes, DjangoUserAdmin, ModelAdmin):
    """Django's, with Unfold's forms."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    show_full_result_count = False

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and may_manage(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and may_manage(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        given = super().get_readonly_fields(request, obj)
        return tuple(given) if request.user.is_superuser else (*given, *_RIGHTS)


@admin.register(Group)
class GroupAdmin(RightsAsBoxes, DjangoGroupAdmin, ModelAdmin):
    """Django's, in Unfold's look; only superusers change groups, because they are rights."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_superuser

    has_change_permission = has_delete_permission = has_add_permission
