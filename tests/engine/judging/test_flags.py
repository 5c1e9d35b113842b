import pytest

from evals_app.engine.judging.asking import Asker
from evals_app.engine.judging.flags import flags_of
from evals_app.engine.spec import ModelSpec
from evals_app.engine.trial import Evidence
from tests.engine.judging.makers import OTHER, FakeModel, make_asker, view_of_two

FOUND = Evidence("It", turn=2, is_verified=True)
MADE_UP = Evidence("They")
THE_USERS = Evidence("It", turn=2, is_verified=True, speaker="user")
SCRIPT = make_asker(FakeModel(), ModelSpec(provider="scripted", name="gpt"), is_scripted=True)
MODELS = make_asker(FakeModel()), make_asker(FakeModel(), OTHER)


@pytest.mark.parametrize(
    ("askers", "agent", "evidence", "flags"),
    [
        pytest.param([MODELS[0]], None, [FOUND], set(), id="as usual"),
        pytest.param([MODELS[0]], "gpt-6", [FOUND], set(), id="another family"),
        pytest.param([MODELS[0]], "claude-opus-5", [FOUND], {"same_family"}, id="kin"),
        pytest.param(MODELS, "gpt-6", [FOUND], {"same_family"}, id="kin in the jury"),
        pytest.param([SCRIPT], "gpt-6", [], {"scripted"}, id="a script has no family"),
        pytest.param([SCRIPT, MODELS[0]], None, [FOUND], {"scripted"}, id="one is a script"),
        pytest.param([MODELS[0]], None, [MADE_UP], {"unverified"}, id="made up"),
        pytest.param([MODELS[0]], None, [], {"unverified"}, id="no quotes"),
        pytest.param([MODELS[0]], None, [THE_USERS], {"unverified"}, id="the user's words alone"),
        pytest.param([MODELS[0]], None, [MADE_UP, FOUND], set(), id="one was found"),
        pytest.param([MODELS[0]], None, None, set(), id="no quotes were asked for"),
    ],
)
def test_a_grade_says_what_to_think_of_it(
    askers: list[Asker], agent: str | None, evidence: list[Evidence] | None, flags: set[str]
) -> None:
    view = view_of_two(model=agent)

    assert set(flags_of(askers, view, is_suspected=False, evidence=evidence)) == flags


def test_a_suspicion_of_the_judge_is_passed_on() -> None:
    view = view_of_two()

    assert flags_of([MODELS[0]], view, is_suspected=True, evidence=[FOUND])[0] == "injection"
