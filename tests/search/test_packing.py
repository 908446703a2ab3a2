"""Budgets: what is printed never has more characters, its lines are right, and everything in it stands in the notes."""

import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.search.request import Budget
from hybrid_memory.search.result import lean
from hybrid_memory.surface import output
from tests.command import Run, answer
from tests.search.test_surroundings import KINDS

WORDS = "server port password gpu backup 東京 café disk \x9b key".split()


def spaceless(text: str) -> str:
    return "".join(text.split())


@pytest.fixture(scope="module")
def library() -> Iterator[tuple[HybridStore, dict[str, list[str]]]]:
    """A store of ten documents of many chunks, and their lines."""
    numbers = itertools.count(1)
    sources: dict[str, list[str]] = {}
    with HybridStore(
        ":memory:", {"provider": "none", "chunk_size": 120, "chunk_overlap": 30}
    ) as store:
        with store.storage.transaction():
            for number in range(10):
                kinds = list(itertools.islice(itertools.cycle(KINDS), number * 3, number * 3 + 25))
                word = WORDS[number % len(WORDS)]
                text = (
                    "\n".join(f"{KINDS[kind](numbers)}" for kind in kinds)
                    + f"\nThe {word} is {number}. No {word} else!\n"
                )
                sources[f"d{number}"] = text.split("\n")
                store.storage.documents.put(
                    store.prepare(Document(f"d{number}", text, {"date": "2026-01-05"}))
                )
        yield store, sources


def printed(form: str, results: list[dict[str, Any]], query: str, full: bool) -> str:
    paper = io.StringIO()
    output.FORMATS[form](
        results if full or form not in ("json", "jsonl") else list(map(lean, results)), query, paper
    )
    return paper.getvalue()


queries = st.lists(
    st.sampled_from([*WORDS, "port 7", "line", "table"]), min_size=1, max_size=3
).map(" ".join)


@settings(max_examples=30, deadline=None)
@given(
    queries,
    st.integers(100, 6000),
    st.sampled_from(["json", "jsonl", "md", "text"]),
    st.booleans(),
    st.integers(0, 2),
)
def test_a_budget_holds_in_every_form_and_its_lines_are_right(
    library: tuple[HybridStore, dict[str, list[str]]],
    query: str,
    characters: int,
    form: str,
    full: bool,
    context: int,
) -> None:
    store, sources = library
    budget = output.budget(characters, form, query, full=full)
    results = store.search(query, 100, budget=budget, context=context)
    assert len(printed(form, results, query, full)) <= characters
    ranked = [hit["chunk_id"] for hit in store.search(query, 1000, per_doc=1000)]  # by score alone
    assert [hit["chunk_id"] for hit in results] == sorted(
        (hit["chunk_id"] for hit in results), key=ranked.index
    )
    for hit in results:
        source = sources[hit["doc_id"]][hit["start_line"] - 1 : hit["end_line"]]
        for part in hit["text"].split("…"):
            assert spaceless(part) in spaceless("\n".join(source))
        assert hit["citation"] == f"{hit['doc_id']}#L{hit['start_line']}-L{hit['end_line']}"
        if "…" not in hit["text"]:
            assert hit["text"].count("\n") == hit["end_line"] - hit["start_line"]
    for one, other in itertools.combinations(results, 2):  # what overlaps was joined
        if one["doc_id"] == other["doc_id"]:
            assert (
                one["start_line"] > other["end_line"]
                or other["start_line"] > one["end_line"]
                or _share_a_line(one, other)
            )


