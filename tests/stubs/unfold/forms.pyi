from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.http import HttpRequest

class AuthenticationForm(AdminAuthenticationForm): ...

class BaseDialogForm(forms.Form):
    form_after_template: str | None
    request: HttpRequest
    object_id: str  # in dialogs of a row
    def __init__(self, *args: object, **kwargs: object) -> None: ...
    def get_after_template_context(
        self, request: HttpRequest, object_id: str | None = None
    ) -> dict[str, Any]: ...
