"""People's reviews of results, the verdicts that follow, and tasks to review."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evals_app.models.run_records.executions import CAUSES, VERDICTS, Execution, GradeResult
from evals_app.models.run_records.judged_criteria import Yardstick
from evals_app.models.run_records.runs import Run


class ReviewTask(models.Model):
    """Grades that people are asked to check, drawn from a run; with no `people`, anyone may."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="review_tasks")
    people = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="+", blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    closed_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()  # those of executions count
        verbose_name, verbose_name_plural = "sample of grades", "check grades"

    def __str__(self) -> str:
        return f"Grades of run {self.run_id} to check"


class ReviewItem(models.Model):
    """A grade, or one bullet of a rubric, that a task asks about."""

    task = models.ForeignKey(ReviewTask, models.CASCADE, related_name="items", db_index=False)
    position = models.PositiveIntegerField()
    grade = models.ForeignKey(GradeResult, models.CASCADE, related_name="+")
    item = models.PositiveIntegerField(null=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["task", "position"], name="review_item_unique")
        ]

    def __str__(self) -> str:
        return f"Grade {self.grade_id} in task {self.task_id}"


class Review(models.Model):
    """One person's review of a grade, of one bullet of a rubric, or of an execution.

    It is never changed: people who change their minds withdraw or replace it. `passed` is the
    person's own verdict on the check, None if they cannot tell; `score` (0..1) theirs on a scale.
    `judged_passed` and `judged_score` are those of the grade. `is_label` means that it was given
    for another wording of the check, so it only shows how far the judge can be trusted.
    """

    class Kind(models.TextChoices):
        VERDICT = "verdict", "Verdict"
        NOT_THE_AGENT = "not_the_agent", "Not the agent's fault"
        COMMENT = "comment", "Comment"

    execution = models.ForeignKey(Execution, models.CASCADE, related_name="reviews")
    grade = models.ForeignKey(GradeResult, models.CASCADE, null=True, related_name="reviews")
    item = models.PositiveIntegerField(null=True)  # the number of the bullet
    kind = models.CharField(max_length=13, choices=Kind, default=Kind.VERDICT)
    passed = models.BooleanField(null=True)
    score = models.FloatField(null=True)
    reason = models.TextField(blank=True)
    yardstick = models.ForeignKey(
        Yardstick, models.PROTECT, null=True, related_name="reviews", db_index=False
    )
    judged_passed = models.BooleanField(null=True)
    judged_score = models.FloatField(null=True)
    was_blind = models.BooleanField(default=False)  # before the person saw the judge's verdict
    is_label = models.BooleanField(default=False)
    task = models.ForeignKey(ReviewTask, models.SET_NULL, null=True, related_name="reviews")
    # The review of an earlier grade that this one repeats, because the conversation is the same.
    carried_from = models.ForeignKey("self", models.CASCADE, null=True, related_name="carried")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_name = models.CharField(max_length=150)  # also of deleted users
    created_at = models.DateTimeField(db_default=Now())
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        default_permissions = ()  # `review_execution` counts
        constraints = [
            models.CheckConstraint(
                name="review_of_a_grade_or_an_execution",
                condition=Q(kind="verdict", grade__isnull=False)
                | Q(kind="not_the_agent", grade__isnull=True)
                | Q(kind="comment"),
            )
        ]
        indexes = [
            models.Index(
                fields=["yardstick", "id"],
                name="review_by_yardstick",
                condition=Q(yardstick__isnull=False, withdrawn_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} by {self.by_name}"


def label_condition(relation: str = "") -> Q:
    """Return when a review, or one of a relation to reviews, compares a judge with people.

    They may say that they cannot tell.
    """
    prefix = f"{relation}__" if relation else ""
    wanted = {
        "yardstick__isnull": False,
        "withdrawn_at": None,
        "kind": Review.Kind.VERDICT,
        "judged_passed__isnull": False,
    }
    return Q(**{f"{prefix}{name}": value for name, value in wanted.items()})


IS_LABEL = label_condition()


class ReviewedVerdict(models.Model):
    """The result of an execution with people's decisions, if they decided anything."""

    execution = models.OneToOneField(
        Execution, models.CASCADE, primary_key=True, related_name="reviewed"
    )
    verdict = models.CharField(max_length=8, choices=VERDICTS)
    cause = models.CharField(max_length=10, choices=CAUSES, blank=True)
    reason = models.TextField(blank=True)
    score = models.FloatField(null=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Conversation {self.execution_id}: {self.verdict}"
