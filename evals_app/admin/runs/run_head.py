"""The head of a run's page in words: what was tested, how much of the suite, and what is special."""

from django.utils.text import capfirst

from evals_app.admin.kit.presentation import has_scripted_judge, plural
from evals_app.admin.regrading.regrade_results import regraded_line
from evals_app.models import Run
from evals_app.reports.words.coverage import NOT_MIXED, SIMULATED


def tested_line(run: Run) -> str:
    """Return which agent and model a run tested; a script is called that."""
    if run.conversation_set is not None:
        return run.conversation_set.name
    name = f"{run.agent_name}, {run.model}" if run.model else run.agent_name
    return f"{name} (not asked)" if run.grades_again else name


def scripted_line(run: Run) -> str:
    """Return what a scripted agent, or judge, means for the result; else nothing."""
    if run.is_scripted:
        return "The agent is scripted, so the result tests the checks, not a real agent."
    if has_scripted_judge(run):
        return "A judge is scripted, so its grades do not reflect the agent."
    return ""


def simulated_line(run: Run) -> str:
    """Return what a simulated user means for the result; nothing if the user's words are written."""
    return f"{SIMULATED} {NOT_MIXED}" if run.is_simulated else ""


def scope_line(run: Run) -> str:
    """Return how much of its suite a run has: `All 40 cases, 3 trials each.`."""
    if run.grades_again:
        line = regraded_line(run)
        if run.is_of_real_conversations:
            return f"{line} They count in no verdict of the suite."
        return f"{line} It does not change the verdict of the suite."
    cases = run.case_count or 0
    words = [capfirst(run.covers)] if run.covers else [_all_cases(cases)]
    if cases and run.total > cases:
        each = run.total // cases
        even = f"{plural(each, 'trial')} each"
        words.append(even if each * cases == run.total else plural(run.total, "conversation"))
    line = f"{', '.join(filter(None, words))}."
    if run.disabled_case_count:
        line += f" {plural(run.disabled_case_count, 'disabled case')} left out."
    return f"{line} It does not change the verdict of the suite." if run.covers else line


def _all_cases(cases: int) -> str:
    return f"All {cases:,} cases" if cases > 1 else "Its one case"
