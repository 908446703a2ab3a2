"""Reading a document on the page."""

from collections.abc import Callable
from typing import Any

import pytest

Open = Callable[..., Any]
ATLAS = "?q=ssh&doc=notes/hosts/atlas.md&lines=10-16"
ENTRY_300 = "?q=zebra+fan&doc=notes/log.md&lines=1203-1205"


def is_in_view(page: Any, selector: str) -> bool:
    box = page.locator(selector).first.bounding_box()
    below = page.locator("header.top").bounding_box()["height"]
    return bool(below <= box["y"] < page.viewport_size["height"] - 20)


def test_document_is_rendered_as_markdown(open_page: Open) -> None:
    page = open_page(ATLAS)
    sheet = page.locator(".sheet")
    sheet.locator("table").wait_for()
    assert sheet.locator("h2, h3").all_inner_texts() == [
        "The GPU server",
        "Log in",
        "If it does not answer",
    ]
    assert sheet.locator("td").all_inner_texts() == ["atlas", "12 GB"]
    assert sheet.locator("code").first.inner_text() == "sbatch"
    assert page.locator("#reader h1").inner_text() == "Atlas"  # its title
    assert page.locator("#reader .head .meta").inner_text().split() == [
        "notes/hosts/atlas.md",
        "#ops",
        "#gpu",
    ]


def test_tasks_are_boxes_that_say_whether_they_are_done(open_page: Open) -> None:
    page = open_page("?doc=notes/journal/2026-01-05.md")
    page.wait_for_selector(".task")
    assert [box.is_checked() for box in page.locator(".task input").all()] == [False, True]


@pytest.mark.parametrize("width", [360, 1280])
def test_passage_is_marked_and_in_view(open_page: Open, width: int) -> None:
    page = open_page(ENTRY_300, width=width)
    page.wait_for_selector(".passage")
    assert page.locator(".passage").all_inner_texts() == [
        "Entry 300",
        "Machine 300 started again. The zebra fan was replaced.",
    ]
    assert is_in_view(page, ".passage")


def test_long_document_is_read_on_in_both_directions(open_page: Open) -> None:
    page = open_page(ENTRY_300)
    page.wait_for_selector(".passage")
    before = page.locator(".sheet h3").all_inner_texts()
    assert "Entry 300" in before and len(before) < 120
    page.click(".later button")
    page.wait_for_selector(".sheet h3:text-is('Entry 345')")
    page.click(".earlier button")
    page.wait_for_selector(".sheet h3:text-is('Entry 245')")
    titles = page.locator(".sheet h3").all_inner_texts()
    numbers = [int(title.split()[1]) for title in titles]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert page.locator(".passage").first.inner_text() == "Entry 300"


def test_other_passages_of_the_document_are_a_click_away(open_page: Open) -> None:
    page = open_page(ATLAS)
    page.wait_for_selector(".passage")
    assert page.locator(".beside [aria-current]").inner_text() == "Log in"
    page.click(".beside a:text-is('If it does not answer')")
    page.wait_for_selector(".beside [aria-current]:text-is('If it does not answer')")
    assert page.locator(".passage").first.inner_text() == "If it does not answer"


def test_part_of_several_passages_is_named_once(open_page: Open) -> None:
    page = open_page("?doc=notes/parts.md")
    page.wait_for_selector(".beside ol a")
    assert page.locator(".beside ol a").all_inner_texts() == ["The long part", "The end"]


def test_similar_passages_lead_to_other_documents(open_page: Open) -> None:
    page = open_page("?doc=notes/journal/2026-01-05.md&lines=5-12")
    page.click(".alike a >> nth=0")
    page.wait_for_function("() => !location.search.includes('2026-01-05')")
    page.wait_for_selector(".passage")


def test_links_of_a_document_stand_beside_it_in_both_directions(open_page: Open) -> None:
    page = open_page(ATLAS)
    page.wait_for_selector(".linked li")
    assert page.locator(".linked h2").all_inner_texts() == ["Links to"]
    page.click(".linked a:text-is('backups')")
    page.wait_for_selector("#reader h1:text-is('backups')")
    page.wait_for_selector(".linked h2:text-is('Linked from')")
    page.click(".linked a:text-is('atlas')")
    page.wait_for_selector("#reader h1:text-is('Atlas')")
    assert "lines=8" in page.url
    page.wait_for_selector(".passage")


@pytest.mark.parametrize("words", ["the backups", "that note", "from here"])
def test_links_between_notes_open_the_note(open_page: Open, words: str) -> None:
    page = open_page(ATLAS)
    page.click(f".sheet a:text-is('{words}')")
    page.wait_for_selector("#reader h1:text-is('backups')")
    assert "doc=notes%2Fhosts%2Fbackups.md" in page.url


def test_broken_link_between_notes_is_text(open_page: Open) -> None:
    page = open_page(ATLAS)
    page.wait_for_selector(".sheet p:has-text('[[tomorrow]]')")
    assert page.locator(".sheet a", has_text="tomorrow").count() == 0
    assert "tomorrow (missing)" in page.locator(".linked").inner_text()


def test_link_to_elsewhere_opens_another_window_and_says_nothing_of_this_one(
    open_page: Open,
) -> None:
    page = open_page(ATLAS)
    link = page.locator(".sheet a", has_text="example.com")
    assert [link.get_attribute(name) for name in ("href", "target", "rel")] == [
        "https://example.com/rack",
        "_blank",
        "noreferrer noopener",
    ]


def test_citation_is_copied(open_page: Open) -> None:
    page = open_page(ATLAS)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("text=Copy citation")
    page.wait_for_selector(".copy:has-text('Copied')")
    assert page.evaluate("() => navigator.clipboard.readText()") == "notes/hosts/atlas.md#L10-L16"


def test_document_opens_in_the_editor_that_one_has_named(open_page: Open) -> None:
    page = open_page(ATLAS)
    page.click("text=Open in editor")
    page.fill("#template", "javascript:alert({path})")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=no editor")
    page.fill("#template", "vscode://file/{path}:{line}")
    page.keyboard.press("Enter")
    page.wait_for_selector(".template", state="hidden")
    href = page.locator(".edit").get_attribute("href")
    assert href.startswith("vscode://file//") and href.endswith("/notes/hosts/atlas.md:10")
    page.reload()
    page.wait_for_selector(".edit")
    assert page.locator(".edit").get_attribute("href") == href


def test_odd_names_are_found_and_read(open_page: Open) -> None:
    page = open_page("?q=narwhal")
    page.click("#results .open >> nth=0")
    page.wait_for_selector(".passage")
    assert "The narwhal lives here." in page.locator(".sheet").inner_text()
    assert page.locator("#reader .head .place").inner_text() == 'notes/odd # name % "q" <b>&.md'
    page.reload()
    page.wait_for_selector(".passage")


def test_right_to_left_text_runs_so(open_page: Open) -> None:
    page = open_page("?doc=notes/arabic.md&lines=3-5")
    page.wait_for_selector(".passage")
    directions = page.locator(".sheet > *").evaluate_all(
        "(all) => all.map((element) => getComputedStyle(element).direction)"
    )
    assert set(directions) == {"rtl"}


def test_document_that_is_not_there_is_said_to_be_so(open_page: Open) -> None:
    page = open_page("?doc=notes/nothing.md", allow=["404"])
    page.wait_for_selector("text=This document cannot be read")
    assert "notes/nothing.md" in page.locator(".nothing").inner_text()
    page.click("[aria-label='Close the document']")
    page.wait_for_selector("#overview .figures")
