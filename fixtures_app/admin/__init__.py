"""Admin pages of fixtures and entity types."""

from fixtures_app.admin.entity_types import EntityTypeAdmin
from fixtures_app.admin.fixtures import FixtureAdmin

__all__ = ["EntityTypeAdmin", "FixtureAdmin"]
