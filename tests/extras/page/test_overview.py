"""What the page shows while nothing is asked."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.extras.page.notes import NOTES
from tests.extras.page.serving import Server, serving

Open = Callable[..., Any]


def test_overview_says_what_the_memory_holds(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector(".figures")
    documents = sum(not name.endswith(".png") for name in NOTES)
    assert sorted(page.locator(".figures > div").first.inner_text().split()) == sorted(
        [str(documents), "documents"]
    )
    assert page.locator(".folders .row").all_inner_texts() == [
        f"notes\n{documents}",
        "bills\n25",
        "hosts\n2",
        "journal\n4",
    ]
    assert sorted(page.locator(".tags a").all_inner_texts()) == [
        "animals 1",
        "gpu 1",
        "home 2",
        "ops 4",
    ]
    assert page.locator(".newest .open").count() == 8
    assert "builtin" in page.locator(".health-card").inner_text()


def test_month_leads_to_its_documents(open_page: Open) -> None:
    page = open_page()
    bars = page.locator(".months a")
    bars.first.wait_for()
    assert bars.evaluate_all("(all) => all.map((bar) => bar.getAttribute('aria-label'))") == [
        "2026-01: 2 documents", "2026-02: 1 document", "2026-04: 1 document",
    ]  # fmt: skip
    assert page.locator(".months .none").count() == 9  # of twelve months
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


def test_newest_are_the_last_dates_where_all_changed_on_one_day(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector(".newest")
    assert page.locator(".newest .open").all_inner_texts()[:4] == [
        "2026-04-01",
        "2026-02-03",
        "2026-01-09",
        "2026-01-05",
    ]
    undated = page.locator(".newest li").nth(4)
    assert "file of 20" in undated.inner_text()


def test_folder_leads_to_its_documents(open_page: Open) -> None:
    page = open_page()
    page.click(".folders a:text-is('hosts')")
    page.wait_for_selector("#results li")
    assert sorted(page.locator("#results h2").all_inner_texts()) == ["atlas", "backups"]
    assert page.locator(".chip").inner_text().split() == ["in", "notes/hosts", "×"]


def test_broken_links_lead_to_where_they_stand(open_page: Open) -> None:
    page = open_page()
    page.click(".broken li:has-text('tomorrow') a")
    page.wait_for_selector("#reader h1:text-is('Atlas')")
    assert "lines=8" in page.url


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A memory with a day of each year, with copies, and with what no longer holds."""
    days = {f"{year}-03-05.md": f"# Day\n\nIn {year}.\n" for year in range(2010, 2021)}
    notes = {
        "a.md": "The same.\n",
        "b.md": "The same.\n",
        "old.md": "---\nsuperseded_by: new\n---\n# Old\n\nIt was so.\n",
        "new.md": "# New\n\nSo.\n",
    }
    with serving(tmp_path_factory.mktemp("old"), days | notes) as server:
        yield server


def test_what_no_longer_holds_is_named_with_the_reason(open_page: Open, old: Server) -> None:
    page = open_page(url=old.url)
    page.wait_for_selector(".superseded")
    assert page.locator(".superseded li").inner_text() == "old its metadata name a successor: new"
    page.click(".superseded li a")
    page.wait_for_selector("#reader h1:text-is('Old')")


def test_every_year_is_in_the_chart_and_copies_are_told(open_page: Open, old: Server) -> None:
    page = open_page(url=old.url)
    page.wait_for_selector(".copies")
    assert page.locator(".copies li").inner_text() == "notes/a.md = notes/b.md"
    assert page.locator(".months a").count() == 11
    assert page.locator(".months text:visible").first.text_content() == "2020"
    page.click("text=2014 and before")
    oldest = page.locator(".months a[aria-label='2010-03: 1 document']")
    assert oldest.is_visible()
    assert oldest.get_attribute("href") == "?since=2010-03&until=2010-03"
