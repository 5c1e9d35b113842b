"""Tools that act on runs and conversations: run or grade them again, review them, decide."""

from pydantic import Field

from evals_app.library.changes.edits import CANCELLED, RESUMED, note_edit
from evals_app.mcp.answers import RunData, StartedData
from evals_app.mcp.results import JustRun, find_run, run_row
from evals_app.mcp.tool import Caller, Told
from evals_app.models import Execution, Run
from evals_app.reports.answers.release import ship_decision_json
from evals_app.reports.words.figures import count_text
from evals_app.requests.bodies import Ceiling, NewCeiling, RegradeRun, RerunCases, RunId, Ship
from evals_app.requests.decisions import decide
from evals_app.requests.given_reviews import GivenReview, give_review
from evals_app.requests.problems import refused_at
from evals_app.runs.ending.cancel import cancel_run as stop
from evals_app.runs.ending.resume import resume_run as resume
from evals_app.runs.regrading.start_regrade import regrade
from evals_app.runs.starting.rerun import rerun

_CEILING = "The run stops before a call that could cost more than this."


class RerunOfRun(RerunCases):
    """The cases of a run to run again."""

    run: RunId
    max_cost_usd: Ceiling = Field(description=_CEILING)


class RegradeOfRun(RegradeRun):
    """The run whose conversations to grade again."""

    run: RunId
    max_cost_usd: Ceiling = Field(description=_CEILING)


class ResumeRun(NewCeiling):
    """The run to resume."""

    run: RunId


class ReviewOfConversation(GivenReview):
    """What to say of which conversation."""

    execution: RunId


class DecisionOnRun(Ship):
    """The run whose version was shipped or not."""

    run: RunId


def cancel_run(caller: Caller, given: JustRun) -> Told:
    """Stop a run."""
    run = find_run(given.run)
    if stop(run):
        note_edit(run, user=caller.user, note=CANCELLED)
    text = f"Run {given.run} is being stopped; running conversations end within two seconds."
    return Told(text, RunData.of(run=run_row(given.run)))


def resume_run(caller: Caller, given: ResumeRun) -> Told:
    """Resume a run that was stopped."""
    run = find_run(given.run)
    resume(run, max_cost_usd=given.max_cost_usd)
    note_edit(run, user=caller.user, note=RESUMED)
    text = f"Run {given.run} goes on. Follow it: read_run with run: {given.run}."
    return Told(text, RunData.of(run=run_row(given.run)))


def rerun_cases(caller: Caller, given: RerunOfRun) -> Told:
    """Run cases of a run again, in a new run."""
    choices = given.model_dump(exclude={"run"})
    return _tell_of(rerun(find_run(given.run), by=caller.user, **choices))


def regrade_run(caller: Caller, given: RegradeOfRun) -> Told:
    """Grade the conversations of a run again, in a new run."""
    choices = given.choices()
    del choices["run"]
    return _tell_of(regrade(find_run(given.run), by=caller.user, **choices))


def _tell_of(run: Run) -> Told:
    text = (
        f"Run {run.pk} was started: {count_text(run.total, 'conversation')}. Follow it: read_run with"
        f" run: {run.pk} and wait_s: 20."
    )
    return Told(text, StartedData.of(run=run_row(run.pk), is_new=True))


def review_conversation(caller: Caller, given: ReviewOfConversation) -> Told:
    """Keep that a grade is right or wrong, that a failure is not the agent's fault, or comment."""
    execution = Execution.objects.filter(pk=given.execution).defer("summary", "turn_ms").first()
    if execution is None:
        raise refused_at("execution", f"There is no conversation {given.execution}.")
    review = give_review(given, execution, caller.user)
    about = f" of grade {given.grade}" if given.grade else ""
    text = f"Review {review['id']}{about} is kept under the name of {review['by']}."
    return Told(text, review)


def decide_release(caller: Caller, given: DecisionOnRun) -> Told:
    """Note that the version that a run tested is shipped, or is not."""
    body = Ship(**given.model_dump(exclude={"run"}))
    decision = decide(find_run(given.run), body, by=caller.user)
    return Told(f"{decision}. The answer was: {decision.answered}", ship_decision_json(decision))
