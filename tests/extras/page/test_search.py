"""Searching on the page: as one types, with reasons and filters, and with the state in the address."""

import re
from collections.abc import Callable
from typing import Any

import pytest

Open = Callable[..., Any]


def titles(page: Any) -> list[str]:
    return [" ".join(title.split()) for title in page.locator("#results h2").all_inner_texts()]


def test_results_come_as_one_types_with_the_words_marked(open_page: Open) -> None:
    page = open_page()
    page.keyboard.type("ssh port")  # the field has the focus
    page.wait_for_function(
        "() => document.title === 'ssh port'"
    )  # the results of its beginning come first
    page.locator("#results li:first-child h2", has_text="Log in").wait_for()
    assert titles(page)[0] == "Atlas › The GPU server › Log in"
    assert page.locator("#results li").first.locator(".text mark").all_inner_texts() == [
        "SSH",
        "port",
    ]
    assert re.fullmatch(r"(best )?\d+ notes? in \d+ ms", page.locator("#count").inner_text())
    assert page.url.endswith("?q=ssh+port") and page.title() == "ssh port"


def test_inflections_are_marked_and_markdown_is_not_shown_as_signs(open_page: Open) -> None:
    page = open_page("?q=starting+a+job")
    text = page.locator("#results li", has_text="Two cards").locator(".text")
    text.wait_for()
    assert set(text.locator("mark").all_inner_texts()) == {
        "Jobs",
        "started",
    }  # by the stems of the keyword index
    assert "sbatch, and see the backups or that note" in text.inner_text()


def test_heading_and_tags_of_a_passage_are_shown_without_signs(open_page: Open) -> None:
    page = open_page("?q=wombat")
    found = page.locator("#results li", has_text="wombat --dig")
    found.wait_for()
    assert found.locator("h2").inner_text() == "Use wombat --dig"
    assert found.locator(".text").inner_text() == "The wombat digs."


@pytest.mark.parametrize(("question", "word"), [("الخادم", "الخادم"), ("東京", "東京")])
def test_other_scripts_are_found_and_marked_in_their_direction(
    open_page: Open, question: str, word: str
) -> None:
    page = open_page(f"?q={question}")
    first = page.locator("#results .text").first
    first.wait_for()
    assert word in first.locator("mark").first.inner_text()
    assert first.evaluate("(element) => getComputedStyle(element).direction") == (
        "rtl" if word > "\u0600" and word < "\u0700" else "ltr"
    )


def test_late_answer_to_an_earlier_question_is_not_shown(open_page: Open) -> None:
    page = open_page("?q=boiler")
    page.wait_for_selector("#results li")
    held: list[Any] = []
    page.route(
        "**/api/search?q=window*", lambda route: held.append(route)
    )  # it stays without an answer until the next one has its own
    page.fill("#q", "window")
    page.wait_for_url("**?q=window")
    page.fill("#q", "restore a lost file")
    page.wait_for_selector("text=Restore a file")
    for route in held:
        route.continue_()
    page.wait_for_timeout(100)
    assert titles(page)[0] == "Backups › Restore a file"


def test_old_results_stay_until_the_new_ones_are_there(open_page: Open) -> None:
    page = open_page("?q=boiler")
    page.wait_for_selector("#results li")
    page.evaluate("""() => {
        window.fewest = Infinity;
        const look = () => { window.fewest = Math.min(window.fewest, document.querySelectorAll("#results li").length); };
        new MutationObserver(look).observe(document.querySelector("#results"), { childList: true, subtree: true });
    }""")
    top = page.locator("#results").bounding_box()["y"]
    page.locator("#q").press_sequentially(" window roof", delay=15)
    page.wait_for_url("**q=boiler+window+roof")
    page.wait_for_selector("#results mark:text-is('roof')")
    assert page.evaluate("window.fewest") > 0
    assert page.locator("#results").bounding_box()["y"] == top


def test_confidence_is_a_bar_and_a_word(open_page: Open) -> None:
    page = open_page("?q=which+port+does+SSH+listen+on")
    first = page.locator("#results li").first.locator(".confidence").first
    first.wait_for()
    assert first.inner_text().split()[0] == "strong"
    assert "faint" in page.locator("#results .confidence:visible").last.inner_text()
    widths = page.locator("#results .confidence .part").evaluate_all(
        "(all) => all.map((one) => Number(one.getAttribute('width')))"
    )
    assert 40 >= widths[0] > widths[-1]


def test_why_shows_the_parts_of_the_score(open_page: Open) -> None:
    page = open_page("?q=SSH+port")
    why = page.locator("#results li").first.locator(".why")
    why.locator("summary").click()
    names = why.locator("dt").all_inner_texts()
    (first, score), *steps = zip(
        names, map(float, why.locator("dd").all_inner_texts()), strict=True
    )
    assert first == "score"
    assert {"words", "meaning", "document"} <= set(names)
    value = 0.0
    for name, number in steps:
        value = value * number if name.startswith("×") else value + number
    assert value == pytest.approx(score, abs=0.003)
    widths = why.locator(".stack rect").evaluate_all(
        "(all) => all.map((one) => Number(one.getAttribute('width')))"
    )
    assert sum(widths) / 100 == pytest.approx(score, abs=0.003)
    assert "SSH, port" in why.inner_text()