def _share_a_line(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """A line longer than a chunk can be cut, and the middle piece be missing."""
    return (
        one["end_line"] == other["start_line"]
        or other["end_line"] == one["start_line"]
        or one["start_line"] == other["start_line"]
    )


def test_everything_comes_whole_if_there_is_room(
    library: tuple[HybridStore, dict[str, list[str]]],
) -> None:
    store, sources = library
    [hit] = store.search("gpu", 100, budget=Budget(10**6), context=100)
    lines = sources[hit["doc_id"]]
    assert spaceless(hit["text"]) == spaceless("\n".join(lines))


def test_passages_side_by_side_are_one_with_the_overlap_once(store: HybridStore) -> None:
    text = "\n\n".join(f"## Part {i}\n\nThe port of host {i} is {2000 + i}." for i in range(6))
    store.store("hosts", text)
    [hit] = store.search("port", budget=Budget(10_000))
    assert hit["text"] == text
    assert hit["citation"] == "hosts#L1-L23"
    apart = store.search("port", budget=Budget(40))
    assert [len(hit["text"]) <= 40 for hit in apart] == [True]


def test_what_is_too_long_makes_room_for_what_is_not(store: HybridStore) -> None:
    store.store("long", "gpu gpu gpu " + "and more of it " * 20)
    store.store("short", "a gpu, and something else")
    assert [hit["doc_id"] for hit in store.search("gpu", mode="keyword", budget=Budget(60))] == [
        "short"
    ]


def test_the_best_passage_gives_no_way_to_a_worse_one_that_fits(store: HybridStore) -> None:
    store.store(
        "best", "The deploy is at ten. The deploy script is old.\n" + "It rains again.\n" * 20
    )
    store.store("worse", "No deploy today, all are ill.")
    [hit] = store.search("deploy script", mode="keyword", budget=Budget(60))
    assert hit["doc_id"] == "best"
    assert "The deploy script is old." in hit["text"]


def test_if_no_passage_fits_its_best_sentences_do(store: HybridStore) -> None:
    store.store(
        "it",
        "First we talked.\nThe server has a password. It is hunter2! Then we left.\n\nThe gpu is fine.",
    )
    [hit] = store.search("server password", budget=Budget(40))
    assert hit["text"] == "… The server has a password. …"
    assert (hit["start_line"], hit["end_line"], hit["citation"]) == (2, 2, "it#L2-L2")
    [hit] = store.search("gpu", budget=Budget(20))
    assert (hit["text"], hit["citation"]) == ("… The gpu is fine.", "it#L4-L4")


def test_if_not_even_a_sentence_fits_that_is_told(run: Run) -> None:
    run("store", "--doc-id", "it", "--text", "gpu " * 100, "--provider", "none")
    done = run("search", "gpu", "--budget", "120", "--provider", "none")
    assert answer(done) == []
    assert done.stderr == "hybrid-memory: the budget is too small for the best result, it#L1-L1\n"


def test_tokens_are_four_characters_and_a_limit_is_an_upper_bound(run: Run) -> None:
    for number in range(30):
        run(
            "store",
            "--doc-id",
            f"n{number}",
            "--text",
            f"gpu {number} " + "x" * number,
            "--provider",
            "none",
        )
    search = ("search", "gpu", "--provider", "none", "--budget")
    shown = run(*search, "1000").stdout
    assert 800 < len(shown) <= 1000
    assert run(*search, "250t").stdout == shown
    assert len(answer(run(*search, "100000"))) == 30
    assert len(answer(run(*search, "1000", "--limit", "2"))) == 2
    for wrong in ("99", "24t", "x", "-5", "1.5"):
        assert run("search", "gpu", f"--budget={wrong}").returncode == 2


def test_neighbours_in_a_context_are_joined(store: HybridStore) -> None:
    text = "\n\n".join(
        f"## Part {i}\n\n{'the dog' if i in (1, 3) else 'a server'} {i}" for i in range(6)
    )
    store.store("it", text)
    [hit] = store.search("dog", mode="keyword", context=1)
    assert hit["text"] == "\n".join(text.split("\n")[:19])
    assert hit["citation"] == "it#L1-L19"
    assert len(store.search("dog", mode="keyword")) == 2


def test_messages_of_a_log_are_joined_with_a_blank_line(tmp_path: Path) -> None:
    from hybrid_memory.sync.ingest import Ingest

    record = '{"type": "user", "message": {"content": "gpu message %d"}}\n'
    (tmp_path / "s.jsonl").write_text("".join(record % i for i in range(3)))
    with HybridStore(
        ":memory:", {"provider": "none", "chunk_size": 25, "chunk_overlap": 0}
    ) as store:
        Ingest(store).run([str(tmp_path / "s.jsonl")])
        [hit] = store.search("gpu", budget=Budget(1000))
    assert hit["text"] == "\n\n".join(f"User: gpu message {i}" for i in range(3))
    assert (hit["start_line"], hit["end_line"]) == (1, 3)


@pytest.mark.parametrize("form", ["json", "jsonl", "md", "text"])
def test_a_budget_is_used_to_the_last_character(store: HybridStore, form: str) -> None:
    for name in ("one", "two"):
        store.store(name, f"the dog of {name}. It barks at night and sleeps all day.")
    size = len(printed(form, store.search("dog"), "dog", full=False))
    assert len(store.search("dog", budget=output.budget(size, form, "dog"))) == 2
    assert len(store.search("dog", budget=output.budget(size - 1, form, "dog"))) == 1


def test_closing_tags_are_not_what_is_left_of_a_passage_that_does_not_fit() -> None:
    text = f"<p>The kettle is {'very ' * 60}green.</p>\n</Card> </Cards>\n<b>x</b> </Card>"
    with HybridStore(":memory:", {"provider": "none"}) as store:
        store.store("a", text)
        for characters in (20, 60, 400):
            for result in store.search("kettle", budget=Budget(characters)):
                assert "<b>x" in result["text"] or "kettle" in result["text"]


PUMPS = (
    "# Pumps\n\nThe zebra valve of the lab needs forty full turns to the left with the long red key before it "
    "closes, and Jonas has the only copy of that key. Fridays are for the roof. Ann likes tea."
)
SENTENCE = PUMPS.split("\n\n")[1].split(". ")[0] + "."


@pytest.mark.parametrize("characters", range(100, 420, 20))
def test_a_shortened_passage_has_the_answer_or_is_left_out(characters: int) -> None:
    with HybridStore(":memory:", {"provider": "none"}) as store:
        store.store("q/a", PUMPS)
        budget = output.budget(characters, "md", "zebra valve turns")
        results = store.search("zebra valve turns", budget=budget)
        warnings = list(store.warnings)
    for result in results:
        assert SENTENCE in result["text"]
        assert "Ann likes tea" not in result["text"].removesuffix(PUMPS[-60:])
    if not results:
        assert warnings == ["the budget is too small for the best result, q/a#L1-L3"]


def test_the_heading_stands_above_an_excerpt_if_it_fits(store: HybridStore) -> None:
    store.store(
        "a", f"# Pumps\n\n## Valves\n\n{'It rained. ' * 9}The gpu is hot. {'It rained. ' * 9}"
    )
    [hit] = store.search("gpu", budget=Budget(50))
    assert hit["text"] == "… ## Valves … The gpu is hot. …"
    assert hit["citation"] == "a#L3-L5"
    [hit] = store.search("gpu", budget=Budget(25))
    assert (hit["text"], hit["citation"]) == ("… The gpu is hot. …", "a#L5-L5")


def test_a_heading_alone_is_no_excerpt(store: HybridStore) -> None:
    store.store("a", f"# The gpu server\n\n{'It rained all day. ' * 20}")
    assert store.search("gpu server", mode="keyword", budget=Budget(60)) == []
    assert store.warnings == ["the budget is too small for the best result, a#L1-L3"]


def test_a_smaller_result_does_not_hide_that_the_best_one_is_missing(store: HybridStore) -> None:
    store.store("long", "gpu disk gpu disk " + "and more of it " * 20)
    store.store("short", "a gpu, and something else")
    results = store.search("gpu disk", mode="keyword", budget=Budget(60))
    assert [hit["doc_id"] for hit in results] == ["short"]
    assert store.warnings == ["the budget is too small for the best result, long#L1-L1"]


SENTENCES = st.lists(
    st.sampled_from(
        [
            "The gpu is hot.",
            "Ann likes tea.",
            "A disk, then.",
            "# Gpu",
            "Port 22 is shut!",
            "Over the gpu.",
        ]
    ),
    min_size=3,
    max_size=12,
)


@settings(max_examples=30, deadline=None)
@given(SENTENCES, st.sampled_from([" ", "\n", "\n\n"]), st.integers(10, 120))
def test_every_sentence_of_an_excerpt_has_a_word_of_the_query(
    sentences: list[str], between: str, characters: int
) -> None:
    with HybridStore(":memory:", {"provider": "none", "chunk_size": 2000}) as store:
        store.store("a", between.join(sentences))
        for hit in store.search("gpu port", mode="keyword", budget=Budget(characters)):
            shortened = "…" in hit["text"]
            for part in hit["text"].split("…") if shortened else ():
                for line in filter(None, (line.strip() for line in part.split("\n"))):
                    assert line.startswith("#") or "gpu" in line.lower() or "Port" in line
