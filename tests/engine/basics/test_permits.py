import pytest

from evals_app.engine.basics.permits import Permits, permits
from tests.engine.permitting import permitting


@pytest.mark.parametrize(
    ("module", "is_permitted"),
    [
        pytest.param("graders", True, id="the module itself"),
        pytest.param("graders.money", True, id="below it"),
        pytest.param("graders_of_others", False, id="only begins like it"),
        pytest.param("os", False, id="another"),
        pytest.param("evals_app.engine.examples.graders", True, id="shipped with this program"),
        pytest.param("evals_app.engine.basics.permits", False, id="of this program, no example"),
    ],
)
def test_a_module_permits_itself_and_what_lies_below(module: str, *, is_permitted: bool) -> None:
    assert Permits(modules=("graders",)).module(module) is is_permitted


@pytest.mark.parametrize(
    ("variable", "is_permitted"),
    [
        pytest.param("AGENT_TOKEN", True, id="begins so"),
        pytest.param("SHOP_TOKEN", True, id="by name"),
        pytest.param("SHOP_TOKEN_2", False, id="longer than the name"),
        pytest.param("ANTHROPIC_API_KEY", False, id="another"),
    ],
)
def test_a_variable_is_permitted_by_name_or_beginning(variable: str, *, is_permitted: bool) -> None:
    assert Permits(variables=("AGENT_*", "SHOP_TOKEN")).variable(variable) is is_permitted


@pytest.mark.parametrize(
    ("words", "is_permitted"),
    [
        pytest.param(["bin/agent"], True, id="the program"),
        pytest.param(["bin/agent", "--quick"], True, id="whatever follows"),
        pytest.param(["bin/agent2"], False, id="only begins like it"),
        pytest.param(["/srv/bin/agent"], False, id="another path"),
        pytest.param(["node", "shop.js", "--quick"], True, id="the first words"),
        pytest.param(["node", "-e", "process.exit()"], False, id="only the first of them"),
        pytest.param(["node"], False, id="too few of them"),
        pytest.param(["/opt/my agent/run", "-q"], True, id="a path with blanks"),
        pytest.param(["python", "-m", "evals_app.engine.examples.program"], True, id="shipped"),
        pytest.param(["python", "-c", "1"], False, id="the same interpreter with something else"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_a_command_is_permitted_by_its_first_words(words: list[str], *, is_permitted: bool) -> None:
    permits = Permits(commands=("bin/agent", "node shop.js", "/opt/my agent/run"))

    assert permits.command(words) is is_permitted


def test_nothing_is_permitted_by_itself() -> None:
    nothing = Permits()

    assert not nothing.module("os")
    assert not nothing.command(["ls"])
    assert not nothing.variable("PATH")


def test_what_is_permitted_for_a_while_is_forgotten_afterwards() -> None:
    before = permits()

    with permitting(commands=("bin/agent",)):
        assert permits().commands == ("bin/agent",)

    assert permits() == before
