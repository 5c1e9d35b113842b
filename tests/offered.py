"""Plug-ins as if packages offered them: by group, name and the place of the object."""

from collections.abc import Callable
from importlib.metadata import EntryPoint

import pytest

from evals_app.engine.basics import plugins
from evals_app.engine.graders import GRADERS
from evals_app.engine.llm.judge_plugins import judge_plugins
from evals_app.formats.reader_plugins import reader_plugins
from evals_app.reports.words.report_plugins import report_plugins

Offer = Callable[..., None]


def forget_plugins() -> None:
    """Let plug-ins be looked up again."""
    GRADERS.__dict__.pop("offers", None)
    GRADERS.__dict__.pop("_all", None)
    judge_plugins.cache_clear()
    reader_plugins.cache_clear()
    report_plugins.cache_clear()


def offer_plugins(monkeypatch: pytest.MonkeyPatch, group: str, **values: str) -> None:
    """Offer these in a group, in place of all others."""
    points = [EntryPoint(name, value, f"evalwell.{group}") for name, value in values.items()]
    monkeypatch.setattr(
        plugins,
        "entry_points",
        lambda *, group: [point for point in points if point.group == group],
    )
    forget_plugins()
