"""The Chromium of browser tests and of the pictures of the guide."""

import shutil

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_ARGUMENTS = (
    "--no-sandbox",  # it cannot nest in the containers that tests run in
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    # Chromium asks its maker's servers for this and that; a test run talks to nobody.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    """Return where Chromium is installed."""
    return next(filter(None, map(shutil.which, CHROMIUMS)), None)
