"""People, in our words and Unfold's look: Django calls them users.

No one can grant a role with more rights than their own, or change a person who has more rights: a
link to set a password is a way to act as another person. Superuser status is given by superusers
alone.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django.apps import apps
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern
from unfold.admin import ModelAdmin
from unfold.decorators import action, display

from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.pages import page_context
from evals_app.admin.kit.pages import person as reader
from evals_app.admin.people.invitations import InvitationForm, PersonForm, can_mail, link_page
from evals_app.admin.people.password_mails import send_link
from evals_app.admin.people.roles import sentence
from evals_app.admin.people.sessions import sessions_of
from evals_app.models.people.names import shown_name
from evals_app.models.people.roles import may_manage, roles_to_give
from evals_app.runs.forgetting.conversations import CannotForgetError
from evals_app.runs.forgetting.people import forget_person
from fixtures_app.editing.times import moment

if TYPE_CHECKING:
    from django import forms
    from django.db.models import ManyToManyField

apps.get_app_config("auth").verbose_name = "People and roles"
# Pages, messages and breadcrumbs have these names. Migrations compare Django's own, which stay.
User._meta.verbose_name, User._meta.verbose_name_plural = "person", "people"  # noqa: SLF001
admin.site.unregister(User)


# Of which the history has both values.
_RIGHTS = ("groups", "is_active", "is_staff", "is_superuser")


def _value_in_words(value: object) -> str:
    """Return the value of a field of rights in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(sorted(map(str, value))) or "none" if value else "none"  # type: ignore[call-overload]


