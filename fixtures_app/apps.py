"""The application of fixtures."""

from django.apps import AppConfig


class FixturesConfig(AppConfig):
    """Data sets that agents work on."""

    name = "fixtures_app"
    verbose_name = "Test data"
