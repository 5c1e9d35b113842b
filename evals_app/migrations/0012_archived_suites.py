"""Suites can be put away without losing their history, and know the file they came from."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evals_app", "0011_run_judges")]

    operations = [
        migrations.AddField(
            "suite",
            "archived_at",
            models.DateTimeField("archived", null=True, blank=True, editable=False),
        ),
        migrations.AddField(
            "suite",
            "source",
            models.TextField(
                "imported from",
                default="",
                blank=True,
                editable=False,
                help_text="The file that it was last imported from, where that has a place.",
            ),
            preserve_default=False,
        ),
    ]
