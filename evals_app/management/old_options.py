"""Options of `run_evals` that are subcommands of `runs` now; the next release removes them."""

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Mapping
from functools import partial
from typing import Any

from evals_app import COMMAND
from evals_app.management import Options, usage_error
from evals_app.management.numbers import RUN_NUMBER

_SUBCOMMANDS = {
    "attach": "attach",
    "resume": "resume",
    "cancel": "cancel",
    "regrade": "regrade",
    "failed_of": "rerun",
}
_NEEDS_A_RUN = {"frozen": ("rerun",), "as_it_was": ("regrade",), "judge": ("regrade",)}
# Which subcommands take the other options of `run_evals`.
_TAKEN_BY: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("suites", "tag", "agent", "model", "all_trials"), ()),
    **dict.fromkeys(("concurrency", "timeout", "baseline"), ()),
    **dict.fromkeys(("case", "case_exact", "trials", "forecast"), ("regrade",)),
    "max_cost": ("resume", "regrade", "rerun"),
    "report": ("attach", "resume", "regrade", "rerun"),
    **_NEEDS_A_RUN,
}


def add_old_options(parser: ArgumentParser) -> None:
    """Add them without a line in `--help`."""
    add = partial(parser.add_argument, help=SUPPRESS)
    for option in ("--attach", "--cancel"):
        add(option, nargs="+", type=RUN_NUMBER)
    for option in ("--failed-of", "--regrade", "--resume"):
        add(option, nargs=1, type=RUN_NUMBER)
    for option in ("--frozen", "--as-it-was"):
        add(option, action="store_true")
    add("--judge")


def subcommand_instead(options: Options, out: Any) -> str:
    """Return the subcommand of `runs` that old options ask for, and name it; empty: there is none.

    `options` get what the subcommand takes.

    Raises:
        CommandError: other options do not go with it.
    """
    old, *others = [option for option in _SUBCOMMANDS if options[option]] or [""]
    subcommand = _SUBCOMMANDS.get(old, "")
    misfits = [_as_typed(option) for option in others] + [
        "suites" if option == "suites" else _as_typed(option)
        for option, taken_by in (_TAKEN_BY if old else _NEEDS_A_RUN).items()
        if options[option] and subcommand not in taken_by
    ]
    if misfits and not old:
        raise usage_error(f"{misfits[0]} works on an existing run: see {COMMAND} runs --help.")
    if misfits:
        raise usage_error(
            f"{_as_typed(old)} works on an existing run and cannot be combined with"
            f" {', '.join(misfits)}."
        )
    if old:
        options["runs"] = options[old]
        numbers = " ".join(map(str, options["runs"]))
        out.write(
            f"Use {COMMAND} runs {subcommand} {numbers}: the next release has no {_as_typed(old)}."
        )
    return subcommand


def _as_typed(option: str) -> str:
    return f"--{option.replace('_', '-')}"
