"""Labels that the guide quotes are on the pages: a person who looks for one finds it."""

import re
from pathlib import Path

import pytest
from django.test import Client
from lxml import html

from evals_app.engine.graders import GRADERS
from tests.admin.case_pages import url_of
from tests.authored import write_case

pytestmark = pytest.mark.django_db

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def words_on(text: str) -> set[str]:
    """Return each text of a page that is in an element of its own."""
    shown = html.fromstring(text).xpath("//text()[not(ancestor::script)]")
    return {" ".join(words.split()) for words in shown}


def quoted_in(page: str) -> set[str]:
    """Return what the second column of a page's tables has in quotation marks."""
    rows = re.findall(r"^\|[^|]+\|(.+)\|$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    return {label for row in rows for label in re.findall(r'"([^"]+)"', row)}


def test_every_label_that_a_page_for_newcomers_quotes_exists(admin_client: Client) -> None:
    pages = [url_of(write_case())]
    pages += [f"/admin/evals_app/suite/checks/{kind}/inputs/" for kind in GRADERS]

    shown = set().union(*(words_on(admin_client.get(page).content.decode()) for page in pages))

    quoted = quoted_in("coming-from-evolvable.md")
    assert len(quoted) > 10
    assert quoted - shown == set()
