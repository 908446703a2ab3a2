"""The page without a mouse."""

from collections.abc import Callable
from typing import Any

Open = Callable[..., Any]


def focused(page: Any) -> str:
    return str(
        page.evaluate(
            "() => document.activeElement.id || document.activeElement.textContent.trim()"
        )
    )


def test_search_and_read_with_the_keyboard_alone(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector("#overview .figures")
    page.locator("#q").blur()
    page.keyboard.press("/")
    with page.expect_response(
        lambda answer: "q=repaired&" in answer.url and "typed" not in answer.url
    ):
        page.keyboard.type("repaired")
    page.wait_for_selector("#results:not([data-old]) li")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = page.locator("#results .open").nth(1)
    assert focused(page) == second.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector("#reader .passage")
    assert focused(page) == "reader"
    page.keyboard.press("Escape")
    page.wait_for_selector("#reader", state="hidden")
    assert focused(page) == second.inner_text()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert focused(page) == "q"
    page.keyboard.press("Enter")  # the first result
    page.wait_for_selector("#reader .passage")


def test_next_and_previous_result_are_read_without_going_back(open_page: Open) -> None:
    page = open_page("?q=repaired")
    page.wait_for_selector("#results li")
    page.locator("#q").blur()
    names = []
    for key in "jjk":
        before = page.url
        page.keyboard.press(key)
        page.wait_for_function("(before) => location.href !== before", arg=before)
        page.wait_for_selector("#results [aria-current]")
        names.append(page.locator("#results [aria-current]").inner_text())
    results = page.locator("#results .open").all_inner_texts()
    assert names == [results[0], results[1], results[0]]
    page.keyboard.press("Escape")
    page.wait_for_selector("#reader", state="hidden")


def test_question_mark_shows_the_keys(open_page: Open) -> None:
    page = open_page("?q=repaired")
    page.wait_for_selector("#results li")
    page.locator("#q").blur()
    page.keyboard.press("?")
    assert page.locator("dialog").get_by_text("copy the citation").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    assert page.locator("#results li").count() > 0


def test_keys_in_the_search_field_are_text(open_page: Open) -> None:
    page = open_page()
    page.keyboard.type("what? j/k")
    page.wait_for_url("**?q=what*")
    assert page.input_value("#q") == "what? j/k" and not page.locator("dialog").is_visible()


def test_first_tab_skips_to_the_content(open_page: Open) -> None:
    page = open_page("?q=repaired")
    page.wait_for_selector("#results li")
    page.locator("#q").blur()
    page.evaluate("() => document.querySelector('.skip').focus()")
    page.keyboard.press("Enter")
    assert (
        focused(page).startswith("Overview")
        or page.evaluate("() => document.activeElement.id") == "main"
    )
