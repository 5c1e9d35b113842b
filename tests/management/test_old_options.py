"""Options of `run_evals` that are subcommands of `runs` now."""

import json
from argparse import ArgumentParser
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.management.commands.runs import Command
from evals_app.management.old_options import subcommand_instead
from evals_app.management.run_options import add_run_options
from tests.makers import make_run


def options_of(arguments: str) -> dict[str, Any]:
    parser = ArgumentParser()
    add_run_options(parser)
    return vars(parser.parse_args(arguments.split()))


@pytest.mark.parametrize(
    ("arguments", "typed_now"),
    [
        ("--attach 7 8 --ci --report html=x.html", "attach 7 8"),
        ("--resume 7 --max-cost 5", "resume 7"),
        ("--cancel 7 8", "cancel 7 8"),
        ("--regrade 7 --as-it-was --judge a/b --case x --trials 3 --forecast", "regrade 7"),
        ("--failed-of 7 --frozen --max-cost 5 --output x.json", "rerun 7"),
    ],
)
def test_an_old_option_names_its_subcommand_and_has_all_that_this_takes(
    arguments: str, typed_now: str
) -> None:
    options, said = options_of(arguments), StringIO()

    subcommand = subcommand_instead(options, said)

    assert f" runs {typed_now}:" in said.getvalue()
    assert "\n" not in said.getvalue()
    given = Command().create_parser("manage.py", "runs").parse_args(typed_now.split())
    assert subcommand == given.subcommand
    assert options["runs"] == given.runs
    of_django = {"version", "verbosity", "settings", "pythonpath", "traceback", "no_color"}
    own = set(vars(given)) - of_django - {"force_color", "skip_checks", "subcommand"}
    assert sorted(own - set(options)) == []


def test_a_start_asks_for_none() -> None:
    options, said = options_of("greetings --case x --forecast"), StringIO()

    assert subcommand_instead(options, said) == ""
    assert said.getvalue() == ""


@pytest.mark.parametrize(
    ("arguments", "misfit"),
    [
        ("greetings --attach 7", "suites"),
        ("--attach 7 --cancel 8", "--cancel"),
        ("--attach 7 --baseline latest", "--baseline"),
        ("--resume 7 --trials 2", "--trials"),
        ("--cancel 7 --max-cost 1", "--max-cost"),
        ("--cancel 7 --report html=x.html", "--report"),
        ("--failed-of 7 --tag x", "--tag"),
        ("--failed-of 7 --as-it-was", "--as-it-was"),
        ("--regrade 7 --model a/b", "--model"),
        ("greetings --frozen", "--frozen"),
        ("--judge a/b", "--judge"),
    ],
)
def test_what_the_subcommand_does_not_take_is_refused(arguments: str, misfit: str) -> None:
    with pytest.raises(CommandError, match=misfit) as caught:
        subcommand_instead(options_of(arguments), StringIO())

    assert caught.value.returncode == 2


@pytest.mark.django_db(transaction=True)
def test_an_old_option_still_does_its_work() -> None:
    run = make_run(["passed"])
    out, err = StringIO(), StringIO()

    call_command("run_evals", "--attach", str(run.pk), "--ci", stdout=out, stderr=err)

    assert json.loads(out.getvalue())["run"]["id"] == run.pk
    assert f"runs attach {run.pk}" in err.getvalue()
