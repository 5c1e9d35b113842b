from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("evals_app", "0013_waiting_runs"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="run",
            name="run_verdict_when_ended",
        ),
        migrations.AddField(
            model_name="snapshot",
            name="is_complete",
            field=models.BooleanField(db_default=True),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status__in", ["preparing", "queued", "running"]), ("verdict", "")),
                    models.Q(
                        ("status__in", ["finished", "cancelled"]),
                        models.Q(("verdict", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="run_verdict_when_ended",
            ),
        ),
    ]
