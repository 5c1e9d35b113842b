"""What somebody edited since its last import is not replaced unseen, and imports leave a trace."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from evals_app.formats.importing import SourceFile
from evals_app.library.importing.file_import import EditedError, import_files
from evals_app.library.importing.rights import Rights
from evals_app.library.saving import save_agent
from evals_app.models import Agent, Case, Provider, Suite
from evals_app.models.people.activity import COMMAND_LINE
from fixtures_app.models import EntityType, Fixture
from tests.engine.makers import make_agent
from tests.library.written import AGENT, EVERYTHING, FIXTURE, PROVIDER, SUITE, outcomes, written
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

OTHER_AGENT = SourceFile(AGENT.path, AGENT.content.replace(b"Hello!", b"Good day!"))
AGENT_PAGE = "/admin/evals_app/agent/{}/change/"


def edit_in_the_form(user: User, slug: str = "shop", **changes: str) -> None:
    """Save an agent on its page, as the browser would."""
    client = Client()
    client.force_login(user)
    page = open_page(client, AGENT_PAGE.format(Agent.objects.get(slug=slug).pk))
    assert page.post(**changes).is_saved


@pytest.fixture
def ada() -> User:
    return User.objects.create_superuser("ada")


def test_an_edit_is_not_replaced_unless_somebody_says_so(ada: User) -> None:
    import_files([AGENT])
    edit_in_the_form(ada, description="Mine")

    tried = import_files([OTHER_AGENT], dry_run=True)
    with pytest.raises(EditedError, match="ada"):
        import_files([OTHER_AGENT])
    assert Agent.objects.get().description == "Mine"

    (change,) = tried.replacing_edits
    assert change.edit is not None
    assert change.edit.by == "ada"
    assert change.edit.at is not None
    assert timezone.now() - change.edit.at < timedelta(minutes=10)
    assert "description" in {difference.keys for difference in change.differences}

    assert outcomes(import_files([OTHER_AGENT], replace=True)) == {"agent shop": "updated"}
    assert import_files([AGENT]).replacing_edits == []


def test_even_the_file_of_the_last_import_does_not_take_an_edit_back(ada: User) -> None:
    import_files([AGENT])
    edit_in_the_form(ada, description="Mine")

    with pytest.raises(EditedError):
        import_files([AGENT])


def test_a_form_saved_without_a_change_is_no_edit(ada: User) -> None:
    import_files([AGENT])
    edit_in_the_form(ada)

    assert outcomes(import_files([OTHER_AGENT])) == {"agent shop": "updated"}


def test_an_edit_that_comes_back_in_a_file_is_none_any_more(ada: User) -> None:
    import_files([AGENT])
    edit_in_the_form(ada, description="Mine")
    taken_over = SourceFile(AGENT.path, AGENT.content + b"description: Mine\n")

    assert outcomes(import_files([taken_over])) == {"agent shop": "unchanged"}
    assert outcomes(import_files([OTHER_AGENT])) == {"agent shop": "updated"}


EDITS: list[tuple[Any, dict[str, Any]]] = [
    (Suite, {"description": "Mine"}),
    (Case, {"description": "Mine"}),
    (Provider, {"max_concurrency": 7}),
    (Fixture, {"description": "Mine"}),
    (EntityType, {"schema": {"type": "object"}}),
]


@pytest.mark.parametrize(
    ("model", "columns"), EDITS, ids=lambda model: getattr(model, "__name__", "")
)
def test_an_edit_of_every_kind_is_noticed(model: Any, columns: dict[str, Any]) -> None:
    files = [*EVERYTHING, PROVIDER]
    import_files(files)
    first = model.objects.filter(pk__in=model.objects.exclude(pk=None).order_by("-pk")[:1])
    first.update(**columns)

    with pytest.raises(EditedError):
        import_files(files)


def test_who_edited_a_case_edited_its_suite(ada: User) -> None:
    import_files(EVERYTHING)
    case = Case.objects.order_by("pk")[0]
    LogEntry.objects.create(
        user=ada, action_flag=CHANGE, object_id=str(case.pk), content_type=content_type(Case)
    )
    Case.objects.filter(pk=case.pk).update(description="Mine")

    (change,) = import_files(EVERYTHING, dry_run=True).replacing_edits

    assert (change.kind, change.edit and change.edit.by) == ("suite", "ada")


def content_type(model: type[Model]) -> ContentType:
    return ContentType.objects.get_for_model(model)


# Rows that no import has marked


def test_what_somebody_made_by_hand_is_not_replaced_unseen(ada: User) -> None:
    save_agent(make_agent(slug="shop"))
    row = Agent.objects.get()
    LogEntry.objects.create(
        user=ada, action_flag=ADDITION, object_id=str(row.pk), content_type=content_type(Agent)
    )

    with pytest.raises(EditedError, match="ada"):
        import_files([AGENT])


def test_what_was_imported_before_there_were_marks_is_replaced() -> None:
    import_files([AGENT])
    Agent.objects.update(imported_digest="", imported_at=None)
    LogEntry.objects.all().delete()  # nor did imports leave entries then

    assert outcomes(import_files([OTHER_AGENT])) == {"agent shop": "updated"}


# The history


def test_an_import_leaves_an_entry_for_each_object_that_it_writes(ada: User) -> None:
    import_files(EVERYTHING, rights=Rights.of(ada))
    import_files([*EVERYTHING[1:], OTHER_AGENT], rights=Rights.of(ada))

    entries = LogEntry.objects.filter(user=ada)
    assert entries.filter(action_flag=ADDITION).count() == 7
    (changed,) = entries.filter(action_flag=CHANGE)
    assert (changed.object_repr, AGENT.path in changed.change_message) == ("Shop", True)


def test_the_history_names_the_cases_that_an_import_added_changed_and_deleted(ada: User) -> None:
    def suite(**messages: str) -> SourceFile:
        cases = "".join(
            f"- name: {name}\n  turns: [{{user: {text}, assertions: [{{type: contains, value: x}}]}}]\n"
            for name, text in messages.items()
        )
        return written("s.suite.yaml", f"suite: S\nslug: s\nagent: shop\ncases:\n{cases}")

    import_files([AGENT, suite(Same="a", Other="b", Gone="c")], rights=Rights.of(ada))
    gone = Case.objects.get(name="Gone").pk
    import_files([suite(Same="a", Other="x", New="d")], rights=Rights.of(ada))

    of_suite = LogEntry.objects.filter(object_repr="S").order_by("-pk")[0].change_message
    assert [of_suite.index(name) for name in ("“New”", "“Other”", "“Gone”")]
    assert "“Same”" not in of_suite
    of_cases = LogEntry.objects.filter(content_type__model="case", user=ada)
    assert dict(of_cases.values_list("object_repr", "action_flag")) == {
        "New": ADDITION,
        "Other": CHANGE,
        "Gone": DELETION,
    }
    assert of_cases.get(object_repr="Gone").object_id == str(gone)


def test_the_history_of_an_object_shows_its_imports(ada: User) -> None:
    import_files([*EVERYTHING], rights=Rights.of(ada))
    client = Client()
    client.force_login(ada)

    page = client.get(f"/admin/evals_app/suite/{Suite.objects.get().pk}/history/")

    assert SUITE.path in page.content.decode()


def test_nobody_in_particular_cannot_sign_in() -> None:
    import_files([FIXTURE])
    import_files([AGENT])

    nobody = User.objects.get(username=COMMAND_LINE)
    assert not nobody.is_active
    assert not nobody.has_usable_password()
    assert LogEntry.objects.filter(user=nobody).count() == 4
