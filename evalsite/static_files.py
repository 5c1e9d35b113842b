"""Static files with hashed names, compressed once, so that browsers can cache them forever.

gunicorn collects them before it serves (evalsite/web_server.py). Without that, as in tests and with
runserver, files have their plain names and come straight from the packages.
"""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # ships no types
    """Hashed names for collected files, plain ones for others."""

    manifest_strict = False

    def stored_name(self, name: str) -> str:
        """Return the name under which a file is served."""
        collected: str | None = self.hashed_files.get(self.hash_key(self.clean_name(name)))
        return collected or name
