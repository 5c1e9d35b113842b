from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evals_app", "0015_imported_marks_and_staged_cases")]

    operations = [
        migrations.AddField("run", "overrides", models.JSONField(default=dict)),
    ]
