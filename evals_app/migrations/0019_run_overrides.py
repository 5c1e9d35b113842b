from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evals_app", "0016_whole_runs")]

    operations = [
        migrations.AddField("run", "overrides", models.JSONField(default=dict)),
    ]