def test_filters_are_put_on_and_taken_away_by_a_click(open_page: Open) -> None:
    page = open_page("?q=repaired")
    page.wait_for_selector("#results li")
    page.click("#results a:text-is('#ops') >> nth=0")
    page.wait_for_selector(".chip")
    assert page.locator(".chip").inner_text().split() == ["tagged", "ops", "×"]
    page.wait_for_function(
        "() => [...document.querySelectorAll('#results > ol > li')].every((li) => li.textContent.includes('#ops'))"
    )
    page.click("#results time >> nth=0")
    page.wait_for_selector(".chip >> nth=1")
    assert page.locator(".chip b").all_inner_texts()[1].startswith("2026-0")
    page.locator(".chip").first.click()
    page.wait_for_function("() => document.querySelectorAll('.chip').length === 1")
    assert "tag=" not in page.url and "since=" in page.url and "q=repaired" in page.url


def test_folder_and_document_are_filters(open_page: Open) -> None:
    page = open_page("?q=repaired")
    page.click("#results .place a:text-is('journal') >> nth=0")
    page.wait_for_selector(".chip")
    assert page.locator(".chip b").inner_text() == "notes/journal"
    places = "[...document.querySelectorAll('#results .place')].map((place) => place.innerText)"  # the old ones stay for a moment
    page.wait_for_function(
        f"() => {places}.length > 0 && {places}.every((place) => place.startsWith('notes/journal/'))"
    )
    assert all(
        place.startswith("notes/journal/")
        for place in page.locator("#results .place").all_inner_texts()
    )


def test_headings_above_a_passage_are_filters(open_page: Open) -> None:
    page = open_page("?q=ssh+port")
    page.click("#results .crumb:text-is('The GPU server')")
    page.wait_for_selector(".chip")
    assert page.locator(".chip").inner_text().split()[:2] == ["below", "Atlas"]
    page.wait_for_function(
        "() => [...document.querySelectorAll('#results h2')].every((h2) => h2.innerText.startsWith('Atlas › The GPU server'))"
    )
    assert page.locator("#results .open").count() > 1
    page.click(".chip")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#results h2')].some((h2) => !h2.innerText.startsWith('Atlas'))"
    )


def test_filters_in_the_query_are_chips_that_leave_it(open_page: Open) -> None:
    page = open_page("?q=tag:ops+in:notes+repaired")
    page.wait_for_selector("#results mark:text-is('repaired')")
    chips = page.locator(".chip")
    assert [chip.inner_text().split() for chip in chips.all()] == [
        ["tag:ops", "×"],
        ["in:notes", "×"],
    ]
    assert all("#ops" in text for text in page.locator("#results > ol > li").all_inner_texts())
    chips.first.click()
    page.wait_for_function("() => document.querySelector('#q').value === 'in:notes repaired'")
    page.wait_for_function("() => document.querySelectorAll('.chip').length === 1")


def test_dates_are_chosen_in_fields(open_page: Open) -> None:
    page = open_page("?q=repaired")
    page.click("#dates summary")
    page.fill("#since", "2026-01-06")
    page.wait_for_selector(".chip:has-text('since')")
    page.fill("#until", "2026-02-28")
    page.wait_for_selector(".chip:has-text('until')")
    page.wait_for_function(
        "() => { const times = [...document.querySelectorAll('#results time')];"
        " return times.length > 0 && times.every((one) => one.dateTime > '2026-01-05' && one.dateTime < '2026-03'); }"
    )
    assert "since=2026-01-06&until=2026-02-28" in page.url
    page.keyboard.press("Escape")
    assert not page.locator("#since").is_visible() and "q=repaired" in page.url
    page.click(".chip:has-text('since')")
    page.wait_for_function("() => document.querySelector('#since').value === ''")
    assert page.input_value("#until") == "2026-02-28"


def test_filter_without_a_question_lists_its_documents(open_page: Open) -> None:
    page = open_page("?tag=home")
    page.wait_for_selector("#results li")
    assert titles(page) == ["2026-04-01", "2026-01-09"]
    assert page.locator("#count").inner_text() == "2 notes"


def test_query_of_filters_alone_lists_their_documents(open_page: Open) -> None:
    page = open_page("?q=tag:home")
    page.wait_for_selector("#results li")
    assert titles(page) == ["2026-04-01", "2026-01-09"]
    assert page.locator("#count").inner_text() == "2 notes"
    assert page.locator(".chip").inner_text().split() == ["tag:home", "×"]


