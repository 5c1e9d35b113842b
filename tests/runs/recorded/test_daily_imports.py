"""Every day: each file is imported once, a sample of what is new is graded, whatever dies meanwhile."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from evals_app.models import (
    Activity,
    Assertion,
    ConversationImport,
    ConversationSet,
    DailyImport,
    DueImport,
    Run,
    SpanInbox,
    Suite,
)
from evals_app.runs.recorded import daily_imports, daily_sources, waiting_imports
from evals_app.runs.recorded.daily_imports import (
    CannotSaveDailyImportError,
    has_work,
    import_now,
    note_due_imports,
    pause,
    problems_of,
    runs_of,
    save_daily_import,
    work_on_due_imports,
)
from evals_app.runs.recorded.daily_sources import FoundFile
from evals_app.runs.recorded.received_spans import save_inbox
from evals_app.runs.recorded.sets import remove_set
from evals_app.runs.recorded.waiting_imports import import_waiting
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.permitting import permitting
from tests.runs.recorded.conversations import content_of, imported, make_set, row_of, rows_of
from tests.runs.recorded.daily import DAY, NIGHT, every_day, fire, owner, put
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder from which files may be imported."""
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path / "data")
    (tmp_path / "exports").mkdir()
    monkeypatch.setattr(settings, "IMPORT_FOLDERS", [str(tmp_path / "exports")])
    return tmp_path / "exports"


def files() -> list[str]:
    rows = ConversationImport.objects.exclude(due=None).order_by("pk")
    return list(rows.values_list("file_name", flat=True))


def count() -> int:
    return ConversationSet.objects.get().count


def test_new_files_are_imported_once_and_stay_where_they_are(folder: Path) -> None:
    every_day(make_set(), folder)
    first = put(folder, "monday.jsonl", rows_of(3))
    put(folder, "notes.pdf", b"no conversations")

    due = fire()
    assert (due.state, due.why, files(), count()) == ("ended", "", ["monday.jsonl"], 3)
    assert due.imports.get().created_by == owner()

    put(folder, "tuesday.jsonl", rows_of(5))
    due = fire(NIGHT + DAY)
    [brought] = due.imports.all()
    assert (brought.file_name, brought.added, brought.known) == ("tuesday.jsonl", 2, 3)

    due = fire(NIGHT + 2 * DAY)
    assert (due.why, due.imports.count(), count()) == ("There was nothing new.", 0, 5)
    assert first.exists()
    assert not list((settings.DATA_DIR / "uploads").iterdir())


def test_a_file_that_was_touched_is_not_imported_again_and_one_with_more_is(folder: Path) -> None:
    every_day(make_set(), folder)
    put(folder, "all.jsonl", rows_of(3))
    fire()
    put(folder, "all.jsonl", rows_of(3), age_s=70)
    assert fire(NIGHT + DAY).imports.count() == 0
    put(folder, "all.jsonl", rows_of(4))
    assert fire(NIGHT + 2 * DAY).imports.get().added == 1


def test_a_file_that_is_being_written_waits_for_the_next_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_day(make_set(), folder)
    put(folder, "now.jsonl", rows_of(2), age_s=10)
    assert fire().imports.count() == 0
    file = put(folder, "now.jsonl", rows_of(2))
    real = waiting_imports.store_upload

    def store_and_grow(chunks: Iterator[bytes]) -> Path:
        stored = real(chunks)
        with file.open("ab") as more:
            more.write(b"\n")
        return stored

    monkeypatch.setattr(daily_sources, "store_upload", store_and_grow)
    assert fire(NIGHT + DAY).imports.count() == 0
    assert not list((settings.DATA_DIR / "uploads").iterdir())


def test_a_faulty_file_does_not_stop_the_others_and_says_what_is_wrong(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_day(make_set(), folder)
    put(folder, "a.jsonl", b'{"id": 1}\n{"id"')
    put(folder, "b.csv", b"x,y\n1,2\n")
    put(folder, "c.jsonl", rows_of(9))
    put(folder, "d.jsonl", rows_of(2))

    def copy(file: FoundFile) -> Any:
        if file.name == "c.jsonl":
            file = replace(file, path=file.path / "gone")
        return daily_sources.copy_file(file)

    with monkeypatch.context() as patched:
        patched.setattr(daily_imports, "copy_file", copy)
        due = fire()
    assert count() == 2
    failures = dict(due.imports.values_list("file_name", "failure"))
    assert "a.jsonl:2:" in failures["a.jsonl"]
    assert "columns" in failures["b.csv"]
    assert failures["d.jsonl"] == ""
    assert due.problems[0].startswith("c.jsonl")
    assert list(fire(NIGHT + DAY).imports.values_list("file_name", "added")) == [("c.jsonl", 7)]


def test_a_large_file_is_left_with_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily_sources, "MAX_BYTES", 10)
    every_day(make_set(), folder)
    put(folder, "large.jsonl", rows_of(2))
    assert fire().problems[0].startswith("large.jsonl: large.jsonl is larger")


