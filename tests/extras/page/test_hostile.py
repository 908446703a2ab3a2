"""Notes that would do something to whoever reads them: nothing happens, and their text is shown."""

from collections.abc import Callable
from typing import Any

import pytest

Open = Callable[..., Any]


@pytest.fixture
def asked(open_page: Open) -> Callable[[str], Any]:
    """Open an address of the page; the addresses that it asks for are in `page.asked`."""

    def opened(address: str) -> Any:
        page = open_page()
        page.wait_for_selector("#overview .figures")
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(page.url + address)
        return page

    return opened


@pytest.mark.parametrize(
    "address", ["?q=quokka", "?doc=notes/hostile.md", "?q=quokka&doc=notes/hostile.md&lines=1-9"]
)
def test_hostile_note_does_nothing(asked: Callable[[str], Any], address: str) -> None:
    page = asked(address)  # its end asserts that no dialog opened and that no policy was violated
    place = "#results" if "doc" not in address else ".sheet"
    page.wait_for_selector(f"{place} >> text=quokka")
    page.wait_for_timeout(150)
    assert {url.split("/")[2] for url in page.asked} == {page.url.split("/")[2]}
    made = page.locator(place).evaluate(
        "(root) => [...root.querySelectorAll('script, iframe, img, style, base, meta, object, animate, b[onmouseover], form')].length"
    )
    assert made == 0
    handlers = page.evaluate(
        "() => [...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]).filter((a) => /^on|^style$/.test(a.name)).length"
    )
    assert handlers == 0
    assert page.evaluate("() => document.querySelectorAll('base').length") == 0


def test_links_of_a_hostile_note_go_nowhere_bad(open_page: Open) -> None:
    page = open_page("?doc=notes/hostile.md", allow=["404"])  # a link to a note that is not there
    page.wait_for_selector(".sheet p")
    hrefs = page.locator(".sheet a").evaluate_all(
        "(all) => all.map((link) => [link.protocol, link.origin === location.origin, link.target])"
    )
    assert {tuple(href) for href in hrefs} <= {("https:", False, "_blank"), ("http:", True, "")}
    text = page.locator(".sheet").inner_text()
    for shown in (
        "[script](javascript:alert('link'))",
        '<script>alert("block")</script>',
        "onmouseover",
        "image: tracking",
        "javascript:alert('auto')",
    ):
        assert shown in text
    for link in page.locator(".sheet a.note, .sheet a[data-jump]").all():
        if page.locator(".sheet").is_visible() and link.is_visible():
            link.click()
            break


@pytest.mark.parametrize(
    ("doc", "words"), [("slow", "The numbat is at the end."), ("deep", "the bilby")]
)
def test_text_that_cannot_be_parsed_is_shown_as_it_is(
    open_page: Open, doc: str, words: str
) -> None:
    page = open_page(f"?doc=notes/{doc}.md")
    page.wait_for_selector(f".sheet >> text={words}")
    page.fill("#q", "boiler")  # the page still answers
    page.wait_for_selector("#results li")


def test_huge_line_fits_the_window(open_page: Open) -> None:
    page = open_page("?q=wombat&doc=notes/huge.md&lines=3-5")
    page.wait_for_selector(".sheet p")
    assert len(page.locator(".sheet").text_content()) > 150_000
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
