"""The page for everyone: axe finds nothing wrong in any state, in light and dark, on a phone and on a desk."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.extras.page.serving import Server

Open = Callable[..., Any]
Serve = Callable[..., Server]
STATES = {
    "overview": ("", ".health .good, .health .bad"),
    "results": ("?q=repaired+boiler", "#results li"),
    "filtered": ("?tag=ops&since=2026-01", "#results li"),
    "nothing": ("?q=boiler&tag=nothing", ".nothing"),
    "reader": ("?q=ssh&doc=notes/hosts/atlas.md&lines=10-16", ".alike li"),
    "obsidian": ("?doc=notes/obsidian.md", ".embedded:has-text('Ice floats.')"),
    "org": ("?doc=notes/ferret.org&lines=2-10", ".sheet pre"),
    "hostile": ("?doc=notes/hostile.md", ".sheet p"),
    "wrong": ("?q=boiler&since=yesterdayish", ".notice"),
}


@pytest.fixture(scope="session")
def axe() -> Any:
    return pytest.importorskip("axe_playwright_python.sync_playwright").Axe()


OUTSIDE = """() => [...document.querySelectorAll("main *, header *")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.right > innerWidth + 1 && !element.closest("pre, .wide, .chips");
}).map((element) => element.outerHTML.slice(0, 120))"""


FAILING = {  # what the requests get -> what is shown
    "offline": (lambda route: route.abort("connectionrefused"), "text=The server does not answer"),
    "token": (
        lambda route: route.fulfill(status=401, content_type="application/problem+json", body="{}"),
        "#token",
    ),
    "busy": (
        lambda route: route.fulfill(status=503, content_type="application/problem+json", body="{}"),
        "text=Try again",
    ),
    "loading": (lambda route: None, "html[data-busy]"),
}


@pytest.mark.parametrize("state", FAILING)
def test_every_failure_is_for_everyone(open_page: Open, axe: Any, state: str) -> None:
    answer, shown = FAILING[state]
    page = open_page("", width=1440, allow=["401", "503", "ERR_CONNECTION_REFUSED"])
    page.wait_for_selector("#overview :is(.good, .bad)")
    page.route("**/api/**", answer)
    page.fill("#q", "boiler")
    page.locator(shown).first.wait_for()
    checked(page, axe)


def test_memory_that_is_empty_says_how_to_fill_it_to_everyone(
    open_page: Open, axe: Any, serve: Serve
) -> None:
    page = open_page("", url=serve({}).url, width=1440)
    page.wait_for_selector("text=This memory is empty")
    assert "hybrid-memory ingest" in page.locator("#overview code").inner_text()
    checked(page, axe)


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_for_everyone(open_page: Open, axe: Any, state: str) -> None:
    address, shown = STATES[state]
    page = open_page(address, width=1440, allow=["422", "404"])
    page.locator(shown).first.wait_for()
    if state == "results":
        page.evaluate(
            "() => { for (const part of document.querySelectorAll('details')) part.open = true; }"
        )
    checked(page, axe)


def checked(page: Any, axe: Any) -> None:
    assert violations(axe, page) == []
    assert page.evaluate(OUTSIDE) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 740})
    assert (
        violations(axe, page, "color-contrast", "target-size", "scrollable-region-focusable") == []
    )
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def violations(axe: Any, page: Any, *rules: str) -> list[str]:
    """What is wrong, a line each."""
    found = axe.run(page, options={"runOnly": list(rules)} if rules else None).response[
        "violations"
    ]
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary']}"
        for each in found
        for node in each["nodes"]
    ]


def test_number_of_results_is_announced(open_page: Open) -> None:
    page = open_page("?q=boiler")
    page.wait_for_selector("#results li")
    count = page.locator("#count")
    assert (count.get_attribute("role"), count.get_attribute("aria-live")) == ("status", "polite")
    assert [
        page.locator(landmark).count()
        for landmark in ("header.top", "main", "[role=search]", "h1:visible")
    ] == [1, 1, 1, 1]


def test_nothing_moves_for_those_who_want_it_so(open_page: Open) -> None:
    page = open_page("?q=boiler")
    page.emulate_media(reduced_motion="reduce")
    page.wait_for_selector("#results li")
    page.evaluate("() => document.documentElement.toggleAttribute('data-busy', true)")
    assert page.evaluate("() => document.getAnimations().length") == 0


@pytest.mark.parametrize("address", ["", "?q=tag:ops+repaired&since=2026-01-01&in=notes"])
def test_header_has_no_broken_words_at_any_width(open_page: Open, address: str) -> None:
    page = open_page(address)
    page.wait_for_selector("#results li, .figures")
    for width in (320, 480, 640, 740, 800, 900, 1080, 1440, 2560):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.locator(BROKEN).evaluate_all(HIGH) == [], width
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width


BROKEN = ".brand span, #help, #dates summary, #count, .chip"
HIGH = """(all) => all.filter((one) => one.checkVisibility()
    && one.offsetHeight > 2 * parseFloat(getComputedStyle(one).lineHeight)).map((one) => one.outerHTML)"""
