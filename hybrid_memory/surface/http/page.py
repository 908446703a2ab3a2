"""The files of the page."""

import mimetypes
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parent.parent / "page"
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}


class Page(StaticFiles):
    """Everything in the page's folder, with content types that do not depend on the machine."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER, html=True, check_dir=False)
        for suffix, media_type in TYPES.items():
            mimetypes.add_type(media_type, suffix)

    def file_response(self, *args: Any, **named: Any) -> Response:
        """The file, or 304. The browser keeps it, but asks every time whether it is still the same."""
        response = super().file_response(*args, **named)
        response.headers["cache-control"] = "no-cache"
        return response
