"""The application that evaluates agents."""

from django.apps import AppConfig


class EvalsConfig(AppConfig):
    """Suites, runs, reviews and what belongs to them."""

    name = "evals_app"
    verbose_name = "Evaluations"

    def ready(self) -> None:
        """Register what Django finds only once the application is loaded."""
        from evals_app import checks  # noqa: F401, PLC0415 - checks read settings
