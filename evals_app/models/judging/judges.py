"""How judges graded, counted while runs are in progress."""

from django.db import models

from evals_app.models.run_records.runs import Run


class JudgeTally(models.Model):
    """How many grades of a run one judge took part in on one day (UTC).

    `failed` and `passed` are those that decided; a grade that only informs is neither. `calls` are
    all calls of the judge, `uncounted_calls` those whose tokens are unknown.
    """

    day = models.DateField(db_index=True)
    # The constraint has the index.
    run = models.ForeignKey(Run, models.CASCADE, related_name="judge_tallies", db_index=False)
    model = models.CharField(max_length=301)
    graded = models.PositiveIntegerField(default=0)
    passed = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    not_graded = models.PositiveIntegerField(default=0)
    calls = models.PositiveIntegerField(default=0)
    uncounted_calls = models.PositiveIntegerField(default=0)
    prompt_tokens = models.BigIntegerField(default=0)
    response_tokens = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "judges"
        default_permissions = ()  # people who may read runs may read this
        constraints = [
            models.UniqueConstraint(fields=["run", "day", "model"], name="judge_tally_unique")
        ]

    def __str__(self) -> str:
        return f"{self.model} on {self.day} in run {self.run_id}"