def test_many_files_are_taken_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily_imports, "MAX_FILES", 1)
    every_day(make_set(), folder)
    put(folder, "b.jsonl", rows_of(2), age_s=500)
    put(folder, "a.jsonl", rows_of(3))
    assert "next time" in fire().problems[0]
    assert not fire(NIGHT + DAY).problems
    assert files() == ["b.jsonl", "a.jsonl"]


@pytest.mark.parametrize("where", ["", "..", "../other", "/etc", "exports"])
def test_only_permitted_folders_are_read(
    folder: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "other").mkdir()
    path = where if where.startswith(("/", "exports")) else str(folder / where)
    if not where:
        monkeypatch.setattr(settings, "IMPORT_FOLDERS", [])
    with pytest.raises(CannotSaveDailyImportError, match="EVALWELL_IMPORT_FOLDERS") as refused:
        every_day(make_set(), path)
    assert refused.value.wrong[0][0] == "folder"


def test_a_link_out_of_the_folder_is_not_followed(folder: Path) -> None:
    secret = put(folder.parent, "secret.jsonl", rows_of(2))
    (folder / "link.jsonl").symlink_to(secret)
    (folder / "lost.jsonl").symlink_to(folder / "nowhere")
    every_day(make_set(), folder)
    assert fire().why == "There was nothing new."


def test_a_folder_that_is_gone_says_so(folder: Path) -> None:
    row = every_day(make_set(), folder / "below")
    assert "no folder" in " ".join(problems_of(row))
    assert "cannot be read" in fire().why


def test_files_are_masked_and_read_as_chosen(folder: Path) -> None:
    chosen = {"Fall": "id", "x": "question", "y": "answer"}
    every_day(make_set(), folder, columns=chosen, is_masked=True)
    put(folder, "fall.csv", b"Fall,x,y\n7,I am ann@example.org,In Rome.\n")
    [row] = fire().imports.all()
    assert (row.added, row.columns, row.masked) == (1, chosen, {"e-mail": 1})


# Addresses


class Export:
    """A server with a file that is the same until it is changed."""

    def __init__(self, content: bytes) -> None:
        self.content, self.version, self.status = content, 1, 200

    def __call__(self, asked: Asked) -> Sent:
        etag = f'"{self.version}"'
        if asked.headers.get("if-none-match") == etag:
            return Sent(304)
        headers = {"content-type": "application/x-ndjson", "etag": etag}
        return Sent(self.status, headers, self.content)


@pytest.fixture
def here() -> Iterator[None]:
    """Permit requests to this machine."""
    with permitting(hosts=("127.0.0.1",), variables=("AGENT_*",)):
        yield


@pytest.fixture
def agent_key(here: None, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AGENT_EXPORT_KEY", "s3cret")
    return "s3cret"


def test_an_address_is_asked_with_a_secret_and_only_for_what_is_new(agent_key: str) -> None:
    export = Export(content_of(rows_of(3)))
    with WebServer(export) as server:
        headers = {"Authorization": {"env": "AGENT_EXPORT_KEY"}}
        every_day(make_set(), url=f"{server.url}/export", headers=headers)
        due = fire()
        assert (due.imports.get().file_name, count()) == ("export.jsonl", 3)
        assert server.asked[0].headers["authorization"] == agent_key

        assert fire(NIGHT + DAY).why == "There was nothing new."
        assert server.asked[1].headers["if-none-match"] == '"1"'

        export.content, export.version = content_of(rows_of(4)), 2
        assert fire(NIGHT + 2 * DAY).imports.get().added == 1
        export.version = 3  # the same content again
        assert fire(NIGHT + 3 * DAY).why == "There was nothing new."


def test_an_address_that_answers_with_no_file_says_why(agent_key: str) -> None:
    export = Export(f"no {agent_key}".encode())
    with WebServer(export) as server:
        headers = {"Authorization": {"env": "AGENT_EXPORT_KEY"}}
        every_day(make_set(), url=f"{server.url}/export", headers=headers)
        export.status = 403
        due = fire()
        assert "403" in due.why
        assert agent_key not in due.why
    assert "reached" in fire(NIGHT + DAY).why


@pytest.mark.usefixtures("here")
def test_what_is_larger_than_a_file_may_be_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily_sources, "MAX_BYTES", 1000)
    with WebServer(Export(b"x" * 5000)) as server:
        every_day(make_set(), url=server.url)
        assert "more than 1 kB" in fire().why
    assert not list((settings.DATA_DIR / "uploads").iterdir())


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("https://127.0.0.1/export", "EVALS_PRIVATE_HOSTS"),
        ("http://example.org/export", "https"),
        ("https://169.254.169.254/", "credentials"),
        ("https://example.org/?api_key=1", "header"),
        ("ftp://example.org", "address"),
        ("https://ann:x@example.org/", "header"),
    ],
)
def test_an_address_is_refused_as_those_of_agents_are(url: str, word: str) -> None:
    with pytest.raises(CannotSaveDailyImportError, match=word) as refused:
        every_day(make_set(), url=url)
    assert refused.value.wrong[0][0] == "url"


