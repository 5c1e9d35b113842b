"""Agents may be reached over HTTP, in Python and as programs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the columns, empty: every agent that exists is a model or scripted."""

    dependencies = [("evals_app", "0006_more_providers")]

    operations = [
        migrations.AlterField(
            "agent",
            "driver",
            models.CharField(
                choices=[
                    ("model", "A model with tools"),
                    ("http", "An agent over HTTP"),
                    ("python", "A Python callable"),
                    ("command", "A program"),
                    ("scripted", "Scripted (offline)"),
                ],
                default="model",
                max_length=20,
            ),
        ),
        migrations.AddField(
            "agent", "url", models.CharField(blank=True, default="", max_length=2000)
        ),
        migrations.AddField("agent", "headers", models.JSONField(blank=True, default=dict)),
        migrations.AddField(
            "agent",
            "protocol",
            models.CharField(
                choices=[("json", "Our own JSON"), ("openai-chat", "Chat completions")],
                default="json",
                max_length=20,
            ),
        ),
        migrations.AddField(
            "agent", "remote_model", models.CharField(blank=True, default="", max_length=200)
        ),
        migrations.AddField(
            "agent", "callable", models.CharField(blank=True, default="", max_length=300)
        ),
        migrations.AddField("agent", "command", models.JSONField(blank=True, default=list)),
    ]
