"""Reading a document on the page."""

from collections.abc import Callable
from datetime import date
from itertools import pairwise
from typing import Any

import pytest

from hybrid_memory.extras.serve.server import PAGE
from hybrid_memory.surface.output import CALLOUT_KIND

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
    place, file, of, day, *tags = page.locator("#reader .head .meta").inner_text().split()
    assert (place, file, of) == ("notes/hosts/atlas.md", "file", "of")
    assert date.fromisoformat(day)
    assert tags == [
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


def test_all_of_a_long_document_is_there_for_the_search_of_the_browser(open_page: Open) -> None:
    page = open_page(ENTRY_300)
    page.wait_for_selector(".passage")
    titles = page.locator(".sheet h3").all_text_contents()
    assert titles == [f"Entry {number}" for number in range(500)]
    assert page.locator("#reader .more").count() == 0
    laid_out = (
        "(all) => all.filter((one) => one.checkVisibility({ contentVisibilityAuto: true })).length"
    )
    assert (
        0 < page.locator(".sheet h3").evaluate_all(laid_out) < 250
    )  # the others are laid out later


def test_very_long_document_is_read_on_as_one_scrolls(open_page: Open) -> None:
    page = open_page("?doc=notes/endless.md")
    page.wait_for_selector(".later button")
    last = page.locator(".sheet p").last
    before = last.text_content()
    page.evaluate("() => scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_function("() => !document.querySelector('.later button')")
    assert before != last.text_content() == "Step 5999 was taken."


def test_passage_far_down_a_very_long_document_is_read_with_what_is_before_it(
    open_page: Open,
) -> None:
    page = open_page("?doc=notes/endless.md&lines=11001-11001")
    page.wait_for_selector(".passage")
    assert page.locator(".passage").inner_text() == "Step 5499 was taken."
    assert is_in_view(page, ".passage")
    page.click(".earlier button")
    page.wait_for_selector("text=Step 4700 was taken.", state="attached")


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


def test_lines_that_a_note_no_longer_has_are_told_beside_it(open_page: Open) -> None:
    page = open_page("?doc=notes/hosts/atlas.md&lines=5000-5010")
    page.wait_for_selector(".absent-part")
    assert page.locator(".absent-part").inner_text().startswith("This document has no line 5000")


def test_the_bar_of_a_passage_is_straight_beside_callouts_and_formulas(open_page: Open) -> None:
    page = open_page("?doc=notes/obsidian.md&lines=9-137", dark=True, allow=["404"])
    page.wait_for_selector(".formula math")
    edges = page.evaluate(
        "() => [...document.querySelectorAll('.passage:not(.hidden)')].map((block) => Math.round("
        " block.getBoundingClientRect().left + block.clientLeft"
        " + parseFloat(getComputedStyle(block, '::before').left)))"
    )
    assert len(edges) > 6
    assert max(edges) - min(edges) <= 1  # of rounding
    assert page.locator(".formula.passage").first.evaluate(
        "(block) => getComputedStyle(block).overflowX"
    ) in ("visible", "")


@pytest.mark.parametrize("width", [360, 1920])
def test_all_parts_are_named_and_the_list_scrolls_to_the_one_that_is_read(
    open_page: Open, width: int
) -> None:
    page = open_page("?doc=notes/atlas of towns.md&lines=401-403", width=width)
    page.wait_for_selector(".beside [aria-current]")
    assert page.locator(".beside ol a").count() == 120
    assert page.locator(".beside [aria-current]").inner_text() == "Town 100"
    place = page.evaluate(
        "() => { const [list, link] = ['.parts', '.parts [aria-current]'].map((name) =>"
        " document.querySelector(name).getBoundingClientRect());"
        " return [list.height < innerHeight, list.top <= link.top, link.bottom <= list.bottom]; }"
    )
    assert place == [True, True, True]


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
    page.wait_for_selector("#reader h1:text-is('Backups')")
    page.wait_for_selector(".linked h2:text-is('Linked from')")
    page.click(".linked a:text-is('atlas')")
    page.wait_for_selector("#reader h1:text-is('Atlas')")
    assert "lines=8" in page.url
    page.wait_for_selector(".passage")


@pytest.mark.parametrize("words", ["the backups", "that note", "from here"])
def test_links_between_notes_open_the_note(open_page: Open, words: str) -> None:
    page = open_page(ATLAS)
    page.click(f".sheet a:text-is('{words}')")
    page.wait_for_selector("#reader h1:text-is('Backups')")
    assert "doc=notes%2Fhosts%2Fbackups.md" in page.url


def test_broken_link_between_notes_is_text(open_page: Open) -> None:
    page = open_page(ATLAS)
    page.wait_for_selector(".sheet .absent:text-is('tomorrow')")
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
    page.wait_for_selector("text=not a link to an editor")
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
    directions = page.locator(".stretch > *").evaluate_all(
        "(all) => all.map((element) => getComputedStyle(element).direction)"
    )
    assert set(directions) == {"rtl"}


def test_document_that_is_not_there_is_said_to_be_so(open_page: Open) -> None:
    page = open_page("?doc=notes/nothing.md", allow=["404"])
    page.wait_for_selector("text=This document cannot be read")
    assert "notes/nothing.md" in page.locator(".nothing").inner_text()
    page.click("[aria-label='Close the document']")
    page.wait_for_selector("#overview .figures")


OBSIDIAN = "?doc=notes/obsidian.md"


def test_notes_of_obsidian_are_shown_as_obsidian_shows_them(open_page: Open) -> None:
    page = open_page(OBSIDIAN, allow=["404"])
    sheet = page.locator(".sheet")
    sheet.locator(".callout").first.wait_for()
    assert page.locator("#reader h1").inner_text() == "Obsidian, all of it"  # once
    assert sheet.locator("h2.hidden").inner_text() == "Obsidian, all of it"
    assert sheet.locator("h3, h4").all_inner_texts() == ["Sums", "Deep"]
    assert "secret" not in sheet.inner_text().replace("%%no secret%%", "")
    assert sheet.locator("mark").inner_text() == "marked words"
    tip, warning, free = sheet.locator(".callout").all()
    assert free.inner_text().split("\n") == ["Firewall manager", "", "Named freely."]
    assert sheet.locator(".task").all_inner_texts() == ["half done", "given up"]
    boxes = sheet.locator(".task input")
    assert boxes.evaluate_all("(all) => all.map((box) => [box.indeterminate, box.ariaLabel])") == [
        [True, "in progress"],
        [False, "cancelled"],
    ]
    assert tip.evaluate("(element) => [element.tagName, element.open]") == ["DETAILS", False]
    assert tip.locator("summary").inner_text() == "Folded tip"
    assert warning.inner_text().split("\n") == ["Mind the gap", "", "Text of the warning."]
    assert "Mermaid diagram" in sheet.locator("figure").inner_text()
    levels = page.locator("main :is(h1, h2, h3, h4, h5, h6):visible").evaluate_all(
        "(all) => all.map((one) => Number(one.tagName[1]))"
    )
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_formulas_are_drawn_and_prices_are_not(open_page: Open) -> None:
    page = open_page(OBSIDIAN, allow=["404"])
    page.wait_for_selector(".sheet math")
    assert page.locator(".formula").count() == page.locator(".formula math").count() == 2
    assert "It costs $5 and $6, and" in page.locator(".sheet").inner_text()


def test_what_draws_formulas_is_loaded_only_with_a_formula(open_page: Open) -> None:
    page = open_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page.url + ATLAS)
    page.wait_for_selector(".passage")
    page.wait_for_timeout(200)
    assert not any("temml" in url for url in asked)


def test_images_beside_a_note_are_shown_and_others_are_links(open_page: Open) -> None:
    page = open_page(OBSIDIAN, allow=["404"])
    image = page.locator(".sheet img[alt='rack.png']")
    page.wait_for_function("() => document.querySelector('.sheet img')?.naturalWidth === 1")
    assert [image.get_attribute(name) for name in ("alt", "width", "height")] == [
        "rack.png",
        "120",
        "90",
    ]
    page.wait_for_selector(".absent:text-is('image: missing.png')")
    assert page.locator(".absent").all_inner_texts() == ["image: missing.png", "board.canvas"]
    assert page.locator(".sheet a:text-is('image: remote')").count() == 1


def test_embedded_parts_of_notes_are_shown(open_page: Open) -> None:
    page = open_page(OBSIDIAN, allow=["404"])
    page.wait_for_selector(".embedded:has-text('Ice floats.')")
    water, steam = page.locator(".embedded .body").all()
    assert water.inner_text().split() == (
        "Water Steam begins at 100 degrees. Ice Ice floats.".split()
    )
    assert steam.inner_text() == "Steam begins at 100 degrees."
    page.goto(page.url.replace("obsidian", "mirror"))
    page.wait_for_selector(".embedded .embedded >> text=A gnu looks into it.")
    assert page.locator(".embedded .embedded .embedded").count() == 0  # a note in itself ends


@pytest.mark.parametrize(
    ("words", "shown", "part"),
    [
        ("the end", "The end", "The end"),
        ("the sums", "Sums", "Sums"),
        ("facts › steam", "Steam begins at 100 degrees.", "^steam"),
    ],
)
def test_links_with_a_heading_or_a_block_go_there(
    open_page: Open, words: str, shown: str, part: str
) -> None:
    page = open_page(OBSIDIAN, allow=["404"], height=300)
    page.click(f".sheet a:text-is('{words}') >> nth=0")
    page.wait_for_selector(f".passage:text-is('{shown}')")
    assert is_in_view(page, ".passage")
    page.wait_for_function(
        "(part) => new URLSearchParams(location.search).get('part') === part", arg=part
    )
    page.go_back()
    page.wait_for_selector("#reader h1:text-is('Obsidian, all of it')")
    assert page.locator(".passage").count() == 0


def test_heading_that_is_not_there_is_said_to_be_so(open_page: Open) -> None:
    page = open_page("?doc=notes/facts.md&part=Fire")
    page.wait_for_selector("text=“Fire” was not found in this document.")


def test_org_file_is_shown_as_it_is_written_with_its_headings_and_links(open_page: Open) -> None:
    page = open_page("?doc=notes/ferret.org&lines=2-10")
    page.wait_for_selector(".passage")
    sheet = page.locator(".sheet")
    assert sheet.locator("h2, h3, h4").all_inner_texts() == [
        "An org file",
        "Loading the ferret",
        "Unloading",
        "At home",
    ]
    assert "cd repo\ngit clone ferret --mirror\n" in sheet.inner_text()
    links = sheet.locator("a").evaluate_all("(all) => all.map((a) => [a.innerText, a.href])")
    assert links[0] == ["Tailscale", "https://tailscale.com/"]
    assert links[1][0] == "the facts" and "doc=notes%2Ffacts.md" in links[1][1]
    assert links[2] == ["https://example.org/a(b)"] * 2


def test_rst_and_plain_text_keep_their_lines(open_page: Open) -> None:
    page = open_page("?doc=notes/stoat.rst")
    page.wait_for_selector(".sheet pre")
    assert page.locator(".sheet h2, .sheet h3").all_inner_texts()[-1] == "Winter coat"
    assert "----" not in page.locator(".sheet").inner_text()
    assert page.locator(".sheet a").get_attribute("href") == "https://docs.python.org/"
    page.goto(page.url.replace("stoat.rst", "weasel.txt"))
    page.wait_for_selector(".sheet pre >> text=WEASEL")
    assert "It runs   fast" in page.locator(".sheet").inner_text()
    assert page.locator(".sheet a").get_attribute("href") == "https://example.org/weasel"


PAGES = """# Report

First page.
Its link: (https://example.org/x_(y)).

Second page.
"""


def test_pages_and_headings_of_a_pdf_stand_where_they_begin(open_page: Open) -> None:
    page = open_page()
    blocks = page.evaluate(
        """async (text) => {
            const { plainBlocks, plainElement } = await import("./js/plain.js");
            const passages = [{ heading_path: "Report", start_line: 1, end_line: 6 }];
            const blocks = plainBlocks(text, 1, { format: "pdf", passages, pages: [1, 6] });
            const shown = (token) => (token.type === "heading" ? token.tokens[0].text : plainElement(token, {}).innerHTML);
            return blocks.map(({ token, start, end }) => [token.type, start, end, shown(token)]);
        }""",
        PAGES,
    )
    assert [block[:3] for block in blocks] == [
        ["page", 1, 1],
        ["heading", 1, 1],
        ["lines", 2, 5],
        ["page", 6, 6],
        ["lines", 6, 6],
    ]
    assert [blocks[0][3], blocks[1][3], blocks[3][3]] == ["Page 1", "Report", "Page 2"]
    assert 'href="https://example.org/x_(y)"' in blocks[2][3]


def test_search_of_the_browser_finds_what_is_far_below(open_page: Open) -> None:
    page = open_page("?doc=notes/log.md")
    page.wait_for_selector(".sheet h3", state="attached")
    assert page.evaluate("() => window.find('Machine 487 started')")
    page.wait_for_function("() => scrollY > 1000")


def test_the_page_and_the_terminal_recognize_the_same_callouts() -> None:
    syntax = (PAGE / "js/syntax.js").read_text()
    assert CALLOUT_KIND in syntax.partition("const CALLOUT = ")[2].partition("\n")[0]
