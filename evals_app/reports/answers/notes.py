"""What to read with the verdict of a run: the answer, and what makes the verdict mean less."""

from evals_app.reports.answers.decided import people_note
from evals_app.reports.answers.losses import losses_note
from evals_app.reports.answers.run_answers import Row
from evals_app.reports.words.coverage import NOT_MIXED
from evals_app.reports.words.judges import has_script
from evals_app.reports.words.regrading import regraded_in_words

MAY_WE_SHIP = "May we ship?"
_STOPPED = {"cancelled": "cancelled by a person", "deadline": "time limit reached"}
_CEILINGS = {
    "run": "cost limit reached",
    "person": "monthly ceiling of the person reached",
    "site": "monthly ceiling of the site reached",
}


def run_notes(run: Row) -> list[str]:
    """Return sentences about a run; the first answers whether its version may be shipped, if known."""
    notes = [f"{MAY_WE_SHIP} {run['decision']}"] if run.get("decision") else []
    if run["is_scripted"]:
        notes.append(
            "Scripted: the agent follows a script. The verdict tests the checks, not an agent."
        )
    elif has_script(run["judge"] or ""):
        notes.append("A judge follows a script: its verdicts mean nothing about the agent.")
    if run["is_simulated"]:
        notes.append(f"Simulated: a model played the user. {NOT_MIXED}")
    notes += run["notes"] or ()
    if run["losses"] and (note := losses_note(run["losses"])):
        notes.append(note)
    if note := people_note(run["reviewed"] or {}):
        notes.append(note)
    if run["regrading"]:
        notes.append(regraded_in_words(run["covers"], run["regrading"]))
    elif run["covers"]:
        notes.append(f"Not the whole suite: {run['covers']}.")
    if run["stand_in_note"]:
        notes.append(run["stand_in_note"])
    if run["stop_reason"] and run["counts"]["cancelled"] + run["counts"]["not_run"]:
        why = (
            _STOPPED.get(run["stop_reason"]) or _CEILINGS[run["budget"]["reached_ceiling"] or "run"]
        )
        notes.append(f"Stopped early: {why}.")
    return notes
