"""The application that evaluates agents."""

from pathlib import Path

from django.apps import AppConfig
from django.conf import settings

from evals_app.engine.graders.measures import wordnet
from evals_app.engine.permits import Permits, set_permits


class EvalsConfig(AppConfig):
    """Suites, runs, reviews and what belongs to them."""

    name = "evals_app"
    verbose_name = "Evaluations"

    def ready(self) -> None:
        """Register what Django finds only once the application is loaded."""
        from evals_app import checks  # noqa: F401, PLC0415 - checks read settings

        set_permits(
            Permits(
                modules=tuple(settings.EVALS_PYTHON_MODULES),
                commands=tuple(settings.EVALS_COMMANDS),
                hosts=tuple(settings.EVALS_PRIVATE_HOSTS),
                variables=tuple(settings.EVALS_HEADER_VARIABLES),
                keys=tuple(settings.EVALS_KEY_VARIABLES),
                mcp_servers=settings.EVALS_MCP_SERVERS,
            )
        )
        wordnet.set_folder(Path(settings.EVALS_WORDNET))
