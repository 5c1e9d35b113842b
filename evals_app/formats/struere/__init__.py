"""The Struere dialect: `evals/*.eval.yaml` and `fixtures/*.fixture.yaml` with camelCase keys.

Suites and fixtures have the shape of ours, so files without such a name are recognised by keys that
only one of the two systems has.
"""

from pathlib import PurePosixPath

from pydantic import BaseModel

from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec, TurnSpec
from evals_app.formats.dialect import Dialect, rows_under
from evals_app.formats.struere.shapes import FIXTURE_KEYS, RENAMED, Case, Suite, Turn
from fixtures_app.spec import FixtureSpec

DIALECT = Dialect(
    name="struere",
    title="Struere",
    page="coming-from-struere",
    about=(
        "A project folder with evals/*.eval.yaml and fixtures/*.fixture.yaml, as a .zip or file "
        "by file. Its agent has to exist here already."
    ),
    sample=(
        (
            "evals/refunds.eval.yaml",
            """\
suite: Refunds
slug: refunds
agent: shop
cases:
  - name: Asks for a refund
    turns:
      - user: I want my money back.
        assertions:
          - {type: contains, value: refund}
""",
        ),
    ),
    package=__name__,
    files=("*.eval.yaml", "*.eval.yml"),
)


def _keys(shape: type[BaseModel]) -> set[str]:
    return {info.alias or name for name, info in shape.model_fields.items()}


# Keys that only we have.
_OUR_SUITE = _keys(SuiteSpec) - _keys(Suite)
_OUR_CASE = _keys(CaseSpec) - _keys(Case)
_OUR_TURN = _keys(TurnSpec) - _keys(Turn)
_OUR_FIXTURE = _keys(FixtureSpec).difference(FIXTURE_KEYS)
_THEIRS = set(RENAMED.values())


def is_suite(path: str, data: object) -> bool:
    """Whether a suite is Struere's and not ours: by its name, else by keys that only one of us has."""
    if DIALECT.finds(path):
        return True
    if path.endswith((".suite.yaml", ".suite.yml")):
        return False
    cases = rows_under(data, "cases")
    keys = {*data} if isinstance(data, dict) else set()
    if _THEIRS & keys.union(*cases):
        return True
    turns = (turn for case in cases for turn in rows_under(case, "turns"))
    return not (
        _OUR_SUITE & keys or _OUR_CASE & set().union(*cases) or _OUR_TURN & set().union(*turns)
    )


def may_be_fixture(data: object) -> bool:
    """Whether a fixture has no keys that only ours have; it may still be of either system."""
    return not (isinstance(data, dict) and _OUR_FIXTURE & data.keys())


def project_folder(path: str, *, part: str) -> tuple[str, bool]:
    """Return the folder that contains `evals/` or `fixtures/`, and whether the path has such a part.

    Without it the folder of the file itself is the project.
    """
    parts = PurePosixPath(path.replace("\\", "/")).parts
    for position in range(len(parts) - 2, -1, -1):
        if parts[position] == part:
            return "/".join(parts[:position]), True
    return "/".join(parts[:-1]), False


def share_project(suite: str, fixture: str) -> bool:
    """Whether two files are in one project folder; without such folders, in one folder tree."""
    home, has_evals = project_folder(suite, part="evals")
    place, has_fixtures = project_folder(fixture, part="fixtures")
    if home == place or (has_evals and has_fixtures):
        return home == place
    return _is_inside(place, home) or _is_inside(home, place)


def _is_inside(folder: str, parent: str) -> bool:
    return not parent or folder.startswith(parent.rstrip("/") + "/")
