"""What is kept in the environment and sent along."""

from evals_app.engine.agents.headers import secrets_of
from evals_app.engine.specs.tool_spec import FromEnvironment, HeaderValue


def test_what_is_sent_is_hidden_in_every_form_in_which_it_may_come_back() -> None:
    header = FromEnvironment(env="AGENT_KEY")
    headers: dict[str, HeaderValue] = {"Authorization": header, "X-Tenant": "acme"}

    hidden = secrets_of([headers], environ={"AGENT_KEY": ' a"b \n'})

    assert hidden == ['a"b', 'a\\"b', "a%22b"]


def test_a_variable_that_is_not_set_hides_nothing() -> None:
    assert secrets_of([{"X-Key": FromEnvironment(env="AGENT_KEY")}], environ={}) == []
