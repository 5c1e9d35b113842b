"""People and groups, in Unfold's look. Nobody lends rights here that they do not have.

Only superusers give rights: groups, permissions and the status of a superuser. Whoever else may
change people changes those who may do no more than they do themselves, because a new password is a
way to act as somebody.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

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

Rights: TypeAlias = "ManyToManyField[Any, Any]"

_RIGHTS = ("is_superuser", "groups", "user_permissions")

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


def rights_of(person: User) -> set[str]:
    """Give what a person may do once they are active, apart from being a superuser."""
    given = Permission.objects.filter(Q(user=person) | Q(group__user=person))
    names = given.values_list("content_type__app_label", "codename")
    return {f"{app}.{codename}" for app, codename in names}


def may_manage(request: HttpRequest, person: User | None) -> bool:
    """Whether whoever asks may do all that this person may; nobody in particular: yes."""
    if person is None or request.user.is_superuser:
        return True
    return not person.is_superuser and request.user.has_perms(rights_of(person))


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):
    """Django's, with Unfold's forms."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    show_full_result_count = False
    filter_horizontal = ()

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and may_manage(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and may_manage(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        given = super().get_readonly_fields(request, obj)
        return tuple(given) if request.user.is_superuser else (*given, *_RIGHTS)

    def formfield_for_manytomany(
        self, db_field: Rights, request: HttpRequest | None = None, **kwargs: Any
    ) -> "forms.ModelMultipleChoiceField[Any] | None":
        return as_boxes(super(), db_field, request, **kwargs)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    """Django's, in Unfold's look; a group is rights, so only superusers change one."""

    filter_horizontal = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_superuser

    def formfield_for_manytomany(
        self, db_field: Rights, request: HttpRequest | None = None, **kwargs: Any
    ) -> "forms.ModelMultipleChoiceField[Any] | None":
        return as_boxes(super(), db_field, request, **kwargs)
