"""The recipes of CONTRIBUTING.md, followed on a copy of the tree.

All are followed on the same copy, and one child process runs the tests that they add and name.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = (".git", ".venv", "var", "__pycache__", ".*_cache")
NO_MEMORY = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What someone does who follows a recipe: new files, lines put before others, tests to run.

    `lines` are paths, the text there that new lines precede, and these lines.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[tuple[str, str, str]]
    tests: Sequence[str]


GRADER = Recipe(
    files={
        "tests/engine/graders/test_shouting.py": """\
import pytest

from evals_app.engine.graders.text import Shouts
from tests.engine.graders.makers import view_of


@pytest.mark.parametrize(("reply", "passes"), [("STOP!", True), ("Stop.", False)])
def test_a_reply_in_capitals_shouts(*, reply: str, passes: bool) -> None:
    assert Shouts().grade(view_of(reply)).passed is passes
"""
    },
    lines=[
        (
            "evals_app/engine/graders/text.py",
            "class Contains(",
            '''\
class Shouts(TextGrader):
    """Pass when the whole reply is in capital letters. Score 1 or 0."""

    label: ClassVar[str] = "Reply shouts"
    in_words: ClassVar[str] = "The reply is in capital letters."
    example: ClassVar[dict[str, object]] = {}

    def grade_reply(self, reply: str, view: View) -> Grade:
        if reply.isupper():
            return Grade.hit("The reply is in capital letters.")
        return Grade.miss("The reply is not in capital letters.")


''',
        ),
        (
            "evals_app/engine/graders/__init__.py",
            '    "numeric": Numeric,\n',
            '    "shouts": Shouts,\n',
        ),
        (
            "evals_app/engine/graders/__init__.py",
            "from evals_app.engine.graders.tool_use",
            "from evals_app.engine.graders.text import Shouts\n",
        ),
    ],
    tests=[
        "tests/engine/graders/test_shouting.py",
        "tests/engine/graders/test_table.py",
        "tests/reports/reference/test_checks.py",
        "tests/admin/checks/test_check_inputs.py::test_every_kind_has_inputs[shouts]",
    ],
)

FIELD = Recipe(
    files={
        "tests/admin/suites/test_owners.py": """\
import pytest
from django.test import Client

from evals_app.models import Agent, Suite
from tests.authored import write_suite
from tests.page_form import open_page

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("owner", ["Support", ""])
def test_a_suite_is_added_with_the_field(admin_client: Client, owner: str) -> None:
    write_suite(slug="other")
    agent = Agent.objects.get().pk
    page = open_page(admin_client, "/admin/evals_app/suite/add/")

    saved = page.post(name="New", slug="new", agent=agent, owner=owner)

    assert saved.is_saved, saved.problems
    assert Suite.objects.get(slug="new").to_spec().owner == owner
"""
    },
    lines=[
        (
            "evals_app/engine/suites/suite_spec.py",
            '    description: str = Field(default="", title="Description"',
            """\
    owner: str = Field(
        default="", max_length=100, title="Owner", description="Who answers questions about it."
    )
""",
        ),
        (
            "evals_app/models/authored/suites.py",
            "    tags = models.JSONField(default=list, blank=True)\n    fixtures",
            '    owner = models.CharField(max_length=100, blank=True, default="")\n',
        ),
        ("evals_app/admin/suites/suite_admin.py", '"description"]}),\n', '"owner", '),
    ],
    tests=[
        "tests/admin/suites/test_owners.py",
        "tests/admin/suites/test_suite_admin.py::test_saving_a_suite_as_it_is_changes_nothing",
        "tests/admin/suites/test_suite_admin.py::test_a_new_suite_asks_for_what_it_needs_and_folds_the_rest",
        "tests/models/authored/test_mapping.py",
        "tests/reports/reference/test_files.py",
    ],
)

IMPORTER = Recipe(
    files={
        "evals_app/formats/quiz/__init__.py": '''\
"""The Quiz dialect: a `quiz.yaml` with questions and answers."""

from typing import Any

from evals_app.formats.dialect import Dialect


def _is_likely(_path: str, data: Any) -> bool:
    return isinstance(data, dict) and "quiz" in data


DIALECT = Dialect(
    name="quiz",
    title="Quiz",
    page="coming-from-quiz",
    about="quiz.yaml with questions and answers.",
    sample=(("quiz.yaml", "quiz: Capitals\\nquestions: {Of Italy?: Rome}\\n"),),
    names_agent=False,
    package=__name__,
    files=("quiz.yaml",),
    is_likely=_is_likely,
)
''',
        "evals_app/formats/quiz/reader.py": '''\
"""A quiz becomes a suite, a question a case."""

from collections.abc import Iterator, Sequence
from typing import Any

from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.foreign.draft import Draft, make_draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import Foreign, ReaderContext


class _Quiz(Foreign):
    quiz: str
    questions: dict[str, str]


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read quizzes."""
    for document in documents:
        reading = ForeignFile(document, around)
        quiz = reading.part(_Quiz, ())
        if quiz is not None:
            yield make_draft("suite", "quiz", document, _suite(quiz, agent=around.agent))
        yield reading.remarks("quiz")


