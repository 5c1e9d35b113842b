from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from evals_app.management.reading_options import permitted_variable, variable, variables_of
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


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {}),
        (["--var", "LANGUAGE=de=at", "--var", "EMPTY="], {"LANGUAGE": "de=at", "EMPTY": ""}),
        (["--allow-env", "REGION_OF_TESTS"], {"REGION_OF_TESTS": "eu"}),
        (["--allow-env", "UNSET_IN_TESTS"], {}),
        (
            ["--allow-env", "REGION_OF_TESTS", "--var", "REGION_OF_TESTS=us"],
            {"REGION_OF_TESTS": "us"},
        ),
    ],
)
def test_files_see_only_the_variables_that_the_caller_names(
    arguments: list[str], expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGION_OF_TESTS", "eu")
    parser = ArgumentParser()
    add_run_options(parser)

    assert variables_of(vars(parser.parse_args(arguments))) == expected


@pytest.mark.parametrize(
    "name",
    [
        *("DATABASE_URL", "EVALWELL_EMAIL_URL", "EVALS_KEY_VARIABLES", "PGPASSWORD"),
        *("DJANGO_SETTINGS_MODULE", "A=B", "*", ""),
    ],
)
def test_variables_of_the_site_are_never_for_files(name: str) -> None:
    with pytest.raises(ArgumentTypeError):
        permitted_variable(name)


@pytest.mark.parametrize("text", ["secret", "=secret", "no-name=secret", "1=secret"])
def test_what_is_no_variable_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="NAME=VALUE") as caught:
        variable(text)

    assert "secret" not in str(caught.value)
