"""Criteria by which judges grade, so that their grades can be compared with people's."""

from collections.abc import Iterable

from django.db import models

from evals_app.engine.record.grade import JudgedCriterionSpec
from evals_app.reports.words.judges import joined_judges


class YardstickManager(models.Manager["Yardstick"]):
    """All judged criteria."""

    def keys_of(self, specs: Iterable[JudgedCriterionSpec]) -> dict[str, int]:
        """Return the keys of judged criteria by digest; new ones are stored."""
        by_digest = {spec.digest: spec for spec in specs}
        if not by_digest:
            return {}
        known = self._keys(by_digest)
        # Sorted, because another process may be writing the same ones.
        if new := sorted(by_digest.keys() - known.keys()):
            rows = [Yardstick.of(by_digest[digest]) for digest in new]
            self.bulk_create(rows, ignore_conflicts=True)
            known = self._keys(by_digest)
        return known

    def _keys(self, digests: Iterable[str]) -> dict[str, int]:
        return dict(self.filter(digest__in=list(digests)).values_list("digest", "pk"))

    def of_item(self, whole: "Yardstick", *, digest: str, criterion: str) -> "Yardstick":
        """Return the judged criterion of one rubric bullet; `whole` is that of the rubric."""
        row, _ = self.get_or_create(
            digest=digest,
            defaults={
                "type": whole.type,
                "criterion": criterion,
                "scale": "pass_fail",
                "judge": whole.judge,
                "prompt_version": whole.prompt_version,
                "is_item": True,
            },
        )
        return row


class Yardstick(models.Model):
    """A criterion in one wording, with the judge that applies it and the way it is asked.

    Whatever changes answers is part of it: another wording, scale, model or version of the prompt
    is another row. `is_item`: it is one bullet of a rubric.
    """

    digest = models.CharField(max_length=32, unique=True)
    type = models.CharField(max_length=40)
    criterion = models.TextField()
    scale = models.CharField(max_length=20, blank=True)
    judge = models.TextField()  # see reports/words/judges.py
    prompt_version = models.PositiveSmallIntegerField()
    is_item = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = YardstickManager()

    class Meta:
        default_permissions = ()  # people who see executions see them

    def __str__(self) -> str:
        return self.criterion

    @classmethod
    def of(cls, spec: JudgedCriterionSpec) -> "Yardstick":
        """Return the row of a judged criterion, not stored yet."""
        return cls(
            digest=spec.digest,
            type=spec.type,
            criterion=spec.criterion,
            scale=spec.scale,
            judge=joined_judges(spec.judges),
            prompt_version=spec.prompt_version,
        )
