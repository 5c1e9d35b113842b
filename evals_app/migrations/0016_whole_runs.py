"""Runs know whether they are whole, and how texts are compared in them.

Of existing ones their snapshots tell: cases, the suite's agent, the agent that was used. Whether a
model took the place of the agent's own can only be seen where the agent was not edited since.
"""

import json
from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def describe_runs(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    run, snapshot = (apps.get_model("evals_app", name) for name in ("Run", "Snapshot"))
    agents = {each.slug: each for each in apps.get_model("evals_app", "Agent").objects.all()}
    rows = run.objects.order_by("pk").only(
        "snapshot", "is_tryout", "rerun_of", "agent_slug", "model", "created_at"
    )
    for sha256 in list(snapshot.objects.values_list("pk", flat=True)):
        row = snapshot.objects.get(pk=sha256)
        content, in_all = json.loads(row.content), row.cases.count()
        for each in rows.filter(snapshot=sha256):
            columns = _columns(each, content, in_all, agents.get(each.agent_slug))
            run.objects.filter(pk=each.pk).update(**columns)


def _columns(run: Any, content: dict[str, Any], in_all: int, agent: Any) -> dict[str, Any]:  # noqa: ANN401 - rows of that time
    suite_agent = content.get("suite", {}).get("agent", run.agent_slug)
    held = run.executions.values("position").distinct().count()
    replaced = _replaced_model(run, agent)
    is_own = suite_agent == run.agent_slug and not replaced
    is_first = not run.is_tryout and run.rerun_of_id is None
    method, is_stand_in = _similarity(content.get("similarity") or {})
    return {
        "case_count": held,
        "suite_case_count": in_all,
        "suite_agent_slug": suite_agent,
        "replaced_model": replaced,
        "is_whole": is_own and is_first and held == in_all,
        "similarity": method,
        "is_similarity_stand_in": is_stand_in,
    }


def _replaced_model(run: Any, agent: Any) -> str:  # noqa: ANN401 - rows of that time
    """Give the agent's own model, where another one was used for certain."""
    if agent is None or not agent.model or agent.updated_at > run.created_at:
        return ""
    _, _, name = run.model.partition("/")
    return "" if agent.model in {run.model, name} else agent.model


def _similarity(frozen: dict[str, Any]) -> tuple[str, bool]:
    """Give how texts were compared, in the words of that time, and whether it was a stand-in."""
    way, model = frozen.get("way", ""), frozen.get("model") or ""
    if isinstance(model, dict):  # with settings
        model = f"{model['provider']}/{model['name']}"
    folder = (frozen.get("directory") or "").rstrip("/").rpartition("/")[2]
    methods = {
        "embeddings": f"embeddings {model}",
        "static": f"embeddings model2vec/{folder}",
        "judge": f"semantic_equivalence {model}",
        "words": "fuzzy_match",
    }
    return methods.get(way, ""), way in {"judge", "words"}


class Migration(migrations.Migration):
    dependencies = [
        ("evals_app", "0015_imported_marks_and_staged_cases"),
    ]

    operations = [
        migrations.AddField(
            model_name="run", name="is_whole", field=models.BooleanField(default=False)
        ),
        migrations.AddField(
            model_name="run", name="case_count", field=models.PositiveIntegerField(null=True)
        ),
        migrations.AddField(
            model_name="run", name="suite_case_count", field=models.PositiveIntegerField(null=True)
        ),
        migrations.AddField(
            model_name="run",
            name="suite_agent_slug",
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AddField(
            model_name="run",
            name="replaced_model",
            field=models.CharField(blank=True, max_length=301),
        ),
        migrations.AddField(
            model_name="run",
            name="similarity",
            field=models.CharField(blank=True, max_length=400),
        ),
        migrations.AddField(
            model_name="run",
            name="is_similarity_stand_in",
            field=models.BooleanField(default=False),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["is_whole", "-id"], name="run_by_is_whole"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("is_whole", True)),
                fields=["suite", "-id"],
                name="run_whole_of_suite",
            ),
        ),
        migrations.RunPython(describe_runs, migrations.RunPython.noop),
    ]
