"""What a person should know of a judged grade before trusting it; the score stays as it is."""

from collections.abc import Sequence

from evals_app.engine.judging.asking import Asker
from evals_app.engine.judging.family import shared_family
from evals_app.engine.judging.injection import talks_to_grader
from evals_app.engine.trial import Evidence, View


def flags_of(
    askers: Sequence[Asker], view: View, *, is_suspected: bool, evidence: Sequence[Evidence] | None
) -> tuple[str, ...]:
    """Name what is odd: `injection`, `unverified`, `same_family`, `scripted`.

    `is_suspected` says that a judge suspects an injection. `evidence` None: no quotes were asked
    for.
    """
    graded = view.reply if view.turn else "\n".join(turn.reply for turn in view.turns)
    is_scripted = all(asker.is_scripted for asker in askers)
    # A script quotes nothing, and there is nothing to quote from an empty answer.
    lacks_quotes = evidence is not None and (
        bool(evidence) or not (is_scripted or not graded.strip())
    )
    judges = [asker.model.name for asker in askers if not asker.is_scripted]
    agents = [turn.model for turn in view.trial.turns if turn.model]
    flags = {
        "injection": is_suspected or talks_to_grader(graded),
        "unverified": lacks_quotes and not any(quote.is_the_agents for quote in evidence or ()),
        "same_family": shared_family(judges, agents) is not None,
        "scripted": any(asker.is_scripted for asker in askers),
    }
    return tuple(name for name, is_raised in flags.items() if is_raised)
