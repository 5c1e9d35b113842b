"""Judging by a model: the question we write, the verdict we read, the quotes we check."""

from evals_app.engine.judging.judge import ModelJudge

__all__ = ["ModelJudge"]
