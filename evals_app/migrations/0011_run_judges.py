"""A run names all models that judge in it, and not only one."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evals_app", "0010_attachments_wanted")]

    operations = [migrations.AlterField("run", "judge", models.TextField(blank=True))]
