"""A check `llm_judge` without a scale now means pass or fail: stored ones keep their grades 1 to 5.

Snapshots name the scale anyway. What an import wrote is known by a digest in which usual options do
not stand: of suites with such checks it says nothing any more.
"""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import Q

AT_ONCE = 500


def name_grades(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Write out the scale that was usual."""
    _name(apps, "1-5")


def name_pass_or_fail(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Write out the scale that is usual now."""
    _name(apps, "pass_fail")


def _name(apps: StateApps, scale: str) -> None:
    suite, assertion = (apps.get_model("evals_app", name) for name in ("Suite", "Assertion"))
    checks = assertion.objects.filter(type="llm_judge")
    owners = ("suite_id", "case__suite_id", "turn__case__suite_id")
    has_checks = Q(*(Q(pk__in=checks.values(owner)) for owner in owners), _connector=Q.OR)
    suite.objects.filter(has_checks).update(imported_digest="")
    unsaid = checks.exclude(options__has_key="scale").order_by("pk")
    while rows := list(unsaid.only("pk", "options")[:AT_ONCE]):
        for row in rows:
            row.options = _with_scale(row.options, scale)
        assertion.objects.bulk_update(rows, ["options"])


def _with_scale(options: Any, scale: str) -> dict[str, Any]:  # noqa: ANN401 - as it is stored
    return {**options, "scale": scale} if isinstance(options, dict) else {"scale": scale}


class Migration(migrations.Migration):
    dependencies = [("evals_app", "0016_whole_runs")]

    operations = [migrations.RunPython(name_grades, name_pass_or_fail)]
