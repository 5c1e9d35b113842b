"""The folder of files that wait to be imported, which only the site's own account can read."""

from pathlib import Path

from django.conf import settings


def upload_folder() -> Path:
    """Return the folder, which is made if it is missing."""
    folder = Path(settings.DATA_DIR) / "uploads"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def remove_upload(name: str) -> None:
    """Remove a file if there is one; "" is the name of none."""
    if name:
        (upload_folder() / name).unlink(missing_ok=True)
