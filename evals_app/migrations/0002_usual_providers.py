"""The usual model APIs exist from the start; a key in the environment is all they need."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

PROVIDERS = [
    {
        "slug": "anthropic",
        "name": "Anthropic",
        "kind": "anthropic",
        "api_key_env": "ANTHROPIC_API_KEY",
    },
    {"slug": "scripted", "name": "Scripted (offline)", "kind": "scripted"},
]


def create(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    provider = apps.get_model("evals_app", "Provider")
    for values in PROVIDERS:
        provider.objects.get_or_create(slug=values["slug"], defaults=values)


class Migration(migrations.Migration):
    """Create the usual providers unless somebody already has."""

    dependencies = [("evals_app", "0001_initial")]

    # Going back deletes nothing: a provider may have been edited since.
    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
