"""The application that evaluates agents."""

from pathlib import Path

from django.apps import AppConfig
from django.conf import settings
from django.contrib.auth import signals
from django.db.models.signals import post_migrate, post_save

from evals_app.engine.basics.permits import Permits, set_permits
from evals_app.engine.graders.measures import wordnet


class EvalsConfig(AppConfig):
    """Suites, runs, reviews and what belongs to them."""

    name = "evals_app"
    verbose_name = "Evaluations"

    def ready(self) -> None:
        """Register what Django finds only once the application is loaded."""
        from evals_app import checks  # noqa: F401, PLC0415 - checks read settings
        from evals_app.models.people import activity  # noqa: PLC0415 - it imports models
        from evals_app.models.people.roles import keep_roles  # noqa: PLC0415 - it imports models

        # After Django's own, which makes the permissions.
        post_migrate.connect(keep_roles, sender=self)
        post_save.connect(activity.note_entry, sender="admin.LogEntry")
        signals.user_logged_in.connect(activity.note_sign_in)
        signals.user_login_failed.connect(activity.note_failed_sign_in)
        signals.user_logged_out.connect(activity.note_sign_out)
        set_permits(
            Permits(
                modules=tuple(settings.EVALS_PYTHON_MODULES),
                commands=tuple(settings.EVALS_COMMANDS),
                hosts=tuple(settings.EVALS_PRIVATE_HOSTS),
                variables=tuple(settings.EVALS_HEADER_VARIABLES),
                keys=tuple(settings.EVALS_KEY_VARIABLES),
                mcp_servers=settings.EVALS_MCP_SERVERS,
                interpreters=settings.EVALS_PYTHON_INTERPRETERS,
            )
        )
        wordnet.set_folder(Path(settings.EVALS_WORDNET))