def test_commands_in_a_sentence_are_code_where_nothing_is_found(open_page: Open) -> None:
    page = open_page("?q=tag:home+wombat")
    page.wait_for_selector("#results .nothing")
    assert page.locator("#results .nothing code").inner_text() == "hybrid-memory search"
    assert "object" not in page.locator("#results .nothing").inner_text()


def test_back_leads_through_what_was_asked_and_opened(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector("#overview .figures")
    page.locator("#q").press_sequentially("ssh port", delay=5)
    page.wait_for_selector("#results li")
    page.click("#results .open >> nth=0")
    page.wait_for_selector("#reader h1")
    page.go_back()
    page.wait_for_selector("#reader", state="hidden")
    assert page.input_value("#q") == "ssh port" and titles(page)[0].endswith("Log in")
    page.go_back()
    page.wait_for_selector("#overview .figures")
    assert page.input_value("#q") == ""
    page.go_forward()
    page.wait_for_selector("#results li")
    assert page.input_value("#q") == "ssh port"


def test_address_opens_the_same_in_another_window(open_page: Open) -> None:
    page = open_page("?q=repaired&tag=ops&since=2026-01-05&until=2026-01-05")
    page.click("#results .open >> nth=0")
    page.wait_for_selector("#reader .passage")
    other = open_page(page.url.split("/", 3)[3])
    other.wait_for_selector("#reader .passage")
    assert (
        other.locator("#reader .sheet").inner_text() == page.locator("#reader .sheet").inner_text()
    )
    assert (
        titles(other) == titles(page)
        and other.locator(".chip b").all_inner_texts() == page.locator(".chip b").all_inner_texts()
    )


def test_note_is_one_result_and_its_other_passages_are_unfolded(open_page: Open) -> None:
    page = open_page("?q=machine+started+again")
    note = page.locator("#results > ol > li", has=page.locator("h2:has-text('Log')")).first
    note.wait_for()
    titles = page.locator("#results h2 .open").all_inner_texts()
    assert len(titles) == len(set(titles))
    assert note.locator(".others .open").first.is_hidden()
    note.locator(".others summary:text-is('More in this note')").click()
    others = note.locator(".others .open")
    assert others.count() == 3
    others.first.click()
    page.wait_for_selector("#reader .passage")
    assert page.locator("#reader .passage").first.inner_text() == others.first.inner_text()


def test_more_results_are_a_button_away(open_page: Open) -> None:
    page = open_page("?q=plumber")
    page.wait_for_selector("#results h2")
    before = page.locator("#results h2 .open").all_inner_texts()
    page.click("text=More results")
    page.wait_for_function(
        f"() => document.querySelectorAll('#results .open').length > {len(before)}"
    )
    assert page.locator("#results h2 .open").all_inner_texts()[: len(before)] == before


def test_nothing_found_offers_a_way_out(open_page: Open) -> None:
    page = open_page("?q=boiler&tag=nothing")
    page.click("text=Search everywhere")
    page.wait_for_selector("#results li")
    assert page.url.endswith("?q=boiler")


def test_old_results_are_dimmed_until_those_of_the_new_words_are_there(open_page: Open) -> None:
    page = open_page("?q=boiler")
    page.wait_for_selector("#results:not([data-old]) li")
    held: list[Any] = []
    page.route(
        "**/api/search?q=window*", lambda route: route.continue_() if held else held.append(route)
    )
    with page.expect_request("**/api/search?q=window*"):
        page.fill("#q", "window")
    page.wait_for_selector("#results[data-old] li")
    held[0].continue_()
    page.wait_for_selector("#results:not([data-old]) li")


def test_each_key_asks_for_words_and_a_pause_for_their_meaning(open_page: Open) -> None:
    page = open_page()
    asked: list[str] = []
    page.on("request", lambda request: "/api/search" in request.url and asked.append(request.url))
    with page.expect_request(
        lambda request: "q=restor&" in request.url and "typed" not in request.url
    ):
        page.keyboard.type("restor", delay=30)
    page.locator("#results mark", has_text="estor").first.wait_for()
    typed = [url for url in asked if "mode=keyword" in url and "typed=true" in url]
    whole = [url for url in asked if "typed=true" not in url]
    assert 0 < len(whole) < len(typed)


def test_how_the_operators_of_a_query_were_read_is_told(open_page: Open) -> None:
    page = open_page('?q=in:notes+boiler+tag:home+-"xyzzy"')
    page.wait_for_selector("#results mark")
    assert page.locator("#operators b").all_inner_texts() == ["in:notes", '-"xyzzy"']
    told = page.locator("#warnings").inner_text()
    assert "'tag:home' is a filter only before the words" in told
    assert "searched for the words." in told


def test_words_that_were_looked_for_instead_are_told(open_page: Open) -> None:
    page = open_page("?q=boilre")
    page.wait_for_selector("#results mark")
    assert "No passage has “boilre”: searched for boiler." in page.locator("#warnings").inner_text()
