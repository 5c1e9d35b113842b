"""Encrypt the addresses of webhooks: for a chat they are the secret."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from evals_app.models.fields.sealed import SealedText, seal


def seal_addresses(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Encrypt what is there."""
    hooks = apps.get_model("evals_app", "Webhook").objects
    for pk, url in hooks.values_list("pk", "url"):
        hooks.filter(pk=pk).update(url=seal(url))


class Migration(migrations.Migration):
    """Make room, encrypt, and say that it is encrypted."""

    dependencies = [("evals_app", "0018_sessions")]
    operations = [
        migrations.AlterField("webhook", "url", models.TextField()),
        migrations.RunPython(seal_addresses),
        migrations.AlterField("webhook", "url", SealedText()),
    ]
