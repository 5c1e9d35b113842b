import io
import json
import re
import zipfile
from html.parser import HTMLParser
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.admin.models import LogEntry
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.module_loading import import_string
from openpyxl import load_workbook

from evals_app.admin.importing import import_page
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.tables.separated import write_csv_rows
from evals_app.formats.tables.workbook_writing import write_workbook
from evals_app.library.importing.file_import import import_files
from evals_app.models import Agent, Assertion, Case, DeletedObject, Suite
from tests.authored import client_who_may
from tests.library.written import EVERYTHING, FIXTURE
from tests.page_form import posted_by

pytestmark = pytest.mark.django_db

URL = "/admin/evals_app/suite/import/"
AGENT = b"agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: Hello}]\n"
SUITE = b"""suite: Greetings
slug: greetings
agent: echo
cases:
  - name: Hello
    turns: [{user: Hi, assertions: [{type: contains, value: Hello}]}]
"""
TABLE = b"case,user,contains\nHello,Hi,Hello\n"


class Page:
    """What came back, as a person reads it."""

    def __init__(self, client: Client, response: Any) -> None:
        self._client = client
        self.response = response
        self.html = response.content.decode()
        reader = _Text()
        reader.feed(self.html)
        self.text = " ".join("".join(reader.texts).split())

    @property
    def token(self) -> str:
        button = re.search(r'name="import" value="(\w+)"', self.html)
        return button[1] if button else ""

    def press_import(self, **ticked: str) -> "Page":
        response = self._client.post(URL, {"import": self.token, **ticked}, follow=True)
        return Page(self._client, response)

    def choose_agent(self, slug: str) -> "Page":
        """Answer the question which agent is asked, as the form of the page would."""
        kept = re.search(r'name="kept" value="(\w+)"', self.html)
        answer = {"kept": kept[1] if kept else "", "asked-agent": slug}
        return Page(self._client, self._client.post(URL, answer))

    def choose_columns(self, **choices: str) -> "Page":
        """Choose the meaning of unknown columns, as the form of the page would."""
        kept = re.search(r'name="columns" value="(\w+)"', self.html)
        answer = {f"columns-{name}": choice for name, choice in choices.items()}
        posted = self._client.post(URL, {"columns": kept[1] if kept else "", **answer})
        return Page(self._client, posted)


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def check(client: Client, files: dict[str, bytes] | None = None, **fields: str) -> Page:
    chosen = [SimpleUploadedFile(name, content) for name, content in (files or {}).items()]
    return Page(client, client.post(URL, {"files": chosen, **fields}))


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


BOTH = {"greetings.suite.yaml": SUITE, "echo.agent.yaml": AGENT}


# Check files


def test_checks_that_cannot_fail_are_named_before_anything_is_saved(admin_client: Client) -> None:
    blind = SUITE.replace(b"value: Hello", b"value: h")
    guard = SUITE.replace(b"contains", b"not_contains").replace(b"greetings", b"guards")

    page = check(admin_client, BOTH | {"greetings.suite.yaml": blind, "g.suite.yaml": guard})

    assert "passes answers that should fail: a refusal" in page.text
    assert "only forbid" in page.text
    assert page.token
    assert not Suite.objects.exists()


def test_what_was_checked_is_imported_once_without_choosing_it_again(admin_client: Client) -> None:
    page = check(admin_client, BOTH)

    assert "Ready to import" in page.text
    assert "New suite greetings" in page.text.replace("add_circle", "")
    assert "Import 1 suite and 1 agent" in page.text
    assert not Suite.objects.exists()

    done = page.press_import()

    assert "Imported: 1 suite and 1 agent." in done.text
    suite = Suite.objects.get()
    assert suite.agent == Agent.objects.get()
    assert done.response.redirect_chain[-1][0] == f"/admin/evals_app/suite/{suite.pk}/cases/"
    assert "no longer available" in page.press_import().text


def test_a_folder_comes_as_an_archive(admin_client: Client) -> None:
    files = {"evals/greetings.suite.yaml": SUITE, "echo.agent.yaml": AGENT, "README.md": b"About"}

    page = check(admin_client, {"project.zip": zipped(files)}).press_import()

    assert "Imported: 1 suite and 1 agent." in page.text


def test_a_file_may_be_pasted(admin_client: Client) -> None:
    text = AGENT.decode().replace("\n", "\r\n")

    check(admin_client, pasted=text, pasted_name="echo.agent.yaml").press_import()

    assert Agent.objects.get().slug == "echo"


