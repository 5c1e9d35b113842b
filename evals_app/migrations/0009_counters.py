from typing import Any

from django.db import migrations, models
from django.db.models.functions import Length

MOST_BEFORE = 40  # characters of a name


def forget_long_names(apps: Any, _schema_editor: Any) -> None:
    """Remove counts by labels: the version before has no room for their names, and reads none."""
    tallies = apps.get_model("evals_app", "Tally").objects.alias(length=Length("name"))
    tallies.filter(length__gt=MOST_BEFORE).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("evals_app", "0008_reviews"),
    ]

    operations = [
        migrations.AlterField(
            model_name="tally",
            name="name",
            field=models.CharField(max_length=500, primary_key=True, serialize=False),
        ),
        migrations.RunPython(migrations.RunPython.noop, forget_long_names),
        migrations.AddField(
            model_name="lease",
            name="counted",
            field=models.JSONField(default=list),
        ),
    ]
