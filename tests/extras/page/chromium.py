"""The Chromium that shows the page."""

import shutil

# The one without windows takes a third less processor time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")


def chromium() -> str | None:
    """The path of the program; None if none is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)
