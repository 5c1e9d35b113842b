from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import F
from django.db.models.functions import Now


def date_the_rest(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    runs = apps.get_model("evals_app", "Run").objects.filter(waiting_since=None)
    runs.update(waiting_since=F("created_at"))


class Migration(migrations.Migration):
    dependencies = [("evals_app", "0012_archived_suites")]

    operations = [
        migrations.RenameField("run", "ticketed_at", "waiting_since"),
        migrations.RunPython(date_the_rest, migrations.RunPython.noop),
        migrations.AlterField("run", "waiting_since", models.DateTimeField(db_default=Now())),
        migrations.AddField(
            "run",
            "providers",
            models.ManyToManyField("evals_app.providerstate", related_name="runs"),
        ),
    ]
