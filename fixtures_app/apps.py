"""The application that keeps fixtures."""

from django.apps import AppConfig


class FixturesConfig(AppConfig):
    """Data sets for agents to work on."""

    name = "fixtures_app"
    verbose_name = "Test data"
