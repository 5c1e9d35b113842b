import pytest

from evals_app.reports.renderers import github
from evals_app.reports.renderers.github import MAX_ANNOTATIONS, annotations, github_summary
from tests.reports.makers import a_run, an_execution, passed, results


def test_the_summary_has_the_run_and_what_went_wrong() -> None:
    text = "".join(github_summary([results(executions=[passed(case="Fine"), an_execution()])]))

    assert text.startswith("# Refunds: run 7")
    assert "- ❌ Angry customer: It does not say" in text
    assert "Fine" not in text


def test_a_summary_that_github_would_refuse_is_cut_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(github, "MAX_SUMMARY_BYTES", 6000)
    rows = [an_execution(case=f"Case {n}") for n in range(200)]

    text = "".join(github_summary([results(executions=rows), results(executions=rows)]))

    assert len(text.encode()) < 6500
    shown = text.count("- ❌ Case")
    assert 0 < shown < 400
    assert text.count("more failures and errors") == 2


def test_an_annotation_names_the_file_of_the_suite_if_it_is_in_the_repository() -> None:
    run = a_run(source="/srv/shop/evals/refunds.suite.yaml")

    (inside,) = annotations([results(run, [an_execution()])], root="/srv/shop")
    (outside,) = annotations([results(run, [an_execution()])], root="/srv/other")

    assert inside.startswith("::error file=evals/refunds.suite.yaml,line=1,title=Refunds")
    assert outside.startswith("::error title=Refunds")


def test_no_reply_can_add_a_command_or_a_property() -> None:
    row = an_execution(case="a,file=x::y\nb", reason="50 %\r\n::add-mask::x")

    (line,) = annotations([results(executions=[row])])

    assert line.count("\n") == 1
    assert line == ("::error title=Refunds%3A a%2Cfile=x%3A%3Ay%0Ab::50 %25%0D%0A::add-mask::x\n")


def test_an_annotation_is_at_the_line_of_its_case() -> None:
    run = a_run(source="/srv/refunds.suite.yaml")

    (line,) = annotations(
        [results(run, [an_execution(trial=2)], lines={"Angry customer": 12})], root="/srv"
    )

    assert line.startswith("::error file=refunds.suite.yaml,line=12,title=Refunds")


def test_only_as_many_annotations_as_github_shows_are_written() -> None:
    rows = [passed(), *(an_execution(case=f"Case {n}") for n in range(MAX_ANNOTATIONS + 5))]

    lines = list(annotations([results(executions=rows)]))

    assert len(lines) == MAX_ANNOTATIONS
    assert "6 more" in lines[-1]


def test_an_error_that_says_nothing_about_the_agent_is_a_warning() -> None:
    row = an_execution(verdict="errored", cause="judge")

    (line,) = annotations([results(executions=[row])])

    assert line.startswith("::warning ")
