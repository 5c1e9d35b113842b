"""Profiles, and names that are free for the groups of the roles."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

ROLES = ("Viewer", "Author", "Runner", "Reviewer", "Admin")


def free_the_names(apps: Any, schema_editor: Any) -> None:
    """Rename groups that are called like a role: their people keep the rights that they have."""
    groups = apps.get_model("auth", "Group").objects.using(schema_editor.connection.alias)
    for group in groups.filter(name__in=ROLES):
        new = f"{group.name} (before roles)"
        while groups.filter(name=new).exists():
            new += "*"
        group.name = new
        group.save()


class Migration(migrations.Migration):
    dependencies = [
        ("evals_app", "0005_disabled_cases"),
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Profile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("time_zone", models.CharField(max_length=100)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="profile",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"default_permissions": ()},
        ),
        migrations.RunPython(free_the_names, migrations.RunPython.noop),
    ]