class RoleFilter(admin.RelatedFieldListFilter):
    """People with one role."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = "role"


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):
    """People are invited, get roles, and are deactivated instead of deleted."""

    form = PersonForm
    add_form = InvitationForm
    add_form_template = None
    change_form_outer_before_template = "admin/guide.html"
    list_display = ("name", "username", "roles", "signed_in", "is_active")
    list_display_links = ("name", "username")
    list_filter = ("is_active", ("groups", RoleFilter))
    list_per_page = 50
    warn_unsaved_form = True
    filter_horizontal: ClassVar[Any] = ()
    actions_detail = ("new_link", "signed_in_where", "remove_data")
    readonly_fields = ("signed_in", "date_joined")
    add_fieldsets = (("Invite a colleague", {"fields": ("name", "username", "email", "groups")}),)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    *("name", "username", "email", "groups", "is_active"),
                    *("signed_in", "date_joined"),
                )
            },
        ),
    )
    _advanced = (
        "Advanced",
        {
            "fields": ("is_staff", "is_superuser"),
            "classes": ("collapse",),
            "description": "Roles are enough for most people.",
        },
    )

    # Rights

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        may_change: bool = super().has_change_permission(request, obj)
        return may_change and (obj is None or may_manage(request.user, obj))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False  # deletion would also remove tokens and the record of who started which run

    def has_new_link_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        person = self.get_object(request, str(object_id)) if object_id else None
        is_active = person is None or person.is_active
        return settings.PASSWORDS and is_active and self.has_change_permission(request, person)

    def has_remove_data_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        person = self.get_object(request, str(object_id)) if object_id else None
        return person != request.user and self.has_change_permission(request, person)

    def formfield_for_manytomany(
        self,
        db_field: "ManyToManyField[Any, Any]",
        request: HttpRequest,
        **kwargs: object,
    ) -> "forms.ModelMultipleChoiceField[Any] | None":
        roles = roles_to_give(request.user)
        # Check boxes: Django's two lists are wider than a phone, and need a mouse.
        sentences = Choices({str(role.pk): sentence(role) for role in roles})
        kwargs |= {"queryset": roles, "widget": sentences, "help_text": ""}
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    # History

    def construct_change_message(
        self,
        request: HttpRequest,
        form: Any,
        formsets: Any,
        add: bool = False,  # noqa: FBT001, FBT002 - Django's
    ) -> Any:
        if add:
            return f"Invited. Roles: {_value_in_words(form.cleaned_data.get('groups'))}."
        changes = [
            f"{form[name].label} from {_value_in_words(form[name].initial)} to {_value_in_words(form.cleaned_data[name])}"
            if name in _RIGHTS
            else str(form[name].label)
            for name in form.changed_data
        ]
        return f"Changed {'; '.join(changes)}." if changes else "Saved without a change."

    # Pages

    def get_urls(self) -> list[URLPattern]:
        # People who forgot their password get a new link; no one else needs to know the new one.
        urls: list[URLPattern] = super().get_urls()
        return [url for url in urls if url.name != "auth_user_password_change"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        people: QuerySet[User] = super().get_queryset(request)
        return people.prefetch_related("groups")

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None:
            return fieldsets
        if not self.has_change_permission(request, obj):
            fields = ("name", "username", "email", "roles", *self.fieldsets[0][1]["fields"][4:])
            return ((None, {"fields": fields}),)
        return (*fieldsets, self._advanced) if request.user.is_superuser else fieldsets

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        given = tuple(super().get_readonly_fields(request, obj))
        # No one locks themselves out.
        own = ("is_active", "is_staff", "is_superuser") if obj == request.user else ()
        return (*given, *own)

    def get_form(
        self,
        request: HttpRequest,
        obj: User | None = None,
        change: bool = False,  # noqa: FBT001, FBT002 - Django's signature
        **kwargs: object,
    ) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if "groups" in form.base_fields:
            widget = form.base_fields["groups"].widget
            widget.can_add_related = widget.can_view_related = False
        return form

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: User | None = None
    ) -> dict[str, Sequence[str]]:
        return {} if obj else {"username": ("name",)}

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"title": "People", **(extra_context or {})})

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, object] | None = None,
    ) -> HttpResponse:
        texts = {"title": "Invite a colleague", "show_save_and_continue": False}
        return super().add_view(request, form_url, texts | (extra_context or {}))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, object], *args: object, **kwargs: object
    ) -> HttpResponse:
        context["show_save_and_add_another"] = False  # each invitation has a link to copy
        return super().render_change_form(request, context, *args, **kwargs)

    def response_add(
        self, request: HttpRequest, obj: User, post_url_continue: str | None = None
    ) -> HttpResponse:
        if settings.PASSWORDS:
            return link_page(request, obj)
        messages.success(request, f"{shown_name(obj)} can sign in now. No link is needed.")
        return redirect("admin:auth_user_changelist")

    @action(description="New link", icon="link", url_path="link", permissions=["new_link"])
    def new_link(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask first; then show a link with which this person sets a password."""
        person = self.get_object(request, object_id)
        if person is None or not self.has_new_link_permission(request, object_id):
            raise PermissionDenied
        if request.method == "POST" and "mail" in request.POST and can_mail(person):
            return self._mail_link(request, person)
        if request.method == "POST":
            self.log_change(request, person, "Made a new link to set a password.")
            return link_page(request, person)
        context = page_context(request, User, person) | {"title": "New link", "person": person}
        context["can_mail"] = can_mail(person)
        return render(request, "admin/evals_app/people/new_link.html", context)

    def _mail_link(self, request: HttpRequest, person: User) -> HttpResponse:
        self.log_change(request, person, f"Sent a link to set a password to {person.email}.")
        if problem := send_link(person, by=reader(request)):
            messages.error(request, problem)
            return redirect("admin:auth_user_new_link", person.pk)
        messages.success(request, f"A link is on its way to {person.email}.")
        return redirect("admin:auth_user_changelist")

    def has_signed_in_where_permission(
        self, request: HttpRequest, object_id: object = None
    ) -> bool:
        someone = self.get_object(request, str(object_id)) if object_id else None
        return self.has_change_permission(request, someone)

    @action(
        description="Where signed in",
        icon="history",
        url_path="sessions",
        permissions=["signed_in_where"],
    )
    def signed_in_where(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the sessions of a person, and end them."""
        someone = self.get_object(request, object_id)
        if someone is None or not self.has_signed_in_where_permission(request, object_id):
            raise PermissionDenied
        return sessions_of(request, someone)

    @action(
        description="Remove personal data",
        icon="delete",
        url_path="remove-data",
        permissions=["remove_data"],
    )
    def remove_data(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask first; then make the account anonymous for good."""
        person = self.get_object(request, object_id)
        if person is None or not self.has_remove_data_permission(request, object_id):
            raise PermissionDenied
        if request.method == "POST":
            try:
                forget_person(person, by=reader(request))
            except CannotForgetError as error:
                messages.error(request, str(error))
            else:
                messages.success(request, f"They are now “Former person {person.pk}”.")
            return redirect("admin:auth_user_change", person.pk)
        context = page_context(request, User, person)
        context |= {"title": "Remove personal data", "person": person}
        return render(request, "admin/evals_app/people/remove_data.html", context)

    # Columns

    @display(description="Name", ordering="first_name")
    def name(self, person: User) -> str:
        return shown_name(person)

    @display(description="Roles")
    def roles(self, person: User) -> str:
        names = [group.name for group in person.groups.all()]
        return ", ".join(["Superuser", *names] if person.is_superuser else names) or "None"

    @display(description="Last signed in", ordering="last_login")
    def signed_in(self, person: User) -> str:
        return moment(person.last_login) or "Not yet"
