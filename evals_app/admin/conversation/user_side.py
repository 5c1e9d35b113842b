"""Who played the user of a conversation: the model, its calls, and why it stopped."""

from evals_app.admin.conversation.transcripts import judge_call
from evals_app.admin.kit.presentation import plural
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.trial import Trial
from evals_app.engine.record.usage import total_cost
from evals_app.models import Run


def user_context(trial: Trial | None, run: Run) -> dict[str, object]:
    """Return what the page of a conversation says about the user's side; nothing if no model had a part."""
    if trial is None or not trial.user_model:
        return {}
    calls = trial.user_calls
    role = "played the user" if run.is_simulated else "read whether the user's words still fit"
    cost = usd_text(total_cost([call.cost_usd for call in calls]))
    return {
        "user_side": f"{trial.user_model} {role}: {plural(len(calls), 'call')}, cost {cost}, part of the judge cost.",
        "user_stopped": trial.user_stopped,
        "user_calls": [judge_call(call.to_json()) for call in calls],
    }
