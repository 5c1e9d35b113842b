"""Says in plain sentences how far a judge agrees with people."""

from collections.abc import Iterator

from evals_app.engine.statistics.agreement import MIN_LABELS, Agreement, Kappa, Proportion
from evals_app.engine.statistics.trust import Standing, standing_of
from evals_app.reports.words.figures import count_text, whole_interval, whole_percent

NOT_COMPARED = "not yet compared with people"


def standing_in_words(agreement: Agreement, *, least: float | None = None) -> list[str]:
    """Return whether a judge may decide, in one sentence, and perhaps why in another.

    `least` is the agreement that its suite asks for.
    """
    standing, same = standing_of(agreement, least=least), agreement.same_verdict
    agrees = f"{same.count:,} of {count_text(same.total, 'answer')}{_how_sure(same)}"
    verdict = "pass" if agreement.commoner_passes else "fail"
    match standing:
        case Standing.NOT_COMPARED:
            return [f"This judge was {NOT_COMPARED}."]
        case Standing.TOO_FEW:
            few = f"Only {count_text(agreement.n, 'answer')} checked: too few to say."
            return [few, f"It agrees with people in {agrees}; {MIN_LABELS} are needed."]
        case Standing.WORSE | Standing.NO_BETTER:
            than = "Worse" if standing is Standing.WORSE else "No better"
            would = f"always saying “{verdict}” would in {agreement.commoner.count:,}."
            return [
                f"{than} than always saying “{verdict}”: do not let it decide.",
                f"It agrees with people in {agrees}; {would}",
            ]
        case Standing.TOO_RARELY:
            asked = f"the suite asks for {whole_percent(least or 0)}: it only informs."
            return [f"Agrees with people in {agrees}, and {asked}"]
        case Standing.ONE_SIDED:
            other = "failures" if agreement.commoner_passes else "good answers"
            return [
                f"Agrees with people in {agrees}: may decide.",
                f"People {verdict}ed all of them, so it is unknown whether it notices {other}.",
            ]
    return [f"Agrees with people in {agrees}: may decide."]


def agreement_in_words(
    agreement: Agreement, *, blind: int | None = None, least: float | None = None
) -> list[str]:
    """Return sentences on what the numbers mean, whether the judge may decide first.

    `blind` are the labels of people who did not see the judge's verdict before, if that is known.
    """
    first = standing_in_words(agreement, least=least)
    return [*first, *reasons_in_words(agreement, blind=blind)]


def reasons_in_words(agreement: Agreement, *, blind: int | None = None) -> list[str]:
    """Return only what the numbers say in addition to whether the judge may decide."""
    return [*_sentences(agreement), *_blind(agreement.n, blind)] if agreement.n else []


def agreement_in_short(agreement: Agreement) -> str:
    """Return the agreement as shown next to a grade."""
    if not agreement.n:
        return NOT_COMPARED
    return f"agrees with people in {agreement.same_verdict.count:,} of {agreement.n:,}"


def _sentences(agreement: Agreement) -> Iterator[str]:
    standing = standing_of(agreement)
    if standing is Standing.MAY_DECIDE:
        yield _commoner(agreement)
    failures, passes = agreement.failures_noticed, agreement.passes_noticed
    if failures.total:
        counts = f"{failures.count:,} of {count_text(failures.total, 'failure')}"
        yield f"The judge noticed {counts}{_how_sure(failures)}."
    elif standing is not Standing.ONE_SIDED:
        yield "People failed none of them, so it is unknown how many failures it would notice."
    if passes.total:
        counts = f"{passes.count:,} of the {count_text(passes.total, 'answer')}"
        yield f"It passed {counts} that people passed{_how_sure(passes)}."
    elif standing is not Standing.ONE_SIDED:
        yield "People passed none of them, so it is unknown whether it passes good answers."
    if kappa := agreement.kappa:
        yield f"Kappa {_kappa(kappa)}: 0 is what chance alone would reach, 1 is full agreement."
    yield from _on_scale(agreement)


def _commoner(agreement: Agreement) -> str:
    verdict = "pass" if agreement.commoner_passes else "fail"
    return f"Always saying “{verdict}” would agree in {agreement.commoner.count:,}."


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


def share_with_interval(share: float, interval: tuple[float, float]) -> str:
    """Write a share and the range in which it probably is: `90 % (79 to 96 %)`."""
    return f"{whole_percent(share)} ({whole_interval(interval)})"


def _how_sure(rate: Proportion) -> str:
    if rate.share is None or rate.interval is None:
        return ""
    return f" ({whole_percent(rate.share)}, {whole_interval(rate.interval)})"


def _kappa(kappa: Kappa) -> str:
    if kappa.interval is None:
        return f"{kappa.value:.2f}"
    low, high = kappa.interval
    return f"{kappa.value:.2f} (probably between {low:.2f} and {high:.2f})"
