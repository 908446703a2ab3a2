"""What the page shows while nothing is asked."""

from collections.abc import Callable
from typing import Any

from tests.extras.page.notes import NOTES
from tests.extras.page.serving import serving

Open = Callable[..., Any]


def test_overview_says_what_the_memory_holds(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector(".figures")
    assert sorted(page.locator(".figures > div").first.inner_text().split()) == sorted(
        [str(len(NOTES)), "documents"]
    )
    assert page.locator(".collections a").inner_text().split() == ["notes", str(len(NOTES))]
    assert sorted(page.locator(".tags a").all_inner_texts()) == ["gpu 1", "home 2", "ops 3"]
    assert page.locator(".newest .open").count() == 8
    assert "builtin" in page.locator(".health-card").inner_text()


def test_month_leads_to_its_documents(open_page: Open) -> None:
    page = open_page()
    bars = page.locator(".months a")
    bars.first.wait_for()
    assert bars.evaluate_all("(all) => all.map((bar) => bar.getAttribute('aria-label'))") == [
        "2026-01: 2 documents", "2026-02: 1 document", "2026-04: 1 document",
    ]  # fmt: skip
    assert page.locator(".months .none").count() == 1  # March
    bars.first.click()
    page.wait_for_selector("#results li")
    assert page.locator("#results h2").all_inner_texts() == ["2026-01-09", "2026-01-05"]
    assert page.locator(".chip").inner_text().split() == ["in", "2026-01", "×"]


def test_tag_leads_to_its_documents_and_back(open_page: Open) -> None:
    page = open_page()
    page.click(".tags a:has-text('gpu')")
    page.wait_for_selector("#results li")
    assert page.locator("#results h2").all_inner_texts() == ["atlas"]
    page.keyboard.press("Escape")
    page.wait_for_selector(".figures")


def test_empty_memory_says_how_to_fill_it(open_page: Open, tmp_path: Any) -> None:
    with serving(tmp_path, {}) as server:
        page = open_page(url=server.url)
        page.wait_for_selector("text=This memory is empty")
        assert "hybrid-memory ingest" in page.locator("#overview code").inner_text()
