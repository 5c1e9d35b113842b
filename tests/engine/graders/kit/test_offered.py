"""Checks of plug-ins: like ours where they can be used, and named where they cannot."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.test import Client
from pydantic import ValidationError

from evals_app.engine.basics.plugins import find_plugins
from evals_app.engine.graders import GRADERS
from evals_app.engine.graders.kit.offered import GraderTable
from evals_app.engine.graders.kit.plugin import Grade, PlainGrader, TextGrader, View
from evals_app.engine.suites.assertion_spec import AssertionSpec
from evals_app.reports.reference.checks import reference_of
from evals_app.reports.reference.spec_schema import file_schemas
from tests.offered import Offer

ROOT = Path(__file__).resolve().parents[4]
PATHS = [str(ROOT), str(ROOT / "evals_app" / "python")]
PACKAGE = ROOT / "examples" / "plugin-package"


class Loud(TextGrader):
    """Pass when the reply is loud."""

    label: ClassVar[str] = "Loud"
    in_words: ClassVar[str] = "The reply has capitals."
    example: ClassVar[dict[str, object]] = {}

    def grade_reply(self, reply: str, view: View) -> Grade:
        return Grade(1.0, True, "Loud.")  # noqa: FBT003


class Nameless(PlainGrader):
    """Has nothing that people could read."""


class Picky(Loud):
    """Its example is not valid."""

    example: ClassVar[dict[str, object]] = {"volume": 3}


def test_a_check_of_a_plug_in_is_one_of_all_checks(offer: Offer) -> None:
    offer("checks", loud=f"{__name__}:Loud")

    check = AssertionSpec.model_validate({"type": "loud", "weight": 2})

    assert isinstance(check.grader, TextGrader)
    assert (list(GRADERS)[-1], len(GRADERS)) == ("loud", len(list(GRADERS)))
    assert GRADERS.offers.problems == {}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param("far", "no_such_module:Far", "No module named", id="its module is missing"),
        pytest.param("far", f"{__name__}:Far", "has no attribute", id="its class is missing"),
        pytest.param("path", "pathlib:Path", "expected a class below", id="no check"),
        pytest.param("contains", f"{__name__}:Loud", "Its name is ours", id="our name"),
        pytest.param("Loud Check", f"{__name__}:Loud", "reads_well", id="a name that is not one"),
        pytest.param("nameless", f"{__name__}:Nameless", "needs label", id="no label"),
        pytest.param("picky", f"{__name__}:Picky", "example is not valid", id="a wrong example"),
    ],
)
def test_one_that_cannot_be_used_is_left_out_and_says_why(
    offer: Offer, name: str, value: str, words: str
) -> None:
    offer("checks", **{name: value})

    assert words in GRADERS.offers.problems[name]
    assert value in GRADERS.offers.problems[name]
    assert GRADERS["contains"].__module__ == "evals_app.engine.graders.text"
    if name not in GRADERS:
        with pytest.raises(ValidationError, match="cannot be used"):
            AssertionSpec.model_validate({"type": name})


def test_the_system_check_names_it(offer: Offer) -> None:
    from evals_app.checks import broken_plugins  # noqa: PLC0415 - it needs settings

    offer("checks", far="no_such_module:Far")

    (warning,) = broken_plugins(None)
    assert "no_such_module" in warning.msg


@pytest.mark.django_db
def test_forms_files_and_the_reference_have_it(offer: Offer, admin_client: Client) -> None:
    offer("checks", loud=f"{__name__}:Loud")

    page = admin_client.get("/admin/evals_app/suite/checks/loud/inputs/")

    assert page.status_code == 200
    assert "Pass when the reply is loud" in str(reference_of("loud"))
    assert '"loud"' in json.dumps(file_schemas()["suite.schema.json"])


def test_ours_need_no_plug_in() -> None:
    def find(*_: object, **__: object) -> Any:
        raise AssertionError("Plug-ins were loaded.")

    assert GraderTable({"loud": Loud}, find)["loud"] is Loud
    assert set(find_plugins("agents").problems) == set()
