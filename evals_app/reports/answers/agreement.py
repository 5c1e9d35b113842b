"""Says in plain sentences how far a judge agrees with people."""

from collections.abc import Iterator

from evals_app.engine.statistics.agreement import MIN_LABELS, Agreement, Kappa, Proportion
from evals_app.reports.words.figures import count_text

NOT_COMPARED = "not yet compared with people"
_NB = "\u00a0"


def agreement_in_words(agreement: Agreement, *, blind: int | None = None) -> list[str]:
    """Return sentences on what the numbers mean, how many labels there are first.

    `blind` are the labels of people who did not see the judge's verdict before, if that is known.
    """
    if not agreement.n:
        return [f"This judge was {NOT_COMPARED}."]
    return [*_sentences(agreement), *_blind(agreement.n, blind)]


def agreement_in_short(agreement: Agreement) -> str:
    """Return the agreement as shown next to a grade."""
    if not agreement.n:
        return NOT_COMPARED
    return f"agrees with people in {agreement.same_verdict.count:,} of {agreement.n:,}"


def whole_percent(share: float) -> str:
    """Write a share in whole percents; 0 and 100 are exactly that."""
    percents = 100 * share
    if 0 < share < 1:
        percents = min(99, max(1, percents))
    return f"{percents:.0f}{_NB}%"


def _sentences(agreement: Agreement) -> Iterator[str]:
    agreed = agreement.same_verdict
    yield f"Compared with people on {count_text(agreement.n, 'answer')}."
    yield f"People and judge gave the same verdict in {agreed.count:,} of them{_how_sure(agreed)}."
    yield _beside_the_commoner(agreement)
    failures, passes = agreement.failures_noticed, agreement.passes_noticed
    if failures.total:
        counts = f"{failures.count:,} of {count_text(failures.total, 'failure')}"
        yield f"It noticed {counts}{_how_sure(failures)}."
    else:
        yield "People failed none of them, so it is unknown how many failures it would notice."
    if passes.total:
        counts = f"{passes.count:,} of the {count_text(passes.total, 'answer')}"
        yield f"It passed {counts} that people passed{_how_sure(passes)}."
    else:
        yield "People passed none of them, so it is unknown whether it passes good answers."
    if not agreement.is_enough:
        yield (
            f"These are few answers: below {MIN_LABELS}, the numbers may be very different for"
            " others."
        )
    if kappa := agreement.kappa:
        yield f"Kappa {_kappa(kappa)}: 0 is what chance alone would reach, 1 is full agreement."
    yield from _on_scale(agreement)


def _beside_the_commoner(agreement: Agreement) -> str:
    verdict = "passed" if agreement.commoner_passes else "failed"
    rate = agreement.commoner
    would = f"A judge that always says “{verdict}” would reach {whole_percent(rate.share or 0)}"
    if agreement.same_verdict.count > rate.count:
        return f"{would}."
    compared = "just as much" if agreement.same_verdict.count == rate.count else "more"
    so = ", so this judge is of no use yet" if agreement.is_enough else ""
    return f"{would}, {compared}{so}."


def _on_scale(agreement: Agreement) -> Iterator[str]:
    grades = agreement.on_scale
    if grades is None:
        return
    same, near = f"{grades.same:,} of {grades.n:,}", f"{grades.near:,}"
    weighted = f" Weighted kappa {_kappa(grades.kappa)}." if grades.kappa else ""
    yield (
        f"On the scale {grades.scale} both gave the same grade in {same}, and grades that are one"
        f" apart in {near} more.{weighted}"
    )


def _blind(n: int, blind: int | None) -> Iterator[str]:
    if blind is None or blind == n:
        return
    saw = f"In {n - blind:,} of {count_text(n, 'answer')}, people" if blind else "People"
    yield (
        f"{saw} saw the judge's verdict before they decided. Whoever sees it first agrees with it"
        " more often."
    )


def _how_sure(rate: Proportion) -> str:
    if rate.share is None or rate.interval is None:
        return ""
    low, high = map(whole_percent, rate.interval)
    return f" ({whole_percent(rate.share)}, probably between {low} and {high})"


def _kappa(kappa: Kappa) -> str:
    if kappa.interval is None:
        return f"{kappa.value:.2f}"
    low, high = kappa.interval
    return f"{kappa.value:.2f} (probably between {low:.2f} and {high:.2f})"