@pytest.mark.parametrize(
    "headers", [{"Authorization": "Bearer abc"}, {"Authorization": {"env": "EVALWELL_SECRET_KEY"}}]
)
def test_keys_in_headers_come_from_permitted_variables(headers: Any) -> None:
    with pytest.raises(CannotSaveDailyImportError) as refused:
        every_day(make_set(), url="https://example.org/x", headers=headers)
    assert refused.value.wrong[0][0] == "headers"


@pytest.mark.usefixtures("agent_key")
def test_a_permit_that_was_taken_back_counts() -> None:
    with WebServer(Export(b"")) as server:
        headers = {"Authorization": {"env": "AGENT_EXPORT_KEY"}}
        every_day(make_set(), url=server.url, headers=headers)
        with permitting(variables=()):
            assert "permit" in fire().why
        assert not server.asked


# Grading


def graded() -> list[Run]:
    return list(Run.objects.exclude(grades_of=None).order_by("pk"))


def suite_of(**changes: Any) -> Suite:
    suite = make_suite(**changes)
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})
    return suite


def sent_by_agents(target: ConversationSet) -> ConversationImport:
    """Import two conversations as if agents had sent them."""
    count = target.imports.count()
    brought = imported([row_of(f"{count}-{n}") for n in range(2)], target)
    brought.inbox = SpanInbox.objects.get(conversation_set=target)
    brought.save(update_fields=["inbox"])
    return brought


def test_what_agents_send_is_graded_each_day_once_without_any_file() -> None:
    target, suite = make_set(), suite_of()
    with pytest.raises(CannotSaveDailyImportError, match="agents send"):
        every_day(target, suite=suite)
    save_inbox(target, is_open=True, quiet_minutes=10, by=owner())
    sent_by_agents(target)  # before the daily import was made

    row = every_day(target, suite=suite)
    brought = sent_by_agents(target)
    first, second = fire(), fire(NIGHT + DAY)

    assert list(problems_of(row)) == []
    assert list(first.imports.all()) == [brought]
    assert [run.total for run in graded()] == [2]
    assert (second.imports.count(), "nothing new" in second.why) == (0, True)


def test_a_sample_of_what_is_new_is_graded_in_one_group_within_one_limit(folder: Path) -> None:
    suite = suite_of()
    every_day(make_set(), folder, suite, count=4, max_cost_usd=Decimal(6))
    put(folder, "a.jsonl", rows_of(6))
    due = fire()
    [run] = graded()
    assert (run.total, run.passed, run.max_cost_usd, run.created_by) == (4, 4, 6, owner())
    assert due.topics == {"": [0, 4]}

    put(folder, "b.jsonl", rows_of(8))
    put(folder, "c.jsonl", rows_of(20))
    due = fire(NIGHT + DAY)
    runs = graded()[1:]
    assert sum(run.total for run in runs) == 4  # of the 14 new ones
    assert sum(run.max_cost_usd or 0 for run in runs) <= 6
    assert len({run.group for run in runs}) == 1
    assert runs_of([due])[due.pk] == runs
    assert due.topics == {"": [0, 4]}


def test_why_nothing_is_graded_is_noted_and_the_import_stays(folder: Path) -> None:
    suite = suite_of()
    every_day(make_set(), folder, suite)
    put(folder, "a.jsonl", rows_of(2))
    Assertion.objects.filter(suite=suite).delete()
    assert fire().why
    assert count() == 2
    suite.delete()
    put(folder, "b.jsonl", rows_of(3))
    assert "suite was deleted" in fire(NIGHT + DAY).why
    assert count() == 3
    assert "suite was deleted" in " ".join(problems_of(DailyImport.objects.get()))