def _suite(quiz: _Quiz, *, agent: str | None) -> dict[str, Any]:
    cases = [
        {"name": question, "turns": [{"user": question, "expected": answer}]}
        for question, answer in quiz.questions.items()
    ]
    check = {"type": "contains"}
    head = {"suite": quiz.quiz, "slug": "quiz", "agent": agent}
    return {**head, "assertions": [check], "cases": cases}
''',
        "tests/formats/quiz/test_reader.py": """\
from evals_app.formats.importing import SourceFile, read_files
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.quiz import DIALECT


def test_a_question_becomes_a_case() -> None:
    files = [SourceFile(path, text.encode()) for path, text in DIALECT.sample]

    imported = read_files(files, agent="shop", known=ExistingObjects(agents={"shop": "model"}))

    (case,) = imported.suites[0].spec.cases
    assert case.turns[0].expected == "Rome"
""",
        "docs/coming-from-quiz.md": "# From Quiz\n\nA question becomes a case.\n",
    },
    lines=[
        ("evals_app/formats/dialects.py", "    struere,\n    tables", "    quiz,\n"),
        ("evals_app/formats/dialects.py", "        tau_bench,\n    )", "        quiz,\n"),
        ("pyproject.toml", "tau_bench | waza", "quiz | "),
        (
            "pyproject.toml",
            '    "evals_app.formats.tau_bench",\n    "evals_app.formats.waza"',
            '    "evals_app.formats.quiz",\n',
        ),
        (
            "README.md",
            "| Evolvable |",
            "| Quiz: `quiz.yaml` | [docs/coming-from-quiz.md](docs/coming-from-quiz.md) |\n",
        ),
        ("docs/README.md", "\n## Automate and operate", "32. [From Quiz](coming-from-quiz.md)\n"),
        ("evals_app/reports/reference/files.py", "[Lobu](", "[Quiz](coming-from-quiz.md), "),
        (
            "tests/formats/reading/test_malformed.py",
            '    pytest.param("lobu", None, {"lobu.toml"',
            """\
    pytest.param("quiz", "desk", {"quiz.yaml": {"quiz": "A", "questions": {"B": "C"}}}, id="Quiz"),
""",
        ),
    ],
    tests=[
        "tests/formats/quiz",
        "tests/formats/test_dialects.py",
        "tests/formats/reading/test_malformed.py::test_whatever_a_file_holds_is_read_or_refused_with_its_place[Quiz]",
        "tests/formats/reading/test_malformed.py::test_a_file_that_is_cut_or_spoilt_is_read_or_refused[quiz]",
        "tests/test_docs.py::test_the_page_of_every_dialect_is_named_where_people_look",
        "tests/test_docs.py::test_the_pages_lead_to_each_other",
        "tests/test_architecture.py::test_imports_follow_the_contracts",
    ],
)

PROVIDER_KIND = Recipe(
    lines=[
        (
            "evals_app/engine/network/provider_kinds.py",
            '    "ollama": ApiKind(',
            """\
    "acme": ApiKind(
        label="Acme",
        api="openai",
        base_url="https://api.acme.example/v1",
        key_env="ACME_API_KEY",
    ),
""",
        )
    ],
    tests=[
        "tests/engine/network/test_provider_kinds.py",
        "tests/engine/network/test_key_places.py",
    ],
)

PAGE = Recipe(
    files={
        "evals_app/admin/site/attachments.py": '''\
