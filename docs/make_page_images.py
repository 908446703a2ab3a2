"""Take docs/page.png and docs/page-reader.png, the page in a browser: `uv run python -m
docs.make_page_images`.

The pictures show a real `hybrid-memory serve` with the notes of docs/example-notes. Chromium has to
be installed.
"""

import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.extras.page.chromium import chromium
from tests.extras.page.serving import serving

DOCS = Path(__file__).resolve().parent
SIZE = {"width": 1280, "height": 640}
PICTURES = {
    "page.png": ("?q=which+port+does+SSH+use+on+the+GPU+server%3F", "#results li"),
    "page-reader.png": (
        "?q=which+port+does+SSH+use+on+the+GPU+server%3F&doc=notes%2Fhosts%2Fatlas.md&lines=11-13",
        ".alike li",
    ),
}


def main() -> None:
    """Write the pictures."""
    notes = DOCS / "example-notes"
    files = {str(path.relative_to(notes)): path.read_text("utf-8") for path in notes.rglob("*.md")}
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), files) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name, (address, shown) in PICTURES.items():
            take(browser, server.url + address, shown, DOCS / name)
        browser.close()


def take(browser: Any, url: str, shown: str, target: Path) -> None:
    """A picture of what is at an address, once `shown` is there."""
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    page.goto(url)
    page.wait_for_selector(shown)
    page.locator("#q").blur()
    if target.name == "page.png":
        page.locator(".why summary").first.click()
    page.screenshot(path=target)
    page.close()


if __name__ == "__main__":
    main()
