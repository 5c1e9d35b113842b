"""Suites get a rubric; evaluation steps that a judge writes are kept."""

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the columns and the table; no suite has a rubric yet, and no judge wrote steps."""

    dependencies = [
        ("evals_app", "0008_turn_data"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="EvaluationSteps",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=64, unique=True)),
                ("criteria", models.TextField()),
                ("shown", models.JSONField(verbose_name="the judge sees")),
                ("model", models.CharField(max_length=301, verbose_name="judge")),
                ("prompt_version", models.PositiveIntegerField()),
                ("written", models.JSONField()),
                ("steps", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "edited_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "evaluation steps",
                "verbose_name_plural": "evaluation steps",
            },
        ),
        migrations.AddField(
            "suite",
            "rubric",
            models.TextField(
                blank=True,
                default="",
                help_text="Markdown, graded once at the end of each conversation, about all of "
                "it: one thing to achieve in each bullet. Blank: none.",
            ),
        ),
        migrations.AddField(
            "suite",
            "rubric_weight",
            models.FloatField(
                default=0.5,
                help_text="Share of the rubric in the score, 0 to 1; the checks have the rest. "
                "Without checks the rubric is all. 0: shown only.",
                validators=[
                    django.core.validators.MinValueValidator(0.0),
                    django.core.validators.MaxValueValidator(1.0),
                ],
            ),
        ),
        migrations.AlterField(
            "suite",
            "pass_threshold",
            models.FloatField(
                default=0.8,
                help_text="Used when the score decides, and for the rubric.",
                validators=[
                    django.core.validators.MinValueValidator(0.0),
                    django.core.validators.MaxValueValidator(1.0),
                ],
            ),
        ),
    ]