@pytest.mark.parametrize(("name", "slug"), [("pasted.yaml", "pasted"), ("Depots", "depots")])
def test_rows_pasted_from_a_spreadsheet_are_a_table(
    admin_client: Client, name: str, slug: str
) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    rows = "Katalog\t\t\r\nFrage\tAntwort\tOrt\r\nWann, bitte?\t7\tUlm\r\n"

    asked = check(admin_client, pasted=rows, pasted_name=name, agent="echo")
    asked.choose_columns(column0="").press_import()

    suite = Suite.objects.get()
    turn = suite.cases.get().turns.get()
    assert (suite.slug, turn.user, turn.expected) == (slug, "Wann, bitte?", "7")


ROWS = "Question\tExpected answer\nHow much is it?\t7 euros\nHi\tHello\n"


def test_pasted_rows_are_added_to_the_cases_of_a_suite(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()
    Suite.objects.update(description="Mine")

    page = check(admin_client, pasted=ROWS, into="greetings")
    assert "Add them to “Greetings”" in page.text
    added = page.press_import()

    suite = Suite.objects.get()
    assert "Added: 2 cases." in added.text
    _, *cases = suite.to_spec().cases
    assert [case.name for case in cases] == ["How much is it?", "Hi"]
    checks = [check.label for case in cases for check in case.turns[0].assertions or ()]
    assert len(checks) == 2, "what the rows expect is checked in this suite, too"
    assert suite.description == "Mine"
    entries = LogEntry.objects.filter(object_id=suite.pk, content_type__model="suite")
    assert entries.latest("pk").change_message.startswith("Cases added from")


@pytest.mark.parametrize(
    ("rows", "questions"),
    [
        ("Question\nHi, there\nBye; now\n", ["Hi, there", "Bye; now"]),
        ("Question;Expected answer\nHow much?;8\n", ["How much?"]),
        ("\nQuestion,Expected answer\nHow much?,8\n", ["How much?"]),
    ],
)
def test_rows_for_a_suite_may_have_one_column_or_other_separators(
    admin_client: Client, rows: str, questions: list[str]
) -> None:
    check(admin_client, BOTH).press_import()

    check(admin_client, pasted=rows, into="greetings").press_import()

    _, *cases = Suite.objects.get().to_spec().cases
    assert [case.turns[0].user for case in cases] == questions


def test_rows_that_are_added_again_are_left_out_or_named_apart(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()
    check(admin_client, pasted=ROWS, into="greetings").press_import()

    again = check(admin_client, pasted=ROWS, into="greetings")
    assert "All these cases are in the suite already." in again.text
    other = check(admin_client, pasted=f"{ROWS}How much?\t8\nHi\tBye\n", into="greetings")
    assert "Not added, because the suite has the same already: 2" in other.text
    other.press_import()

    names = [case.name for case in Suite.objects.get().cases.all()]
    assert names == ["Hello", "How much is it?", "Hi", "How much?", "Hi (2)"]


def test_settings_of_a_file_are_not_added_with_its_cases(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()
    text = SUITE.replace(b"Hello", b"Hallo").replace(b"slug: greetings", b"slug: other\ntrials: 3")

    page = check(admin_client, {"other.suite.yaml": text}, into="greetings")
    assert "Settings of the suite keep their values: trials." in page.text
    page.press_import()

    assert Suite.objects.get().trials != 3
    assert Suite.objects.get().cases.count() == 2


def test_only_cases_can_be_added_to_a_suite(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()

    page = check(admin_client, BOTH, into="greetings")

    assert "Only cases can be added to a suite." in page.text


def test_a_case_that_was_written_since_the_check_is_kept(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()
    page = check(admin_client, pasted=ROWS, into="greetings")
    mine = Case.objects.create(suite=Suite.objects.get(), name="Mine", position=9)
    mine.turns.create(user="Hi", position=0)

    page.press_import().press_import()

    assert Case.objects.filter(name="Mine").exists()
    assert Case.objects.count() == 4


def test_who_may_not_change_suites_learns_nothing_of_one(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()
    client = client_who_may("add_agent", "view_agent")

    assert "Greetings" not in client.get(f"{URL}?into=greetings").content.decode()
    assert "Greetings" not in check(client, pasted=ROWS, into="greetings").text


def test_cases_are_not_added_to_a_suite_that_is_no_longer_valid(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()
    page = check(admin_client, pasted=ROWS, into="greetings")
    Case.objects.create(suite=Suite.objects.get(), name="Mine", position=9)
    assert "has an error of its own" in page.press_import().text

    page = check(admin_client, pasted=ROWS, into="greetings")
    assert "has an error of its own" in page.text


@pytest.mark.parametrize("name", ["agent-skills", "copilot-studio"])
def test_a_file_of_another_tool_that_names_no_agent_asks_for_one(
    admin_client: Client, name: str
) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    ((path, text),) = DIALECTS[name].sample

    asked = check(admin_client, {path: text.encode()})

    assert "Which agent should answer?" in asked.text
    assert "Imported: 1 suite." in asked.choose_agent("echo").press_import().text
    assert Suite.objects.get().agent.slug == "echo"


def test_a_table_that_names_no_agent_is_a_question_not_a_mistake(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    named = b"case,user,contains,agent\nHello,Hi,Hello,echo\n"
    assert "can be imported" in check(admin_client, {"greetings.csv": named}).text
    assert "can be imported" in check(admin_client, {"greetings.csv": TABLE}, agent="echo").text

    asked = check(admin_client, {"greetings.csv": TABLE})

    assert '<option value="echo" selected>' in asked.html  # the only one
    assert "Which agent should answer?" in asked.text
    assert "greetings.csv does not name" in asked.text
    assert "to fix" not in asked.text
    assert "--agent" not in asked.text
    assert asked.token == ""

    page = asked.choose_agent("echo")

    assert "New suite greetings: 1 case for the agent echo" in page.text.replace("add_circle", "")
    assert "Imported: 1 suite." in page.press_import().text
    assert Suite.objects.get().agent.slug == "echo"
    cache.clear()
    assert "no longer available" in asked.choose_agent("echo").text


@pytest.mark.parametrize(
    ("name", "row"),
    [
        pytest.param("exam.jsonl", {"question": "Hi", "answer": "Hello"}, id="data set"),
        pytest.param("samples.jsonl", {"input": "Hi", "ideal": "Hello"}, id="OpenAI Evals"),
    ],
)
def test_rows_of_json_ask_for_their_agent_too(
    admin_client: Client, name: str, row: dict[str, str]
) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()

    asked = check(admin_client, {name: json.dumps(row).encode()})

    assert "Which agent should answer?" in asked.text
    asked.choose_agent("echo").press_import()
    assert Suite.objects.get().slug == name.partition(".")[0]


UNKNOWN = b"case,Anliegen,contains,Owner\nHello,Hi,Hello,Ana\n"


def test_unknown_columns_are_a_question_and_then_the_agent_is(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()

    asked = check(admin_client, {"greetings.csv": UNKNOWN})

    assert re.findall(r'<select name="([^"]+)"', asked.html)[:2] == [
        "columns-column0",
        "columns-column1",
    ]
    assert "For example: Ana" in asked.text
    assert asked.token == ""

    page = asked.choose_columns(column0="user", column1="").choose_agent("echo")

    assert "Left out, as you chose: Owner (1 filled)" in page.text
    assert "Lost" not in page.text  # nothing that the file has was dropped unasked
    assert '<option value="user" selected>' in page.html  # it may still be changed
    assert "Imported: 1 suite." in page.press_import().text
    turn = Suite.objects.get().cases.get().turns.get()
    assert turn.user == "Hi"


def test_the_nearest_column_is_proposed_and_nothing_is_applied_unasked(
    admin_client: Client,
) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()

    asked = check(admin_client, {"a.csv": b"user,Expected anser\nHi,Hello\n"}, agent="echo")

    assert '<option value="expected" selected>' in asked.html
    assert asked.token == ""


def test_other_mistakes_stay_in_sight_and_choices_can_be_changed(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    table = b"user,contains,trials,Owner\nHi,Hello,many,Ana\n"

    asked = check(admin_client, {"a.csv": table}, agent="echo")
    assert "whole number" in asked.text

    again = asked.choose_columns(column0="user")  # there is one already
    assert "Owner" in again.text
    assert '<option value="user" selected>' in again.html

    ignored = again.choose_columns(column0="")
    assert "1 error to fix" in ignored.text
    assert "whole number" in ignored.text


# What was chosen is kept


def test_choices_are_kept_for_the_next_file_with_these_headers_and_forgotten_on_request(
    admin_client: Client,
) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    check(admin_client, {"a.csv": UNKNOWN}).choose_columns(column0="user", column1="")
    other = check(admin_client, {"b.csv": b"question,answer\nHi,Hello\n"}, agent="echo")
    assert "earlier file" not in other.text  # it has none of these headers

    mended = check(admin_client, {"a.csv": UNKNOWN.replace(b"Ana", b"Eva")}, agent="echo")

    assert "As you chose for an earlier file: " in mended.text
    assert "Left out, as you chose: Owner" in mended.text
    assert mended.token
    token = re.search(r'name="forget" value="(\w+)"', mended.html)
    assert token
    again = Page(admin_client, admin_client.post(URL, {"forget": token[1]}))
    assert again.text.count("Choose what this column is") == 2
    assert check(admin_client, {"a.csv": UNKNOWN}, agent="echo").token == ""


def test_ways_to_compare_and_the_row_of_the_headers_are_kept_too(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    table = b"question,answer\nFrage,Antwort\nHi,Hello\n"
    page = check(admin_client, {"a.csv": table}, agent="echo").choose_columns(header_row="2")
    page.choose_columns(kind0="exact match", header_row="2")

    mended = check(admin_client, {"b.csv": b"Title,\n" + table}, agent="echo")

    assert "the row of the headers, how “short answer” is compared" in mended.text
    assert '<option value="exact match" selected>' in mended.html
    usual = mended.choose_columns(kind0="", header_row="3")
    assert "how “short answer”" not in usual.text
    assert '<option value="exact match" selected>' not in usual.html
    usual.press_import()
    assert Suite.objects.get().cases.get().turns.get().user == "Hi"
    last = check(admin_client, {"c.csv": table}, agent="echo")
    assert "the row of the headers" in last.text
    assert "how “short answer”" not in last.text
    token = re.search(r'name="forget" value="(\w+)"', last.html)
    forgotten = Page(admin_client, admin_client.post(URL, {"forget": token[1] if token else ""}))
    assert "2 cases for the agent echo" in forgotten.text
    assert "earlier file" not in check(admin_client, {"a.csv": table}, agent="echo").text


def test_of_two_keys_for_an_answer_one_is_ignored_on_the_page(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    row = {"question": "Where?", "expected": "Rome", "answer": "Oslo"}
    page = check(admin_client, {"rows.jsonl": json.dumps(row).encode()}, agent="echo")
    assert page.token == ""

    mended = page.choose_columns(column1="")

    assert "Left out, as you chose: expected (1 filled)" in mended.text
    mended.press_import()
    assert Suite.objects.get().cases.get().turns.get().expected == "Oslo"


def test_a_choice_on_the_page_beats_a_kept_one(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    check(admin_client, {"a.csv": UNKNOWN}).choose_columns(column0="user", column1="")
    page = check(admin_client, {"a.csv": UNKNOWN}, agent="echo")

    page.choose_columns(column3="description").press_import()

    assert Suite.objects.get().cases.get().description == "Ana"


# What each column becomes

FILLED_IN = b"""\
Fragenkatalog;;;
Frage;Musterantwort;Art;gepr. durch
Wann?;7;Auskunft;Ana
Warum?;12;Auskunft;Ana
"""


def test_known_columns_show_what_they_became_with_a_reply_that_passes(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()

    page = check(admin_client, {"a.csv": FILLED_IN}, agent="echo")

    assert "number: how it is compared" in page.text
    assert "“The answer is 7.”" in page.text
    assert "“The answer is 8.”" in page.text
    assert "left out: above the headers" in page.text
    assert page.text.count("Choose what this column is") == 2
    assert page.token == ""


def test_what_is_left_as_it_was_read_is_no_choice_and_a_way_to_compare_may_be_chosen(
    admin_client: Client,
) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    asked = check(admin_client, {"a.csv": FILLED_IN}, agent="echo")
    sent = {"column0": "tags", "column1": "", "column2": "user", "column3": "expected"}

    page = asked.choose_columns(**sent, kind0="exact match", header_row="2")

    assert "Left out, as you chose: gepr. durch (2 filled)" in page.text
    page.press_import()
    (first, _) = Suite.objects.get().cases.all()
    assert first.tags == ["Auskunft"]
    assert {*Assertion.objects.values_list("type", flat=True)} == {"exact_match"}


def test_the_row_of_the_headers_may_be_chosen(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    table = b"question,answer\nFrage,Antwort\nHi,Hello\n"
    page = check(admin_client, {"a.csv": table}, agent="echo")
    assert "2 cases for the agent echo" in page.text

    again = page.choose_columns(column0="user", column1="expected", header_row="2")

    assert "1 case for the agent echo" in again.text


def test_what_a_column_became_may_be_changed_although_it_is_known(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    page = check(admin_client, {"a.csv": b"user,contains,notes\nHi,Hello,Bye\n"}, agent="echo")

    again = page.choose_columns(column0="user", column1="contains", column2="not contains")

    assert "“The answer is Bye.”" in again.text
    again.press_import()
    types = Assertion.objects.order_by("position").values_list("type", flat=True)
    assert [*types] == ["contains", "not_contains"]


@pytest.mark.parametrize("choice", ["nothing", "param:", "<b>"])
def test_a_choice_that_is_not_offered_is_asked_again(admin_client: Client, choice: str) -> None:
    asked = check(admin_client, {"greetings.csv": UNKNOWN})

    page = asked.choose_columns(column0=choice, column1="")

    assert page.response.status_code == 200
    assert 'name="columns-column0"' in page.html
    assert page.token == ""


def test_columns_of_files_that_are_gone_cannot_be_chosen(admin_client: Client) -> None:
    asked = check(admin_client, {"greetings.csv": UNKNOWN})
    cache.clear()

    assert "no longer available" in asked.choose_columns(column0="user").text


def test_mistakes_come_before_the_question_of_the_agent(admin_client: Client) -> None:
    page = check(admin_client, {"greetings.csv": TABLE, "b.csv": b"user,contains,trials\nHi,x,y\n"})

    assert "1 error to fix" in page.text
    assert "Choose an agent too: b.csv, greetings.csv" in page.text
    assert "--agent" not in page.text


def test_without_an_agent_the_page_leads_to_one(admin_client: Client) -> None:
    page = check(admin_client, {"greetings.csv": TABLE})

    assert "no agents yet" in page.text
    assert 'href="/admin/evals_app/agent/add/"' in page.html


@pytest.mark.parametrize("slug", ["", "ecko"])
def test_an_answer_that_is_no_agent_is_asked_again(admin_client: Client, slug: str) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()

    page = check(admin_client, {"greetings.csv": TABLE}).choose_agent(slug).choose_agent("echo")

    assert "can be imported" in page.text


def test_two_agents_of_one_name_are_distinguished(admin_client: Client) -> None:
    Agent.objects.create(slug="echo", name="Echo", driver="scripted")
    Agent.objects.create(slug="echo-2", name="Echo", driver="scripted")

    html = admin_client.get(URL).content.decode()

    assert "Echo (echo)" in html
    assert "Echo (echo-2)" in html


def test_changes_are_shown_field_by_field(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()
    changed = SUITE.replace(b"value: Hello", b"value: Bye") + b"trials: 3\n"

    page = check(admin_client, {"greetings.suite.yaml": changed, "echo.agent.yaml": AGENT})

    assert "trials added: 3" in page.text
    assert '"Hello" → to "Bye"' in page.text
    assert "Changed: 1 suite; Unchanged: 1 agent" in page.text
    assert "Import 1 suite" in page.text


@pytest.mark.parametrize("more", [["delete_case"], []])
def test_cases_that_an_import_deletes_are_named_and_restored_by_who_may_delete(
    admin_client: Client, more: list[str]
) -> None:
    two = SUITE.replace(b"cases:", b"cases:\n  - {name: Bye, turns: [{user: Bye}]}")
    check(admin_client, {"greetings.suite.yaml": two, "echo.agent.yaml": AGENT}).press_import()
    kinds = ("suite", "case", "agent")
    rights = [f"{verb}_{kind}" for verb in ("view", "change") for kind in kinds]
    client = client_who_may(*rights, *more)

    done = check(client, {"greetings.suite.yaml": SUITE}).press_import()

    assert "No longer in the files, so deleted: “Bye”." in done.text
    entry = DeletedObject.objects.get()
    assert (f'name="entry" value="{entry.pk}"' in done.html) is bool(more)


def test_a_schema_that_changes_is_shown(admin_client: Client) -> None:
    import_files(EVERYTHING)
    changed = FIXTURE.content.replace(b"type: number", b"type: [number, string]")

    page = check(admin_client, {FIXTURE.path: changed})

    assert "entity type order schema, properties, total, type" in page.text


def test_many_changes_are_folded(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()
    more = b"".join(
        b"  - {name: C%d, turns: [{user: Hi, assertions: [{type: contains, value: a}]}]}\n" % n
        for n in range(7)
    )

    page = check(admin_client, {"greetings.suite.yaml": SUITE + more})

    assert "<summary>2 more</summary>" in page.html


def test_what_is_here_already_needs_no_import(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()

    page = check(admin_client, BOTH)

    assert "already exists" in page.text
    assert page.token == ""


def test_what_is_lost_is_shown_with_its_reason(admin_client: Client) -> None:
    import_files(EVERYTHING)
    lobu = b"name: ping\ndescription: x\nturns:\n- content: Hi\n  assert:\n"
    lobu += b"  - {type: regex, value: hi, options: {case_insensitive: true}}\n"

    page = check(admin_client, {"p.zip": zipped({"agents/shop/evals/ping.yaml": lobu})})

    assert "Lost: 1 part" in page.text, page.text
    assert "Line 6" in page.text


def test_tables_of_an_archive_that_are_left_out_are_shown(admin_client: Client) -> None:
    packed = zipped({"echo.agent.yaml": AGENT, "greetings.csv": TABLE})

    page = check(admin_client, {"project.zip": packed})

    assert "New: 1 agent; 1 warning" in page.text
    assert "This table was not imported" in page.text


@pytest.mark.parametrize(
    ("files", "path"),
    [
        pytest.param({"echo.agent.yaml": AGENT}, "evals_app/agent", id="agents"),
        pytest.param({FIXTURE.path: FIXTURE.content}, "evals_app/suite", id="several kinds"),
    ],
)
def test_the_way_leads_to_what_was_imported(
    admin_client: Client, files: dict[str, bytes], path: str
) -> None:
    page = check(admin_client, files).press_import()

    assert page.response.redirect_chain[-1][0] == f"/admin/{path}/"


def test_an_edited_cell_of_an_exported_workbook_is_all_that_changes(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    table = b"case,user,expected\nHello,Hi,Hello\nBye,See you,Bye\n"
    check(admin_client, {"greetings.csv": table}, agent="echo").press_import()
    suite = Suite.objects.get()
    exported = admin_client.get(f"/admin/evals_app/suite/{suite.pk}/export-table/").content
    book = load_workbook(io.BytesIO(exported))
    book.worksheets[0]["C3"] = "Goodbye"
    edited = io.BytesIO()
    book.save(edited)

    again = check(admin_client, {"greetings.xlsx": exported})
    page = check(admin_client, {"greetings.xlsx": edited.getvalue()})

    assert "already exists" in again.text
    assert page.html.count("<ins>") == page.html.count("<del>") == 1
    assert 'case “Bye”, turn 1, expected answer from "Bye" → to "Goodbye"' in page.text


def test_the_sample_of_a_spreadsheet_is_there_to_fill_in(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    sample = admin_client.get(f"{URL}sample/")

    page = check(admin_client, {"questions.xlsx": sample.content}, agent="echo")

    assert sample["Content-Type"].endswith("spreadsheetml.sheet")
    assert "New suite questions: 3 cases" in page.text.replace("add_circle", "")


# How much is shown


@pytest.mark.slow
def test_of_many_cases_a_few_are_shown_and_the_rest_is_counted(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    rows = [f"Case {n},Hi,Hello {n}" for n in range(1, 1201)]
    table = "\n".join(["case,user,expected", *rows]).encode()

    page = check(admin_client, {"many.csv": table}, agent="echo")

    assert "1,200 cases for the agent echo" in page.text
    assert "and 1,197 more" in page.text
    assert "Case 4:" not in page.text

    page.press_import()
    page = check(admin_client, {"many.csv": table.replace(b"Hello", b"Bye")}, agent="echo")

    assert "and 1,000 more that are not shown" in page.text
    assert page.html.count("<ins>") == 200


@pytest.mark.parametrize(
    ("name", "reader"),
    [("a.csv", "reader.read_csv"), ("a.xlsx", "workbook.read_xlsx")],
)
def test_a_table_is_read_once_whatever_is_shown_of_it(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, name: str, reader: str
) -> None:
    rows = [["user", "contains", "trials", "Owner"], ["Hi", "Hello", "many", "Ana"]]
    is_csv = name.endswith(".csv")
    table = write_csv_rows(rows) if is_csv else write_workbook([("Cases", rows)])
    path = f"evals_app.formats.tables.{reader}"
    read = Mock(side_effect=import_string(path))
    monkeypatch.setattr(path, read)

    page = check(admin_client, {name: table})

    assert "1 other error" in page.text
    assert "Choose what this column is" in page.text
    read.assert_called_once()


# Mistakes


def test_the_row_of_a_mistake_in_a_table_is_shown_with_its_cell_marked(
    admin_client: Client,
) -> None:
    page = check(admin_client, {"a.csv": b"case,user,contains,trials\nHello,Hi,<b>,three\n"})

    assert "Row 2" in page.text
    cells = re.sub(r"\s*(</?td>)\s*", r"\1", page.html)
    assert "<td>Hi</td><td>&lt;b&gt;</td><td><mark>three</mark></td>" in cells


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        pytest.param(SUITE.replace(b"contains", b"contans"), "Line 6", id="line"),
        pytest.param(SUITE + b"gatez: {}\n", "Did you mean 'gates'?", id="key"),
        pytest.param(b"suite: [", "Nothing can be imported", id="no YAML"),
        pytest.param(b"<script>alert(1)</script>", "Nothing can be imported", id="something else"),
    ],
)
def test_one_mistake_keeps_everything_out_and_is_shown_with_its_place(
    admin_client: Client, suite: bytes, words: str
) -> None:
    page = check(admin_client, BOTH | {"greetings.suite.yaml": suite})

    assert "Nothing can be imported" in page.text
    assert words in page.text
    assert "<script>alert" not in page.html
    assert page.token == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("ping.yaml", b"name: ping\nturns: [{content: Hi}]\n", id="Lobu"),
        pytest.param("agent.yaml", b"name: x\ntest_cases: [{input: Hi}]\n", id="HoloDeck"),
        ("promptfooconfig.yaml", b"prompts: [Hi]\ntests: [{vars: {}}]\n"),
    ],
)
def test_no_option_of_a_command_is_asked_for(
    admin_client: Client, name: str, content: bytes
) -> None:
    page = check(admin_client, {name: content})

    assert "“Agent for files that do not name one”" in page.text
    assert "--agent" not in page.text


def test_the_line_of_a_mistake_is_shown_with_its_place_marked(admin_client: Client) -> None:
    suite = SUITE.replace(b"contains", b"<contans>")

    page = check(admin_client, BOTH | {"greetings.suite.yaml": suite})

    assert "[{type: <mark>&lt;contans&gt;</mark>, value: Hello}]" in page.html


@pytest.mark.parametrize(
    "line",
    [
        "api_key_env: sk-ant-1",
        "base_url: https://me:sk-ant-1@example.com",
        "headers: {x: sk-ant-1}",
        "{api_key: sk-ant-1, kind: x}",
    ],
)
def test_a_line_that_may_hold_a_secret_is_not_shown(admin_client: Client, line: str) -> None:
    provider = f"provider: P\nslug: p\nkind: anthropic\n{line}\n".encode()

    page = check(admin_client, {"p.provider.yaml": provider})

    assert "Nothing can be imported" in page.text
    assert "The line is not shown" in page.text
    assert "sk-ant" not in page.html


def test_what_was_pasted_stays_in_the_form(admin_client: Client) -> None:
    page = check(admin_client, pasted="suite: <b>\nslug: x\n", pasted_name="x.suite.yaml")

    assert "suite: &lt;b&gt;" in page.html
    assert "x.suite.yaml" in posted_by(page.html.partition("import-form-title")[2])["pasted_name"]


def test_without_a_file_the_page_asks_for_one(admin_client: Client) -> None:
    assert "Choose at least one file" in check(admin_client).text


def test_too_much_is_refused_unread(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_page, "MAX_UNPACKED_BYTES", 100)  # the true one would take seconds

    assert "larger than 50 MB" in check(admin_client, {"a.agent.yaml": bytes(101)}).text


# What was checked, and what has happened since


def test_changes_of_others_are_not_overwritten_unseen(admin_client: Client) -> None:
    check(admin_client, BOTH).press_import()
    page = check(admin_client, {"greetings.suite.yaml": SUITE + b"trials: 3\n"})
    Suite.objects.update(description="Mine")

    again = page.press_import()

    assert "changed since you checked" in again.text
    assert 'description removed: "Mine"' in again.text
    assert Suite.objects.get().trials == 1
    refused = again.press_import()
    assert "edited" in refused.text
    assert Suite.objects.get().trials == 1
    assert "Imported" in refused.press_import(replace="on").text
    assert Suite.objects.get().trials == 3


def test_a_suite_without_any_check_is_imported_only_if_someone_ticks_so(
    admin_client: Client,
) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    rows = {"rows.jsonl": b'{"question": "a", "owner": "Ann"}'}
    page = check(admin_client, rows, agent="echo")

    assert "Ready to import, but no case checks anything" in page.text
    assert "no case checks anything: suite rows" in page.text
    refused = page.press_import()
    assert "Confirm this below" in refused.text
    assert not Suite.objects.exists()
    assert "Imported" in refused.press_import(accept_no_checks="on").text
    assert Suite.objects.get().slug == "rows"


def test_guesses_in_rows_of_json_are_shown_and_can_be_changed(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    talk = b'[{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]'
    row = b'{"messages": ' + talk + b', "expected": "Returns are free for 30 days."}\n'
    row += b'{"question": "c", "expected": "x"}'

    page = check(admin_client, {"r.jsonl": row}, agent="echo")

    assert "sentence: how it is compared" in page.text

    page.choose_columns(kind0="contains").press_import()
    suite = Suite.objects.get()
    types = [check.type for case in suite.to_spec().cases for check in case.turns[0].assertions or suite.to_spec().assertions]  # fmt: skip
    assert set(types) == {"contains"}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        pytest.param(
            "r.jsonl", b'{"question": "Hi", "answer": "Hello", "Owner": "Ana"}', id="JSONL"
        ),
        pytest.param(
            "r.json", b'[{"question": "Hi", "answer": "Hello", "Owner": "Ana"}]', id="JSON"
        ),
        pytest.param("r.yaml", b"- {question: Hi, answer: Hello, Owner: Ana}", id="YAML"),
    ],
)
def test_keys_of_rows_are_chosen_as_columns_are(
    admin_client: Client, name: str, rows: bytes
) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    page = check(admin_client, {name: rows}, agent="echo")
    assert "The first rows" in page.html
    assert "Headers are in row" not in page.text

    again = page.choose_columns(column0="user", column1="expected", column2="description")

    again.press_import()
    assert Suite.objects.get().cases.get().description == "Ana"


def test_lost_checks_are_counted_on_the_page(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    row = b'{"question": "a", "expected": "x", "expected_tone": "y"}'

    page = check(admin_client, {"r.jsonl": row}, agent="echo").text

    assert "Ready to import, but 1 of 2 checks was not read" in page


def test_what_is_missing_since_is_shown(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    page = check(admin_client, {"greetings.suite.yaml": SUITE})
    Agent.objects.all().delete()

    again = page.press_import()

    assert "Nothing can be imported" in again.text
    assert not Suite.objects.exists()


def test_only_the_last_checked_files_are_kept_and_for_no_one_else(admin_client: Client) -> None:
    first = check(admin_client, BOTH)
    page = check(admin_client, {"echo.agent.yaml": AGENT})
    kinds = ("suite", "case", "agent", "provider", "fixture", "entitytype")
    other = client_who_may(*(f"{verb}_{kind}" for verb in ("add", "change") for kind in kinds))

    answer = other.post(URL, {"import": page.token})

    assert "no longer available" in answer.content.decode()
    assert "no longer available" in first.press_import().text
    assert not Suite.objects.exists()
    assert not Agent.objects.exists()


# The way there


def test_the_list_of_suites_leads_there(admin_client: Client) -> None:
    page = admin_client.get("/admin/evals_app/suite/choose/", follow=True)

    assert "Import files" in admin_client.get("/admin/evals_app/suite/").content.decode()
    assert page.redirect_chain[-1][0] == URL


def test_who_may_write_nothing_is_refused() -> None:
    client = client_who_may("view_suite", "view_agent")

    assert client.get(URL).status_code == 403
    assert client.get(f"{URL}sample/").status_code == 403
    assert client.post(URL, {"import": "1"}).status_code == 403
    assert "Import files" not in client.get("/admin/evals_app/suite/").content.decode()


def test_an_import_takes_the_rights_of_what_the_files_change_alone() -> None:
    client = client_who_may("add_agent")

    assert "Import 1 agent" in check(client, {"echo.agent.yaml": AGENT}).text
    refused = check(client, BOTH).text

    assert "evals_app.add_suite" in refused
    assert not Suite.objects.exists()
    assert not Agent.objects.exists()


def test_agents_are_offered_to_who_may_see_them(admin_client: Client) -> None:
    check(admin_client, {"echo.agent.yaml": AGENT}).press_import()
    blind = client_who_may("add_suite", name="blind")
    seeing = client_who_may("add_suite", "view_agent", name="seeing")

    assert "(echo)" not in blind.get(URL).content.decode()
    assert "(echo)" in seeing.get(URL).content.decode()


# One suite


def test_a_project_of_evals_becomes_one_suite_at_a_tick(admin_client: Client) -> None:
    text = "name: {0}\nturns: [{{content: Hi, assert: [{{type: contains, value: Hello you}}]}}]\n"
    evals = {f"agents/echo/evals/{name}.yaml": text.format(name).encode() for name in "ab"}
    archive = {"project.zip": zipped(evals | {"echo.agent.yaml": AGENT})}

    page = check(admin_client, archive, as_one_suite="on").press_import()

    assert "Imported: 1 suite and 1 agent." in page.text
    assert list(Suite.objects.get().cases.values_list("name", flat=True)) == ["a", "b"]