def test_it_runs_as_who_saved_it_and_stops_when_they_may_no_longer(folder: Path) -> None:
    every_day(make_set(), folder, suite_of())
    put(folder, "a.jsonl", rows_of(2))
    owner("add_conversationset")
    assert "may no longer" in fire().why
    User.objects.all().delete()
    assert "was deleted" in fire(NIGHT + DAY).why
    assert (graded(), count()) == ([], 0)


def test_grading_takes_the_right_to_start_runs(folder: Path) -> None:
    person = owner("add_conversationset")
    with pytest.raises(CannotSaveDailyImportError) as refused:
        every_day(make_set(), folder, suite_of(), by=person)
    assert refused.value.wrong[0][0] == "suite"


# Once each time


def test_times_that_passed_without_a_worker_count_once(folder: Path) -> None:
    every_day(make_set(), folder)
    note_due_imports(NIGHT + 5 * DAY)
    note_due_imports(NIGHT + 5 * DAY)
    assert DueImport.objects.count() == 1
    assert DailyImport.objects.get().next_at == NIGHT + 6 * DAY


def test_a_time_is_skipped_while_the_one_before_still_imports(folder: Path) -> None:
    every_day(make_set(), folder)
    put(folder, "a.jsonl", rows_of(2))
    note_due_imports(NIGHT)
    work_on_due_imports()
    note_due_imports(NIGHT + DAY)
    skipped = DueImport.objects.latest("due_at")
    assert (skipped.state, bool(skipped.why)) == ("ended", True)
    import_waiting()
    assert has_work()


def test_what_dies_at_any_step_is_done_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every_day(make_set(), folder, suite_of())
    put(folder, "a.jsonl", rows_of(2))
    put(folder, "b.jsonl", [{**row, "id": f"b{row['id']}"} for row in rows_of(3)])
    note_due_imports(NIGHT)

    def die_before(step: str) -> None:
        """Work until a change of the state, which never comes."""

        def settle(*_args: object, **_how: object) -> bool:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(DueImport, "settle", settle)
            with pytest.raises(KeyboardInterrupt):
                work_on_due_imports()
        assert DueImport.objects.get().state == step
        assert not has_work()  # until the time of the dead process is over
        DueImport.objects.update(claimed_until=None)

    die_before("due")
    work_on_due_imports()
    assert files() == ["a.jsonl", "b.jsonl"]
    import_waiting()
    die_before("importing")
    due = fire()
    runs = graded()
    assert sorted(run.total for run in runs) == [2, 3]
    assert (due.state, due.topics, count()) == ("ended", {"": [0, 5]}, 5)


def test_an_unexpected_error_is_noted_and_the_next_time_comes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_day(make_set(), folder)
    put(folder, "a.jsonl", rows_of(2))

    def broken(*_args: object, **_how: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(daily_imports, "_copy_new_files", broken)
        assert "Internal error" in fire().why
    fire(NIGHT + DAY)
    assert count() == 2


# What people do


def test_a_pause_an_import_now_and_the_removal_are_noted(folder: Path) -> None:
    row = every_day(make_set(), folder)
    ann = owner()
    pause(row, is_paused=True, by=ann)
    note_due_imports(NIGHT + DAY)
    assert not DueImport.objects.exists()
    pause(row, is_paused=False, by=ann)
    assert row.next_at is not None
    put(folder, "a.jsonl", rows_of(2))
    import_now(row, by=ann)
    work_on_due_imports()
    import_waiting()
    assert count() == 2
    daily_imports.remove_daily_import(row, by=ann)
    assert (count(), DueImport.objects.count()) == (2, 0)
    texts = list(Activity.objects.filter(user=ann).values_list("text", flat=True))
    for word in ("Imports every day", "Paused", "Continued", "now", "Imported", "Removed"):
        assert sum(word in text for text in texts) == 1, word


def test_saving_again_changes_the_same_row_and_forgets_what_the_old_address_said() -> None:
    target = make_set()
    row = every_day(target, url="https://example.org/a")
    DailyImport.objects.update(validators={"etag": "1", "digest": "x"})
    how: dict[str, Any] = {"folder": "", "headers": {}, "suite": None, "by": owner()}
    assert save_daily_import(target, url="https://example.org/a", **how).validators
    again = save_daily_import(target, url="https://example.org/b", **how)
    assert (again.pk, again.validators) == (row.pk, {})


def test_a_set_is_removed_with_its_daily_import(folder: Path) -> None:
    target = make_set()
    every_day(target, folder, suite_of())
    put(folder, "a.jsonl", rows_of(2))
    fire()
    remove_set(target)
    assert not DueImport.objects.exists()
