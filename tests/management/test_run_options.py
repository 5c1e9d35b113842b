from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from evals_app.management.reading_options import environment_of, variable
from evals_app.management.run_options import add_run_options, paths_of


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        pytest.param(["refunds", "orders"], [], id="slugs"),
        pytest.param([], [], id="none"),
        pytest.param(["evals"], ["evals"], id="a folder that exists"),
        pytest.param(["./orders", "."], ["./orders", "."], id="with a slash or a dot"),
        pytest.param(["gone.suite.yaml"], ["gone.suite.yaml"], id="a file that does not exist"),
    ],
)
def test_files_are_known_from_suites(
    arguments: list[str], paths: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evals").mkdir()
    monkeypatch.chdir(tmp_path)

    assert paths_of(arguments) == paths


def test_files_and_suites_are_not_mixed() -> None:
    with pytest.raises(CommandError, match=r"evals/.*refunds") as caught:
        paths_of(["refunds", "evals/"])

    assert caught.value.returncode == 2


def test_a_variable_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGE_OF_TESTS", "en")
    parser = ArgumentParser()
    add_run_options(parser)

    options = vars(parser.parse_args(["--var", "LANGUAGE_OF_TESTS=de=at", "--var", "EMPTY="]))

    environment = environment_of(options)
    assert (environment["LANGUAGE_OF_TESTS"], environment["EMPTY"]) == ("de=at", "")
    assert "PATH" in environment


@pytest.mark.parametrize("text", ["secret", "=secret", "no-name=secret", "1=secret"])
def test_what_is_no_variable_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="NAME=VALUE") as caught:
        variable(text)

    assert "secret" not in str(caught.value)
