"""What has no equal here, or is not among the files of an import."""

from collections.abc import Sequence

from evals_app.formats.spots import Spot


class LostError(Exception):
    """Something that is left out; the message says what to do instead, `spot` where it is named."""

    def __init__(self, message: str, spot: Spot | None = None) -> None:
        super().__init__(message)
        self.spot = spot


# What keeps an eval from being imported, each with its place.
Missed = list[tuple[Spot, str]]


def tell_missed(missed: Sequence[tuple[Spot, str]], *, are_others_read: bool) -> None:
    """Report evals that are left out: as losses, for they do not keep others from being imported."""
    for spot, message in missed:
        spot.say(message, level="loss" if are_others_read else "error")
