"""Turns get files, context, retrieved knowledge and data; contents of files are stored once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the columns, empty, and the table of contents."""

    dependencies = [("evals_app", "0007_agent_drivers")]

    operations = [
        migrations.CreateModel(
            name="Attachment",
            fields=[
                ("sha256", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("size_bytes", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.AddField("turn", "files", models.JSONField(blank=True, default=list)),
        migrations.AddField("turn", "context", models.JSONField(blank=True, default=list)),
        migrations.AddField("turn", "retrieval_context", models.JSONField(blank=True, null=True)),
        migrations.AddField("turn", "config", models.JSONField(blank=True, default=dict)),
    ]
