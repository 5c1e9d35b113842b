"""Masking patterns: written by administrators, tried while they are written, and used at every door."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from evals_app.models import Activity, ApiToken, ConversationImport, MaskingPattern, Transcript
from evals_app.runs.recorded.masking import MAX_PATTERNS, site_masker
from tests.runs.recorded.conversations import content_of, row_of

pytestmark = pytest.mark.django_db

CONTRACT = {"name": "contract", "pattern": r"VN-\d{6}", "is_enabled": "on"}
SAID = row_of("a", ("user", "My contract is VN-123456."), ("assistant", "VN-123456, thank you."))
ADD = "admin:evals_app_maskingpattern_add"


def test_a_pattern_is_written_used_counted_by_its_name_and_switched_off(
    admin_client: Client, tmp_path: Path
) -> None:
    assert admin_client.post(reverse(ADD), CONTRACT).status_code == 302
    row = MaskingPattern.objects.get()
    assert Activity.objects.filter(object_id=row.pk, kind="added").exists()

    file = tmp_path / "week.jsonl"
    file.write_bytes(content_of([SAID]))
    out = StringIO()
    call_command("import_conversations", str(file), "--set", "Help desk", stdout=out)
    assert "contract 3" in out.getvalue()
    done = ConversationImport.objects.get()
    assert done.masked == {"contract": 3}
    assert Transcript.objects.get().trial["turns"][0]["user"] == "My contract is [contract 1]."

    change = reverse("admin:evals_app_maskingpattern_change", args=[row.pk])
    admin_client.post(change, {**CONTRACT, "is_enabled": ""})
    assert site_masker().patterns == {}


@pytest.mark.parametrize(
    ("name", "pattern", "field"),
    [
        ("contract", "(?=a)", "pattern"),
        ("contract", "a*", "pattern"),
        ("contract", "(", "pattern"),
        ("[x]", "a", "name"),
        ("x" * 41, "a", "name"),
    ],
    ids=["lookahead", "matches nothing", "open group", "brackets", "too long"],
)
def test_what_cannot_be_a_pattern_is_refused(
    admin_client: Client, name: str, pattern: str, field: str
) -> None:
    page = admin_client.post(reverse(ADD), {"name": name, "pattern": pattern})
    assert set(page.context["adminform"].form.errors) == {field}
    assert not MaskingPattern.objects.exists()


def test_there_are_at_most_so_many(admin_client: Client) -> None:
    MaskingPattern.objects.bulk_create(
        MaskingPattern(name=f"p{n}", pattern="a") for n in range(MAX_PATTERNS)
    )
    page = admin_client.post(reverse(ADD), CONTRACT)
    assert page.context["adminform"].form.non_field_errors()


def test_a_pattern_is_tried_on_a_text_that_is_not_stored(admin_client: Client) -> None:
    at = reverse("admin:evals_app_maskingpattern_try")
    MaskingPattern.objects.create(name="other", pattern="ZZ")

    def tried(**given: str) -> Any:
        return admin_client.post(at, given).context

    sample = "ZZ of VN-123456, ann@example.org"
    found = tried(name="contract", pattern=r"VN-\d{6}", sample=sample)
    assert (found["masked"], found["count"]) == ("[other 1] of [contract 1], [e-mail 1]", 1)
    assert tried(name="", pattern="x", sample="y")["count"] == 0
    assert "problem" in tried(name="", pattern="(", sample="y")
    assert tried(name="", pattern="", sample="y").get("masked") is None
    assert b"hx-post" in admin_client.get(reverse(ADD)).content


def test_a_place_without_any_character_is_not_masked() -> None:
    MaskingPattern.objects.create(name="edge", pattern=r"\b")
    masker = site_masker()
    assert masker.of_text("a b") == "a b"
    assert not masker.counts


def test_patterns_are_written_over_rest(admin_user: User) -> None:
    _, text = ApiToken.issue(name="test", user=admin_user, scope="author")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    url = "/api/masking-patterns/"
    body = {"name": "contract", "pattern": r"VN-\d{6}"}
    made = client.post(url, body, format="json")
    assert (made.status_code, made.json()["is_enabled"]) == (201, True)
    at = made.headers["Location"]
    assert client.get(at).json() == made.json()
    assert client.post(url, body, format="json").status_code == 400  # the name is taken
    wrong = client.post(url, {"name": "x", "pattern": "a*"}, format="json")
    assert (wrong.status_code, wrong.json()["errors"][0]["keys"]) == (400, "pattern")
    changed = client.put(at, {**body, "is_enabled": False}, format="json")
    assert changed.json() == made.json() | {"is_enabled": False}
    assert [row["name"] for row in client.get(url).json()["results"]] == ["contract"]
    assert client.delete(at).status_code == 204
    assert not MaskingPattern.objects.exists()
