from collections.abc import Callable, Sequence
from typing import TypedDict, TypeVar

from unfold.forms import BaseDialogForm

_Method = TypeVar("_Method", bound=Callable[..., object])

class _Dialog(TypedDict, total=False):
    title: str
    description: str
    form_class: type[BaseDialogForm]
    form_submit_text: str

def action(
    *,
    description: str,
    url_path: str | None = None,
    icon: str | None = None,
    permissions: Sequence[str] | None = None,
    dialog: _Dialog | None = None,
) -> Callable[[_Method], _Method]: ...
def display(
    *,
    description: str,
    ordering: str | None = None,
    boolean: bool | None = None,
    label: bool | None = None,
) -> Callable[[_Method], _Method]: ...
