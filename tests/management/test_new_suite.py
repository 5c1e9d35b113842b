import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import SourceFile, read_files
from evals_app.library.importing.file_import import import_files
from evals_app.management.starters import fixture_starter, suite_starter
from tests.library.written import AGENT, MODEL_AGENT

pytestmark = pytest.mark.django_db

# What is switched off begins as YAML does; what is explained, as sentences do.
SWITCHED_OFF = re.compile(r"(?m)^( *)# ( *)(?=- |[a-z_]+:)")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=err, no_color=True)
    return out.getvalue(), err.getvalue()


def refused(*arguments: object) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert caught.value.returncode == 2
    return str(caught.value)


def test_a_new_suite_is_imported_as_it_is_once_its_agent_exists(folder: Path) -> None:
    import_files([AGENT, MODEL_AGENT])

    out, err = run("new_suite", "refund-flow", "--agent", "shop", "--dir", "evals")

    assert out.startswith("evals/refund-flow.suite.yaml is written.")
    assert err == ""
    imported, warnings = run("import_evals", "evals")
    assert imported == "Created (1)\n  suite  refund-flow\n"
    assert warnings == ""


def test_a_new_suite_tests_the_only_agent_there_is(folder: Path) -> None:
    import_files([AGENT])

    _, err = run("new_suite", "greetings")

    assert err == ""
    assert "\nagent: shop\n" in (folder / "greetings.suite.yaml").read_text()


def test_an_agent_that_is_still_to_come_is_shown_to_be_missing() -> None:
    import_files([AGENT])

    _, err = run("new_suite", "greetings", "--agent", "shopp")

    assert err == "warning: There is no agent 'shopp' yet. Did you mean 'shop'?\n"


def test_what_is_switched_off_in_a_new_suite_is_right_too() -> None:
    text = SWITCHED_OFF.sub(r"\1\2", suite_starter("a", agent="shop"))
    data = fixture_starter("shop-data")

    imported = read_files(
        [
            SourceFile("a.suite.yaml", text.encode()),
            SourceFile("shop-data.fixture.yaml", data.encode()),
        ],
        known=ExistingObjects(agents={"shop": "model"}),
    )

    (suite,) = imported.suites
    assert suite.spec.fixtures == ["shop-data"]
    assert [check.type for check in suite.spec.cases[1].final_assertions] == ["llm_judge"]
    assert len(suite.spec.cases[1].turns[1].assertions or ()) == 2
    assert suite.spec.assertions
    assert suite.spec.gates.max_cost_usd
    assert suite.spec.cases[1].limits.max_tool_calls == 3


def test_a_new_fixture_is_imported_as_it_is(folder: Path) -> None:
    out, err = run("new_fixture", "orders", "--dir", folder / "data")

    assert out.startswith("data/orders.fixture.yaml is written.")
    assert err == ""
    imported, warnings = run("import_evals", "data")
    assert "  test data    orders\n" in imported
    assert warnings == ""


def test_what_is_switched_off_in_a_new_fixture_is_right_too() -> None:
    text = SWITCHED_OFF.sub(r"\1\2", fixture_starter("orders"))

    (fixture,) = read_files([SourceFile("orders.fixture.yaml", text.encode())]).fixtures

    assert [entity.status for entity in fixture.spec.entities] == ["active", "closed"]


@pytest.mark.parametrize("kind", ["suite", "fixture"])
def test_what_the_file_would_replace_is_named(kind: str) -> None:
    import_files([AGENT])
    run(f"new_{kind}", "orders", "--dir", "one")
    run("import_evals", "one")

    _, err = run(f"new_{kind}", "orders", "--dir", "two")

    assert f"A {kind} 'orders' exists already" in err


@pytest.mark.parametrize("slug", ["no", "123", "1e3", "null", "on", "a" * 100])
def test_a_slug_that_yaml_would_read_as_something_else_stays_a_slug(slug: str) -> None:
    file = SourceFile("x.suite.yaml", suite_starter(slug, agent=slug).encode())

    imported = read_files([file], known=ExistingObjects(agents={slug: "model"}))

    (suite,) = imported.suites
    assert (suite.spec.slug, suite.spec.agent) == (slug, slug)
    assert imported.warnings == []


@pytest.mark.parametrize("command", ["new_suite", "new_fixture"])
@pytest.mark.parametrize(
    ("slug", "hint"),
    [
        pytest.param("Refund Flow", "Did you mean 'refund-flow'?", id="a name"),
        pytest.param("../up", "Did you mean 'up'?", id="a path"),
        pytest.param("???", "for example refund-flow.", id="nothing near"),
    ],
)
def test_what_is_no_slug_is_explained(folder: Path, command: str, slug: str, hint: str) -> None:
    message = refused(command, slug)

    assert message.startswith(f"{slug!r} is not a valid slug. A slug has lower-case letters")
    assert message.endswith(hint)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([""], "It has 1 to 100 characters."),
        (["x" * 101], "It has 1 to 100 characters."),
        (["a", "--agent", "My Agent"], "'My Agent' is not a valid slug"),
    ],
)
def test_a_slug_or_an_agent_that_cannot_be_is_refused(
    folder: Path, arguments: list[str], words: str
) -> None:
    assert words in refused("new_suite", *arguments)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "name"), [("new_suite", "a.suite.yaml"), ("new_fixture", "a.fixture.yaml")]
)
def test_a_file_that_exists_is_not_overwritten(folder: Path, command: str, name: str) -> None:
    (folder / name).write_text("mine")

    assert refused(command, "a").startswith(f"{name} exists already")
    assert (folder / name).read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_named(folder: Path) -> None:
    (folder / "file").write_text("in the way")

    assert "file/x/a.suite.yaml cannot be written" in refused("new_suite", "a", "--dir", "file/x")
    assert "file exists already" in refused("new_suite", "a", "--dir", "file")
