"""Parts of a suite keep the place where they were written."""

import json

from evals_app.formats.foreign.attached import AttachedFiles
from evals_app.formats.foreign.building import Placed, suite_drafts
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.json_source import read_json

FILE = {
    "title": "Refunds",
    "asks": [{"q": "Hi", "tests": ["a", "b"]}, {"q": "Hi", "tests": ["c"]}],
}


def root(agent: str | None = "desk") -> Spot:
    document = read_json("shop/refunds.json", json.dumps(FILE).encode())
    return Spot(ForeignFile(document, ReaderContext(AttachedFiles({}), agent)))


def case(spot: Spot) -> Placed:
    checks = [
        Placed({"type": "contains", "value": entry.value}, entry)
        for entry in spot.at("tests").entries()
    ]
    turn = {"user": Placed(spot.value["q"], spot.at("q")), "assertions": checks}
    return Placed({"name": spot.value["q"], "turns": [turn]}, spot)


def test_a_problem_is_shown_where_a_part_was_written() -> None:
    here = root()
    title = Placed("Refunds", here.at("title"))

    draft, _ = suite_drafts("test", here, title, list(map(case, here.at("asks").entries())))

    places = {
        ("suite",): "title",
        ("slug",): "title",
        ("cases", 1): "asks[1]",
        ("cases", 0, "turns", 0, "user"): "asks[0].q",
        ("cases", 0, "turns", 0, "assertions", 1, "value"): "asks[0].tests[1]",
        ("agent",): "",
    }
    assert {loc: draft.place(loc, "").keys for loc in places} == places


def test_cases_of_one_name_are_with_namesakes_and_the_slug_is_made_of_the_name() -> None:
    here = root()
    cases = list(map(case, here.at("asks").entries()))

    draft, _ = suite_drafts("test", here, "Refund flow!", cases, tags=["shop"])
    other, _ = suite_drafts("test", here, "Refund flow!", cases, slug="own")

    assert [item.name for item in draft.spec.cases] == ["Hi", "Hi (2)"]
    assert (draft.spec.slug, draft.spec.tags, other.spec.slug) == ("refund-flow", ["shop"], "own")


def test_a_suite_that_names_no_agent_has_no_spec_and_says_so() -> None:
    here = root(agent=None)

    draft, remarks = suite_drafts("test", here, "Refunds", [])

    assert draft.spec is None
    assert [problem.level for problem in remarks.problems] == ["error"]
