"""Admin pages of fixtures and entity types, and what every editing page is made of."""

from fixtures_app.admin.entity_types import EntityTypeAdmin
from fixtures_app.admin.fixtures import FixtureAdmin

__all__ = ["EntityTypeAdmin", "FixtureAdmin"]
