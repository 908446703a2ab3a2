"""When the server is slow, gone, busy, or lets nobody in."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.extras.page.serving import Server, serving

Open = Callable[..., Any]
TOKEN = "correct-horse-battery-staple"
NOTES = {"a.md": "# Kettle\n\nThe kettle is blue.\n"}


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("locked"), NOTES, "--token", TOKEN) as server:
        yield server


def refuse(page: Any, status: int, detail: str) -> None:
    """Answer every search with a problem."""
    body = json.dumps({"status": status, "detail": detail})
    page.route(
        "**/api/search?**",
        lambda route: route.fulfill(
            status=status, content_type="application/problem+json", body=body
        ),
    )


def test_token_in_the_address_opens_the_memory_and_is_taken_out(
    open_page: Open, locked: Server, window: Any
) -> None:
    page = open_page(f"?q=kettle#token={TOKEN}", url=locked.url)
    page.wait_for_selector("#results li")
    assert "token" not in page.url and page.url.endswith("?q=kettle")
    page.reload()  # the cookie is enough
    page.wait_for_selector("#results li")
    assert page.evaluate("() => document.cookie") == ""  # no script can read it
    window.clear_cookies()


def test_without_a_token_the_page_asks_for_it(open_page: Open, locked: Server, window: Any) -> None:
    page = open_page("?q=kettle", url=locked.url, allow=["401"])
    page.fill("#token", "wrong-wrong-wrong-wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=The token is wrong.")
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#results li")
    assert page.locator("#notice").inner_text() == ""
    window.clear_cookies()


def test_doctor_tells_what_should_be_repaired(open_page: Open, locked: Server, window: Any) -> None:
    (locked.folder / "notes/b.md").write_text("# Toaster\n\nThis note is not in yet.\n")
    page = open_page(f"#token={TOKEN}", url=locked.url)
    page.wait_for_selector(".health .bad")
    assert "hybrid-memory ingest" in page.locator(".health .bad code").first.inner_text()
    window.clear_cookies()


def test_server_that_stops_is_said_to_and_comes_back(open_page: Open) -> None:
    page = open_page("?q=boiler", allow=["ERR_CONNECTION_REFUSED"])
    page.wait_for_selector("#results li")
    page.route("**/api/**", lambda route: route.abort("connectionrefused"))
    page.fill("#q", "roof")
    page.wait_for_selector("text=The server does not answer")
    assert page.locator("#results li").count() > 0  # what was there stays
    page.unroute_all()
    page.wait_for_selector("#results mark:text-is('roof')")
    assert page.locator("#notice").inner_text() == ""


def test_question_that_cannot_be_answered_is_told_why(open_page: Open) -> None:
    page = open_page("?q=boiler&since=yesterdayish", allow=["422"])
    page.wait_for_selector("#notice h2:text-is('Cannot answer this request')")
    assert "yesterdayish" in page.locator("#notice").inner_text()
    page.click(".chip")
    page.wait_for_selector("#results li")
    assert page.locator("#notice").inner_text() == ""


def test_busy_server_can_be_asked_again(open_page: Open) -> None:
    page = open_page("", allow=["503"])
    refuse(page, 503, "the database is locked")
    page.fill("#q", "boiler")
    page.wait_for_selector("text=The database is locked.")
    page.unroute_all()
    page.click("text=Try again")
    page.wait_for_selector("#results li")


def test_slow_answer_shows_that_something_is_going_on(open_page: Open) -> None:
    page = open_page("?q=boiler")
    page.wait_for_selector("#results li")
    held: list[Any] = []
    page.route("**/api/search?**", lambda route: route.continue_() if held else held.append(route))
    page.fill("#q", "roof")
    page.wait_for_selector("html[data-busy] #results[aria-busy='true']")
    held[0].continue_()
    page.wait_for_selector("html:not([data-busy]) #results[aria-busy='false']")


def test_page_weighs_little_and_needs_nothing_from_elsewhere() -> None:
    folder = Path(__file__).parents[3] / "hybrid_memory/extras/serve/page"
    files = [path for path in folder.rglob("*") if path.is_file()]
    sizes = {path.name: path.stat().st_size for path in files}
    assert sizes.pop("temml.js") <= 170_000  # with the first formula only
    assert sum(sizes.values()) <= 185_000
    html = (folder / "index.html").read_text()
    assert "style=" not in html and "onclick" not in html and "<script>" not in html
    for path in files:
        if path.parent.name == "js":
            text = path.read_text()
            assert not any(
                word in text
                for word in (
                    "innerHTML",
                    "outerHTML",
                    "insertAdjacentHTML",
                    "document.write",
                    "eval(",
                )
            )
            assert len(text.splitlines()) <= 300
