from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evals_app", "0017_judges_say_pass_or_fail")]

    operations = [
        migrations.AddField("run", "overrides", models.JSONField(default=dict)),
    ]
