import pytest
from django.test import Client
from django.utils.html import escape

from evals_app.admin.checks.options_form import options_form_class
from evals_app.admin.checks.views import prose
from evals_app.engine.graders import GRADERS

ADDRESS = "/admin/evals_app/suite/checks/"


@pytest.mark.django_db
@pytest.mark.parametrize("kind", GRADERS)
def test_every_kind_is_explained_beside_its_field(admin_client: Client, kind: str) -> None:
    answer = admin_client.get(f"{ADDRESS}{kind}/")

    assert answer.status_code == 200
    page = answer.content.decode()
    assert f"type: {kind}" in page
    assert f"Model calls: {escape(GRADERS[kind].calls)}." in page
    assert options_form_class(kind).check_kind == kind


@pytest.mark.django_db
def test_a_kind_that_does_not_exist_is_not_found(admin_client: Client) -> None:
    assert admin_client.get(f"{ADDRESS}contain/").status_code == 404


@pytest.mark.django_db
def test_fields_are_called_as_on_the_page(admin_client: Client) -> None:
    page = admin_client.get(f"{ADDRESS}geval/").content.decode()

    assert "“What the judge sees”" in page
    assert "“Pass at or above”" in page
    assert "<code>" not in page


def test_markdown_becomes_html_with_labels_for_keys_and_nothing_unescaped() -> None:
    html = prose("With `x`, `y` and <i>.\n\n* one\n* two", {"x": "<b>"})

    assert html.startswith("<p>With “&lt;b&gt;”, <code>y</code> and &lt;i&gt;.</p>")
    assert html.count("<li>") == 2