"""The files that turns show."""

from django.contrib import admin

from evals_app.models import Attachment
from fixtures_app.editing.editor import Editor


@admin.register(Attachment)
class AttachmentAdmin(Editor):
    """Files by their hashes."""

    ordering = ["pk"]
    when_empty = "A turn of a case may show files."
''',
        "tests/admin/site/test_attachments.py": """\
import pytest
from django.test import Client

from evals_app.models import Attachment

pytestmark = pytest.mark.django_db


def test_a_file_is_listed_and_the_side_bar_leads_to_it(admin_client: Client) -> None:
    Attachment.objects.store([b"text"])

    page = admin_client.get("/admin/evals_app/attachment/").content.decode()

    assert Attachment.objects.get().pk in page
    assert "Shown files" in page
""",
    },
    lines=[
        ("evals_app/admin/__init__.py", "    providers,", "    attachments,  # noqa: F401\n"),
        (
            "evals_app/admin/site/navigation.py",
            '        (EvaluationSteps, "rule"',
            '        (Attachment, "attach_file", "Shown files"),\n',
        ),
        (
            "evals_app/admin/site/navigation.py",
            "    ConversationSet,\n    DeletedObject",
            "    Attachment,\n",
        ),
        (
            "tests/test_permissions.py",
            '    **pages("evals_app", "case"),\n',
            '    **pages("evals_app", "attachment"),\n',
        ),
    ],
    tests=[
        "tests/admin/site/test_attachments.py",
        "tests/test_permissions.py::test_every_address_is_in_a_table",
    ],
)

RECIPES = {
    "Add a grader": GRADER,
    "Add a field to suites": FIELD,
    "Add an importer": IMPORTER,
    "Add a provider kind": PROVIDER_KIND,
    "Add an admin page": PAGE,
}


def steps_of(heading: str) -> str:
    """Return what CONTRIBUTING.md says of a recipe."""
    _, _, after = (ROOT / "CONTRIBUTING.md").read_text().partition(f"## {heading} (")
    return after.partition("\n## ")[0]


def test_every_recipe_is_followed() -> None:
    headings = re.findall(r"(?m)^## (Add .+) \(", (ROOT / "CONTRIBUTING.md").read_text())

    assert headings == list(RECIPES)


@pytest.mark.parametrize("heading", RECIPES)
def test_a_recipe_names_every_file_that_it_needs(heading: str) -> None:
    recipe, steps = RECIPES[heading], re.sub(r"\s+", " ", steps_of(heading))
    paths = [*recipe.files, *(path for path, _, _ in recipe.lines)]
    ours = [path for path in paths if not path.startswith("tests/")]

    def is_named(path: str) -> bool:
        name = Path(path).name
        near = [path, f"{Path(path).parent.name}/{name}", f"{Path(path).parent}/"]
        general = re.sub("quiz|attachments", "<name>", path).replace("/site/<", "/<room>/<")
        return any(text in steps for text in (*near, general, f"{Path(general).parent}/", name))

    assert [path for path in ours if not is_named(path)] == []


def follow(recipe: Recipe, tree: Path) -> None:
    for path, content in recipe.files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(content)
    for path, before, lines in recipe.lines:
        file = tree / path
        text = file.read_text()
        assert text.count(before) == 1, f"{path} has {before!r} {text.count(before)} times"
        file.write_text(text.replace(before, lines + before))


@pytest.mark.slow
def test_the_recipes_work(tmp_path: Path) -> None:
    tree = tmp_path / "copy"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for recipe in RECIPES.values():
        follow(recipe, tree)

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tree,
            capture_output=True,
            text=True,
            check=False,
            env=NO_MEMORY | {"EVALWELL_DATA_DIR": str(tmp_path / "data")},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("manage.py", "makemigrations", "evals_app")
    for module, page in (
        ("evals_app.reports.reference.checks", "docs/assertions.md"),
        ("evals_app.reports.reference.files", "docs/files.md"),
        ("tests.messages", "tests/messages.txt"),
    ):
        (tree / page).write_text(run("-m", module))
    tests = [test for recipe in RECIPES.values() for test in recipe.tests]
    run("-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", *tests)
