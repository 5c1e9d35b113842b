import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.library.changes.import_report import ImportReport
from evals_app.management import importing
from evals_app.management.commands import import_evals
from evals_app.management.eval_files import read_paths
from evals_app.models import Agent, Suite
from tests.library.written import AGENT, EVERYTHING

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of eval files, with others that are none; the working directory is above it."""
    evals = tmp_path / "evals"
    (evals / "deep").mkdir(parents=True)
    for file in EVERYTHING:
        (evals / file.path).write_bytes(file.content)
    (evals / AGENT.path).rename(evals / "deep" / AGENT.path)
    (evals / "README.md").write_text("Read me.")
    (evals / "config.yaml").write_text("anything: else\n")
    for hidden in (evals / ".git", evals / "deep" / ".cache", evals / "refunds.files" / "deep"):
        hidden.mkdir(parents=True)
        (hidden / "broken.suite.yaml").write_text("{")
    monkeypatch.chdir(tmp_path)
    return evals


def run(*arguments: object) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("import_evals", *map(str, arguments), stdout=out, stderr=err, no_color=True)
    return out.getvalue(), err.getvalue()


def refused(*arguments: object) -> tuple[str, str]:
    err = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command(
            "import_evals", *map(str, arguments), stdout=StringIO(), stderr=err, no_color=True
        )
    assert caught.value.returncode == 2
    return str(caught.value), err.getvalue()


def test_a_folder_is_imported_with_everything_below_it(folder: Path) -> None:
    tried, _ = run("evals", "--dry-run")
    has_agents = Agent.objects.exists()
    out, err = run("evals")
    again, _ = run("evals")

    assert (tried.partition("\n")[0], has_agents) == ("Would create (7)", False)
    assert out.startswith("Created (7)\n")
    assert err == ""
    assert "  agent        shop\n" in out
    assert "  entity type  order\n" in out
    assert Suite.objects.get().slug == "refunds"
    assert again.startswith("Unchanged (7)\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("exam.csv", "question,answer\nHi,Hello\n"),
        ("exam.tsv", "question\tanswer\nHi, you\tY\nHo, you\tN\n"),
        ("exam.jsonl", '{"question": "Hi", "answer": "x"}\n'),
        ("exam.jsonl", '{"turns": [{"user": "Hi", "assistant": "Hello"}]}\n'),
        ("exam.jsonl", '{"messages": [{"type": "human", "content": "Hi"}], "answer": "x"}\n'),
    ],
    ids=["csv", "tabs", "rows", "pairs", "LangChain"],
)
def test_a_folder_of_tables_alone_is_imported(folder: Path, name: str, text: str) -> None:
    run("evals/deep")
    tables = folder.parent / "tables"
    tables.mkdir()
    (tables / name).write_text(text)
    (tables / "README.md").write_text("Read me.")

    run("tables", "--agent", "shop")

    assert Suite.objects.get().slug == "exam"


def test_tables_beside_eval_files_are_not_imported(folder: Path) -> None:
    (folder / "exam.csv").write_text("question,answer\nHi,Hello\n")

    run("evals")

    assert Suite.objects.get().slug == "refunds"


def test_changes_are_shown_in_groups(folder: Path) -> None:
    run(folder / "deep" / AGENT.path)
    path = folder / "deep" / AGENT.path
    path.write_bytes(path.read_bytes().replace(b"Hello!", b"Hi!"))

    out, _ = run("evals")

    assert out.index("Created (6)") < out.index("Updated (1)\n  agent        shop\n")


def test_every_error_of_every_file_is_shown_with_its_place(folder: Path) -> None:
    (folder / "a.agent.yaml").write_text("agent: A\nslug: a\ndriver: scriptd\n")
    (folder / "b.suite.yaml").write_text("suite: B\nslug: b\nagent: shop\ncases: []\ntrails: 2\n")

    message, err = refused("evals")

    assert message == "2 errors; nothing was imported."
    assert "evals/a.agent.yaml:3:9: driver: " in err
    assert "evals/b.suite.yaml:5:1: trails: " in err
    assert "Did you mean 'trials'?" in err
    assert not Agent.objects.exists()


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        pytest.param(["nowhere"], "There is no file or folder nowhere.", id="missing"),
        pytest.param(["evals/.git"], "1 error; nothing", id="a hidden folder is read if named"),
        pytest.param(["evals/README.md"], "1 error; nothing", id="no eval file"),
        (["evals/refunds.suite.yaml", "--prune"], "--prune archives"),
        pytest.param(["empty"], "There is no eval file in empty", id="nothing in it"),
        pytest.param(["evals", "gone"], "There is no file or folder gone.", id="one of two"),
        pytest.param([""], "One of the paths is empty", id="a variable that is not set"),
    ],
)
def test_paths_that_lead_nowhere_are_refused(folder: Path, paths: list[str], expected: str) -> None:
    (folder.parent / "empty").mkdir()

    message, _ = refused(*paths)

    assert expected in message
    assert not Agent.objects.exists()


def test_what_files_share_is_read_from_the_whole_folder_that_is_named(tmp_path: Path) -> None:
    agent = tmp_path / "all" / "agents" / "a" / "agent.yaml"
    agent.parent.mkdir(parents=True)
    agent.write_text(
        "name: a\nmodel: {provider: openai, name: m}\ninstructions: {inline: Be brief.}\n"
        "evaluations: {metrics: [{type: standard, metric: equality}]}\n"
        "test_cases_file: ../../cases.yaml\n"
    )
    (tmp_path / "all" / "cases.yaml").write_text("- {input: Hi, ground_truth: Hello}\n")

    _, err = refused(str(tmp_path / "all" / "agents"))
    run(str(tmp_path / "all"))

    assert "There is no file" in err
    assert Suite.objects.get().cases.count() == 1


def test_what_a_pattern_means_is_read_from_the_folder_of_the_file(folder: Path) -> None:
    (folder / "promptfooconfig.yaml").write_text(
        "prompts: ['Say {{a}}']\nproviders: [openai:gpt-5]\ntests: file://tests/*.yaml\n"
    )
    (folder / "tests").mkdir()
    for name in ("a", "b"):
        (folder / "tests" / f"{name}.yaml").write_text(
            "- {vars: {a: hello}, assert: [{type: contains, value: hello}]}\n"
        )

    run("evals/promptfooconfig.yaml")

    assert Suite.objects.get().cases.count() == 2


def test_a_file_that_is_named_twice_is_read_once(folder: Path) -> None:
    paths = [file.path for file in read_paths(["evals", "evals/deep", "evals/refunds.suite.yaml"])]

    assert len(paths) == len(set(paths)) == 5
    assert "evals/deep/shop.agent.yaml" in paths


def test_warnings_are_shown_beside_the_result(folder: Path) -> None:
    path = folder / "quiet.suite.yaml"
    path.write_text("suite: Q\nslug: q\nagent: shop\ncases:\n  - {name: a, turns: [{user: Hi}]}\n")

    out, err = run("evals", "--accept-no-checks")

    assert "suite        q" in out
    assert "warning: evals/quiet.suite.yaml:5:" in err


def test_a_dialect_can_be_forced(folder: Path) -> None:
    message, err = refused("evals/refunds.suite.yaml", "evals/deep", "--format", "struere")

    assert "nothing was imported" in message
    assert "pass_rule" in err


# What a dry run tells


def test_a_dry_run_tells_what_would_be_different(folder: Path) -> None:
    run("evals")
    path = folder / "deep" / AGENT.path
    path.write_bytes(path.read_bytes().replace(b"Hello!", b"Hi!").replace(b"delay_ms: 5", b""))

    out, _ = run("evals", "--dry-run")

    assert out.startswith(
        "Would update (1)\n"
        "  agent        shop\n"
        '      rules[1].reply: "Hello!" -> "Hi!"\n'
        "      rules[1].delay_ms: 5 -> nothing\n"
        "Unchanged (6)\n"
    )


def test_no_more_than_twenty_differences_of_an_object_are_shown(folder: Path) -> None:
    def write(reply: str) -> None:
        rules = "".join(f"  - {{when: r{number}, reply: {reply}}}\n" for number in range(23))
        path = folder / "many.agent.yaml"
        path.write_text(f"agent: Many\nslug: many\ndriver: scripted\nrules:\n{rules}")

    write("before")
    run("evals/many.agent.yaml")
    write("after")

    out, _ = run("evals/many.agent.yaml", "--dry-run")

    assert out.count("->") == 20
    assert out.endswith('rules[19].reply: "before" -> "after"\n      and 3 more\n')


# What is lost, and files of other systems


def test_what_is_lost_is_shown_under_a_heading(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = Problem("evals/a.yaml", 3, 5, "tests[0].x", "", "There is no place for it.", "loss")
    report = ImportReport(losses=[lost, lost])
    monkeypatch.setattr(importing, "import_files", lambda *_, **__: report)

    _, err = run("evals")

    line = "lost: evals/a.yaml:3:5: tests[0].x: There is no place for it.\n"
    assert err == f"Lost (2)\n{line}{line}"


def test_what_is_lost_is_not_shown_while_there_are_errors(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise FormatError(
            [
                Problem("a.yaml", 1, 1, "", "", "No place.", "loss"),
                Problem("a.yaml", 2, 1, "", "", "Wrong.", "error"),
                Problem("a.yaml", 3, 1, "", "", "Odd.", "warning"),
            ]
        )

    monkeypatch.setattr(importing, "import_files", refuse)

    message, err = refused("evals")

    assert message == "1 error; nothing was imported."
    assert err == "a.yaml:2:1: Wrong.\nwarning: a.yaml:3:1: Odd.\n"


def test_the_named_agent_may_come_with_the_same_import_and_else_must_exist(folder: Path) -> None:
    message, err = refused("evals", "--agent", "shpo")
    has_agents = Agent.objects.exists()
    out, _ = run("evals", "--agent", "shop")

    assert message == "1 error; nothing was imported."
    assert ("Did you mean 'shop'?" in err, has_agents) == (True, False)
    assert out.startswith("Created (7)\n")


def test_what_is_handed_on_to_readers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_NAME", "Corner shop")
    given: dict[str, Any] = {}

    def note(*_: object, **options: Any) -> ImportReport:
        given.update(options)
        return ImportReport()

    monkeypatch.setattr(importing, "import_files", note)

    run("evals", "--agent", "shop", "--allow-env", "SHOP_NAME")

    assert given["agent"] == "shop"
    assert given["environment"] == {"SHOP_NAME": "Corner shop"}


def test_unknown_columns_are_ignored_or_mapped_as_options_say(folder: Path) -> None:
    run("evals")
    (folder / "exam.csv").write_text("Frage,contains,Owner\nHi,Hello,Ana\n")
    table = ("evals/exam.csv", "--agent", "shop")

    message, _ = refused(*table)
    assert "--ignore-column" in message
    assert "--map-column" in message

    assert "=" in refused(*table, "--map-column", "Frage")[0]
    assert "'Owner'" in refused(*table, "--ignore-column", "Onwer")[1]

    run(*table, "--ignore-column", "Owner", "--map-column", "Frage=question")
    assert Suite.objects.get(slug="exam").cases.get().turns.get().user == "Hi"


# Suites that vanished


def archived() -> list[str]:
    return list(Suite.objects.exclude(archived_at=None).values_list("slug", flat=True))


def write_suite_file(path: Path) -> None:
    slug = path.name.split(".", maxsplit=1)[0]
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"suite: {slug}\nslug: {slug}\nagent: shop\n"
        "cases: [{name: a, turns: [{user: Hi, assertions: [{type: contains, value: a}]}]}]\n"
    )


def test_a_suite_that_vanished_from_its_folder_is_archived_when_asked(folder: Path) -> None:
    write_suite_file(folder / "gone.suite.yaml")
    run("evals")
    (folder / "gone.suite.yaml").unlink()

    first, _ = run("evals")
    tried, _ = run("evals", "--prune", "--dry-run")
    before = archived()
    second, _ = run("evals", "--prune")
    third, _ = run("evals", "--prune")

    assert "rchive" not in first
    assert tried.startswith("Would archive (1)\n  suite        gone\n")
    assert before == []
    assert second.startswith("Archived (1)\n  suite        gone\nUnchanged (7)\n")
    assert archived() == ["gone"]
    assert "rchived" not in third


def test_a_suite_whose_file_is_still_there_is_not_archived(folder: Path) -> None:
    run("evals")
    (folder / "hello.csv").write_text("case,user,contains\nHello,Hi,Hello\n")
    write_suite_file(folder / "renamed.suite.yaml")
    run("evals/hello.csv", "evals/renamed.suite.yaml", "--agent", "shop")
    text = (folder / "renamed.suite.yaml").read_text()
    (folder / "renamed.suite.yaml").write_text(text.replace("slug: renamed", "slug: better"))

    run("evals", "--prune")

    assert "hello" in Suite.objects.current().values_list("slug", flat=True)
    assert archived() == ["renamed"]


def test_only_suites_from_the_same_folder_are_archived(folder: Path) -> None:
    run("evals")
    for path in ("other/elsewhere", "evals2/beside", "evals/deep/moved", "evals/kept"):
        write_suite_file(folder.parent / f"{path}.suite.yaml")
    run("evals", "other", "evals2")
    Suite.objects.create(slug="by-hand", name="By hand", agent=Agent.objects.get(slug="shop"))
    (folder / "deep" / "moved.suite.yaml").rename(folder / "moved.suite.yaml")
    for path in ("other/elsewhere", "evals2/beside"):
        (folder.parent / f"{path}.suite.yaml").unlink()

    run("evals", "--prune")

    assert archived() == []


def test_folders_above_and_below_know_the_same_suites(folder: Path) -> None:
    write_suite_file(folder / "deep" / "gone.suite.yaml")
    write_suite_file(folder / "also-gone.suite.yaml")
    run("evals")
    (folder / "deep" / "gone.suite.yaml").unlink()
    (folder / "also-gone.suite.yaml").unlink()

    run("evals/deep", "--prune")
    below = archived()
    run(folder.parent, "--prune")

    assert below == ["gone"]
    assert sorted(archived()) == ["also-gone", "gone"]


def test_several_folders_are_pruned_at_once(folder: Path) -> None:
    for name in ("one", "two"):
        write_suite_file(folder.parent / name / f"of-{name}.suite.yaml")
        write_suite_file(folder.parent / name / f"kept-{name}.suite.yaml")
    run("evals", "one", "two")
    for name in ("one", "two"):
        (folder.parent / name / f"of-{name}.suite.yaml").unlink()

    run("one", "two", "--prune")

    assert sorted(archived()) == ["of-one", "of-two"]


def test_a_suite_that_comes_back_is_restored(folder: Path) -> None:
    write_suite_file(folder / "gone.suite.yaml")
    run("evals")
    (folder / "gone.suite.yaml").unlink()
    run("evals", "--prune")
    write_suite_file(folder / "gone.suite.yaml")

    tried, _ = run("evals", "--dry-run")
    before = archived()
    out, _ = run("evals", "--prune")

    assert "Would update (1)\n  suite        gone\n      archived: true -> false\n" in tried
    assert before == ["gone"]
    assert out.startswith("Updated (1)\n  suite        gone\n")
    assert archived() == []


def test_with_an_error_nothing_is_archived(folder: Path) -> None:
    write_suite_file(folder / "gone.suite.yaml")
    run("evals")
    (folder / "gone.suite.yaml").write_text("{")

    refused("evals", "--prune")

    assert archived() == []


# Watching


def watched(*steps: Callable[[], object], paths: Sequence[str] = ("evals",)) -> tuple[str, str]:
    """Import and watch; each step happens in one of the pauses, then somebody presses Ctrl-C."""
    waiting = list(steps)

    def pause() -> None:
        if not waiting:
            raise KeyboardInterrupt
        waiting.pop(0)()

    out, err = StringIO(), StringIO()
    command = import_evals.Command(stdout=out, stderr=err, no_color=True, pause=pause)
    call_command(command, *paths, watch=True)
    return out.getvalue(), err.getvalue()


def nothing() -> None:
    """Let a pause pass."""


WAITING = "Waiting for the next change; Ctrl-C ends it.\n"


def test_watching_imports_again_when_a_file_was_saved(folder: Path) -> None:
    path = folder / "deep" / AGENT.path

    def save() -> None:
        path.write_bytes(path.read_bytes().replace(b"Hello!", b"Hi there!"))

    out, err = watched(nothing, save, nothing, nothing)

    first, second, rest = out.split(WAITING)
    assert first.startswith("Created (7)\n")
    assert second == "Updated (1)\n  agent        shop\nUnchanged (6)\n"
    assert (rest, err) == ("", "")
    assert Agent.objects.get(slug="shop").connection["rules"][1]["reply"] == "Hi there!"


def test_several_saves_in_a_row_are_imported_once(folder: Path) -> None:
    saves = [partial(write_suite_file, folder / f"new-{n}.suite.yaml") for n in range(3)]

    out, _ = watched(*saves, nothing, nothing)

    assert out.count(WAITING) == 2
    assert "Created (3)\n" in out


def test_a_wrong_file_is_shown_and_the_next_save_is_waited_for(folder: Path) -> None:
    path = folder / "new.suite.yaml"

    out, err = watched(
        lambda: path.write_text("suite: New\nslig: new\n"),
        nothing,
        lambda: write_suite_file(path),
        nothing,
        nothing,
    )

    assert "evals/new.suite.yaml:2:1: slig: " in err
    assert "; nothing was imported.\n" in err
    assert out.count(WAITING) == 3
    assert "Created (1)\n  suite        new\n" in out


def test_a_file_that_is_wrong_from_the_start_is_waited_for_too(folder: Path) -> None:
    path = folder / "new.suite.yaml"
    path.write_text("{")

    out, err = watched(lambda: write_suite_file(path), nothing, nothing)

    assert "evals/new.suite.yaml:" in err
    assert "Created (8)\n" in out


def test_a_file_that_goes_is_a_change_and_may_be_the_last_one(folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "one")

    out, err = watched(
        lambda: shutil.rmtree("one"),
        nothing,
        lambda: shutil.copytree("evals", "one"),
        nothing,
        nothing,
        paths=["one"],
    )

    assert err == "There is no file or folder one.\n"
    assert out.count(WAITING) == 3


def test_what_a_suite_names_beside_itself_is_watched_too(folder: Path) -> None:
    run("evals")
    path = folder / "shows.suite.yaml"
    path.write_text(
        "suite: Shows\nslug: shows\nagent: shop\ncases:\n  - name: a\n    turns:\n"
        "      - {user: Look, files: [note.txt], assertions: [{type: contains, value: a}]}\n"
    )
    (folder / "note.txt").write_text("before")

    out, err = watched(
        lambda: (folder / "note.txt").write_text("after that"),
        nothing,
        (folder / "note.txt").unlink,
        nothing,
        lambda: (folder / "note.txt").write_text("again"),
        nothing,
        nothing,
        paths=[str(path)],
    )

    assert out.count("Updated (1)\n  suite  shows\n") == 2
    assert "There is no file note.txt" in err


def test_what_is_no_eval_file_is_not_watched(folder: Path) -> None:
    out, _ = watched(
        lambda: (folder / "README.md").write_text("Changed."),
        lambda: (folder / ".git" / "broken.suite.yaml").write_text("Changed."),
        nothing,
        nothing,
    )

    assert out.count(WAITING) == 1


def test_watching_a_path_that_does_not_exist_ends_at_once(folder: Path) -> None:
    with pytest.raises(CommandError, match="There is no file or folder evls"):
        watched(nothing, paths=["evls"])


@pytest.mark.parametrize("named", ["evals", b"evals/caf\xe9.suite.yaml", b"evals/gone\xff.yaml"])
def test_a_file_name_that_is_not_utf_8_is_refused_in_words(
    folder: Path, named: str | bytes
) -> None:
    (folder / os.fsdecode(b"caf\xe9.suite.yaml")).write_bytes(b"suite: A\n")

    message, _ = refused(os.fsdecode(named))

    assert "not UTF-8" in message
    assert message.isascii()


def test_what_somebody_edited_on_the_site_is_kept_until_it_may_be_replaced(folder: Path) -> None:
    run("evals")
    Suite.objects.update(description="Mine")

    tried, _ = refused("evals", "--dry-run")
    message, _ = refused("evals")
    assert "suite 'refunds'" in tried
    assert "--replace" in message
    assert Suite.objects.get().description == "Mine"

    run("evals", "--replace")
    assert Suite.objects.get().description != "Mine"


def test_watching_goes_on_beside_an_edit_on_the_site(folder: Path) -> None:
    path = folder / "deep" / AGENT.path

    def edit_and_save() -> None:
        Agent.objects.filter(slug="shop").update(description="Mine")
        path.write_bytes(path.read_bytes().replace(b"Hello!", b"Hi there!"))

    out, err = watched(nothing, edit_and_save, nothing, nothing)

    assert out.count(WAITING) == 2
    assert "agent 'shop'" in err
    assert Agent.objects.get(slug="shop").description == "Mine"


def test_an_import_is_noted_in_the_name_of_a_user(folder: Path) -> None:
    User.objects.create_user("ada")

    message, _ = refused("evals", "--user", "adda")
    run("evals", "--user", "ada")

    assert "'ada'" in message
    assert {entry.user.get_username() for entry in LogEntry.objects.all()} == {"ada"}


HOLODECK = """\
name: helper
model: {provider: openai, name: gpt-5-5, api_key: "${OPENAI_API_KEY}"}
instructions: {inline: "Answer for ${REGION_OF_TESTS}, as ${PAGER_OF_TESTS} says."}
test_cases: [{input: hi, ground_truth: hello}]
evaluations: {metrics: [{type: standard, metric: bleu, threshold: 0.5}]}
"""


def test_the_environment_reaches_an_agent_only_by_variables_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REGION_OF_TESTS", "PAGER_OF_TESTS"):
        monkeypatch.setenv(name, f"value of {name}")
    file = tmp_path / "agent.yaml"
    file.write_text(HOLODECK)

    _, problems = refused(file, "--allow-env", "REGION_OF_TESTS")
    assert not Agent.objects.exists()
    variables = ("--allow-env", "REGION_OF_TESTS", "--var", "PAGER_OF_TESTS=the guide")
    run(file, *variables, "--accept-no-checks")

    assert "PAGER_OF_TESTS" in problems
    assert "value of" not in problems
    prompt = Agent.objects.get().system_prompt
    assert "value of REGION_OF_TESTS" in prompt
    assert "the guide" in prompt
    assert "value of PAGER" not in prompt


def test_a_suite_in_which_no_case_checks_anything_needs_an_explicit_yes(tmp_path: Path) -> None:
    Agent.objects.create(slug="echo", name="Echo", driver="scripted")
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "a", "owner": "Ann"}\n{"question": "b", "owner": "Ann"}\n')

    error, _ = refused(rows, "--agent", "echo")
    tried, _ = refused(rows, "--agent", "echo", "--dry-run")
    assert "rows" in error
    assert "--accept-no-checks" in error
    assert tried == error
    assert not Suite.objects.exists()

    _, err = run(rows, "--agent", "echo", "--accept-no-checks")
    assert "None of the 2 cases" in err
    assert "owner" in err
    assert Suite.objects.get().cases.count() == 2


def test_a_project_of_evals_is_one_suite_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Agent.objects.create(slug="shop", name="Shop", driver="scripted")
    monkeypatch.chdir(tmp_path)
    evals = tmp_path / "agents" / "shop" / "evals"
    evals.mkdir(parents=True)
    turns = "turns: [{content: Hi, assert: [{type: contains, value: Hello there}]}]\n"
    for name, trials in (("b", 3), ("c", 5)):
        (evals / f"{name}.yaml").write_text(f"name: {name}\ntrials: {trials}\n{turns}")

    first, _ = run(".", "--as-one-suite")
    (evals / "a.yaml").write_text(f"name: a\n{turns}")
    run(".", "--as-one-suite")
    again, _ = run(".", "--as-one-suite")

    assert first == "Created (1)\n  suite  shop\n"
    assert again == "Unchanged (1)\n  suite  shop\n"
    suite = Suite.objects.get()
    assert list(suite.cases.order_by("position").values_list("name", "trials")) == [
        *(("a", None), ("b", None), ("c", 5))
    ]


def test_a_file_beside_an_eval_file_is_found_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Agent.objects.create(slug="shop", name="Shop", driver="scripted")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exam.csv").write_text("question,expected\nHow many?,Five of them\n")
    (tmp_path / "exam.evalwell.yaml").write_text("agent: shop\ntrials: 4\n")

    run("exam.csv")
    again, _ = run(".")

    assert Suite.objects.get().trials == 4
    assert again.startswith("Unchanged (1)")
