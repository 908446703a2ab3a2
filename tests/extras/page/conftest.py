"""A browser, and a server with notes in a process of its own; both are shared by the tests of a worker.

Tests are skipped where there is no Chromium, and fail there if HYBRID_MEMORY_TEST_BROWSER=required, as in CI.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.extras.page.chromium import chromium
from tests.extras.page.notes import NOTES
from tests.extras.page.serving import Server, serving

sync_api = pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("page"), NOTES) as running:
        yield running


Serve = Callable[..., Server]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server for a memory of these files: `serve({"a.md": "# A"}, "--token", TOKEN)`.

    It stops after the test. `open_page` needs this fixture so that pages leave the server before: one
    that still asks for something when the server stops would log an error.
    """
    with ExitStack() as running:
        yield lambda files, *options: running.enter_context(serving(tmp_path, files, *options))


# No process for graphics, which nobody sees: a twelfth of the processor time of these tests.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--in-process-gpu", "--disable-software-rasterizer"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = chromium()
    if program is None:
        if os.environ.get("HYBRID_MEMORY_TEST_BROWSER") == "required":
            pytest.fail("there is no Chromium: apt-get install chromium-headless-shell")
        pytest.skip("there is no Chromium (apt-get install chromium-headless-shell)")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def window(browser: Any) -> Any:
    """One profile for all tests. Its tabs are used again, because a new one costs more than most tests."""
    context = browser.new_context()
    context.set_default_timeout(30_000)  # a machine that many share is slow
    return context


Open = Callable[..., Any]


@pytest.fixture
def open_page(window: Any, server: Server, serve: Serve) -> Iterator[Open]:
    """Open the page at an address, in a tab of its own: `open_page("?q=gpu", width=360, dark=True)`.

    The test fails if a script failed, or if anything was asked of the policy that it forbids; `allow` names what may be logged.
    """
    problems: list[str] = []
    allowed: list[str] = []
    tabs: list[Any] = []

    def on_dialog(dialog: Any) -> None:
        problems.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    listeners = {
        "pageerror": lambda error: problems.append(str(error)),
        "console": lambda message: message.type == "error" and problems.append(message.text),
        "dialog": on_dialog,
    }

    def opened(
        address: str = "",
        *,
        url: str = server.url,
        width: int = 1280,
        height: int = 800,
        dark: bool = False,
        allow: Sequence[str] = (),
    ) -> Any:
        page = next((page for page in window.pages if page not in tabs), None) or window.new_page()
        tabs.append(page)
        allowed.extend(allow)
        for event, listener in listeners.items():
            page.on(event, listener)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="no-preference")
        page.goto(url + address)
        return page

    yield opened
    for page in tabs:
        page.unroute_all(behavior="ignoreErrors")
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        page.goto("about:blank")
    assert [problem for problem in problems if not any(each in problem for each in allowed)] == []
