"""Evaluation steps of G-Eval: written by a judge once, edited by people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models

if TYPE_CHECKING:
    from evals_app.engine.judging import Recipe


class EvaluationStepsQuerySet(models.QuerySet["EvaluationSteps"]):
    """Steps by what they were derived from."""

    def keep(self, recipe: "Recipe", proposal: Sequence[str] | None) -> list[str] | None:
        """Store steps unless there are some; return the first ones, None if there are none."""
        if proposal is None:
            known = self.filter(key=recipe.key).first()
            return None if known is None else list(known.written)
        row, _ = self.get_or_create(
            key=recipe.key,
            defaults={
                "criteria": recipe.criteria,
                "shown": list(recipe.shown),
                "model": recipe.model,
                "prompt_version": recipe.version,
                "written": list(proposal),
                "steps": list(proposal),
            },
        )
        return list(row.written)

    def current(self, keys: Sequence[str]) -> dict[str, list[str]]:
        """Return the current steps, by key."""
        return dict(self.filter(key__in=keys).order_by("key").values_list("key", "steps"))


class EvaluationSteps(models.Model):
    """The steps for equal criteria, fields and judge: all their checks share them.

    A run freezes `steps` when it starts. If there were none, it grades by `written`, what the judge
    wrote first, even if `steps` are edited in the meantime.
    """

    key = models.CharField(max_length=64, unique=True)
    criteria = models.TextField()
    shown = models.JSONField("the judge sees")
    model = models.CharField("judge", max_length=301)
    prompt_version = models.PositiveIntegerField()
    written = models.JSONField()
    steps = models.JSONField()
    edited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = EvaluationStepsQuerySet.as_manager()

    class Meta:
        verbose_name = "evaluation steps"
        verbose_name_plural = "evaluation steps"

    def __str__(self) -> str:
        return self.criteria
