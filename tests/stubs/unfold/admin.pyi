from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse

_Row = TypeVar("_Row", bound=Model)
_Owner = TypeVar("_Owner", bound=Model)

class ModelAdmin(admin.ModelAdmin[_Row]):
    actions_detail: ClassVar[Sequence[str | dict[str, str | Sequence[str]]]]
    actions_list: ClassVar[Sequence[str]]
    actions_submit_line: ClassVar[Sequence[str]]
    change_form_outer_after_template: ClassVar[str | None]
    change_form_outer_before_template: ClassVar[str | None]
    list_disable_select_all: ClassVar[bool]
    warn_unsaved_form: ClassVar[bool]
    def _create_formsets(self, *args: object, **kwargs: object) -> tuple[list[Any], list[Any]]: ...
    def get_actions_submit_line(
        self, request: HttpRequest, object_id: str | None
    ) -> list[object]: ...
    # As Django's, with what most of our pages only hand on.
    def get_fieldsets(self, request: HttpRequest, obj: _Row | None = None) -> list[Any]: ...
    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]: ...
    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **kwargs: object
    ) -> HttpResponse: ...
    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, Any]]: ...

class StackedInline(admin.StackedInline[_Row, _Owner]): ...
