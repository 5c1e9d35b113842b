"""What was chosen on the site for suites whose files say nothing of it."""

import pytest
from django.contrib.auth import get_user_model

from evals_app.formats.importing import SourceFile
from evals_app.library.changes.edits import note_edit
from evals_app.library.changes.import_report import ImportReport
from evals_app.library.importing.file_import import EditedError, import_files
from evals_app.models import Suite
from fixtures_app.models import Fixture
from tests.library.written import EVERYTHING, outcomes

pytestmark = pytest.mark.django_db

QUESTIONS = "question,expected\nHow many?,5 pieces\n"
NATIVE = """\
suite: Questions
slug: questions
agent: shop
cases: [{name: a, turns: [{user: How many?, assertions: [{type: contains, value: 5 pieces}]}]}]
"""


def imported(text: str = QUESTIONS, *, replace: bool = False) -> ImportReport:
    path = "questions.csv" if text.startswith("question,") else "questions.suite.yaml"
    return import_files([SourceFile(path, text.encode())], agent="shop", replace=replace)


def choose_on_the_site(**more: str) -> None:
    suite = Suite.objects.get(slug="questions")
    suite.fixtures.set(Fixture.objects.all())
    suite.judge_model = "openai/gpt-5"
    for name, value in more.items():
        setattr(suite, name, value)
    suite.save()
    user = get_user_model().objects.create_user("ada")
    note_edit(suite, user=user, note="Chosen.")


def chosen() -> tuple[list[str], str]:
    suite = Suite.objects.get(slug="questions")
    return [fixture.slug for fixture in suite.fixtures.all()], suite.judge_model


@pytest.mark.parametrize("replace", [False, True])
def test_a_judge_and_fixtures_that_were_chosen_here_survive_imports(*, replace: bool) -> None:
    import_files(EVERYTHING)
    imported()
    choose_on_the_site()

    again = imported(replace=replace)
    assert outcomes(again) == {"suite questions": "unchanged"}
    assert sum("fixtures and judge_model" in guess.message for guess in again.guesses) == 1
    more = imported(f"{QUESTIONS}How much?,7 euros\n", replace=replace)

    assert outcomes(more) == {"suite questions": "updated"}
    assert chosen() == (["orders"], "openai/gpt-5")
    assert outcomes(imported(f"{QUESTIONS}How much?,7 euros\n")) == {"suite questions": "unchanged"}


def test_a_choice_alone_is_no_edit_that_an_import_would_replace() -> None:
    import_files(EVERYTHING)
    imported()
    choose_on_the_site()

    report = imported(f"{QUESTIONS}How much?,7 euros\n")

    assert outcomes(report) == {"suite questions": "updated"}
    assert chosen() == (["orders"], "openai/gpt-5")


def test_another_edit_beside_a_choice_still_is_one() -> None:
    import_files(EVERYTHING)
    imported()
    choose_on_the_site(judge_prompt="Be strict.")

    with pytest.raises(EditedError):
        imported(f"{QUESTIONS}How much?,7 euros\n")
    imported(f"{QUESTIONS}How much?,7 euros\n", replace=True)

    assert chosen() == (["orders"], "openai/gpt-5")
    assert Suite.objects.get(slug="questions").judge_prompt == ""


def test_what_a_file_of_our_own_does_not_say_is_not_there() -> None:
    import_files(EVERYTHING)
    imported(NATIVE)
    choose_on_the_site()

    with pytest.raises(EditedError):
        imported(NATIVE)
    imported(NATIVE, replace=True)

    assert chosen() == ([], "")
