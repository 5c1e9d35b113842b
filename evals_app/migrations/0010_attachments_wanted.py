"""Contents of files go when nothing has wanted them for a day."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("evals_app", "0009_judging")]

    operations = [migrations.RenameField("attachment", "created_at", "wanted_at")]
