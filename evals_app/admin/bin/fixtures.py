"""Fixtures and entity types, deleted so that they can be restored: their own pages know nothing of it."""

from django.contrib import admin

from evals_app.admin.bin.deleting import Deleting
from fixtures_app import admin as pages
from fixtures_app.models import EntityType, Fixture

admin.site.unregister([EntityType, Fixture])


@admin.register(EntityType)
class RestorableEntityTypeAdmin(Deleting, pages.EntityTypeAdmin):
    """Entity types that can be restored."""


@admin.register(Fixture)
class RestorableFixtureAdmin(Deleting, pages.FixtureAdmin):
    """Fixtures that can be restored."""
