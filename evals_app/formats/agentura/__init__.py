"""The Agentura dialect: `agentura.yaml`, datasets as JSON Lines, rubrics as Markdown.

Source: the Agentura documentation, pages Eval Strategies and agentura.yaml Reference.
"""

from evals_app.formats.agentura.project import read

__all__ = ["read"]
