from typing import Any

from django.db import migrations, models

# What only one driver has, with what holds where nothing is written.
_KEYS: dict[str, Any] = {
    **dict.fromkeys(("url", "remote_model", "interpreter", "callable"), ""),
    **{key: {} for key in ("headers", "request", "response", "stream", "poll", "oauth", "pace")},
    **{key: [] for key in ("command", "rules")},
    "protocol": "json",
}


def bring_together(apps: Any, _: Any) -> None:
    for agent in apps.get_model("evals_app", "Agent").objects.all():
        agent.connection = {
            key: value for key, usual in _KEYS.items() if (value := getattr(agent, key)) != usual
        }
        agent.save(update_fields=["connection"])


class Migration(migrations.Migration):
    dependencies = [
        ("evals_app", "0018_had_baseline"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="connection",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.RunPython(bring_together),
        *(migrations.RemoveField(model_name="agent", name=key) for key in _KEYS),
    ]
