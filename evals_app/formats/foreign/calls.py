"""Tool calls that other systems expect, as checks of ours."""

from collections.abc import Mapping

from evals_app.engine.basics.matchers import MATCHER_KEYS
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.problems import Json

_MATCHER = (
    "This key makes a matcher of it here, which says how an argument is compared. There, the mapping "
    "itself is compared."
)


def expected_call(name: str, args: Mapping[str, object] | None, *, args_at: Spot) -> Json | str:
    """Return a call with exactly these arguments; None means any."""
    if args is None:
        return name
    say_matchers(args, args_at)
    return {"name": name, "args": dict(args), "args_match": "exact"}


def say_matchers(args: Mapping[str, object], args_at: Spot) -> None:
    """Warn of mappings in arguments that would be matchers here."""
    for key, value in args.items():
        _say_matchers(args_at.at(key), value)


def _say_matchers(spot: Spot, value: object) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in MATCHER_KEYS:
                spot.at(key).say(_MATCHER, at_key=True, level="warning")
            _say_matchers(spot.at(key), item)
    elif isinstance(value, list):
        for n, item in enumerate(value):
            _say_matchers(spot.at(n), item)
