"""Each identifier, stored once among chunks that have its parts in every other arrangement, is the first result."""

import random
from collections.abc import Callable, Iterator

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document

LOOK_ALIKES: dict[str, Callable[[int], str]] = {
    "DEC-0054": lambda i: f"DEC-{i + 100:04d} decided, 0054 pieces",
    "phase 7.2": lambda i: f"phase {i % 9 + 1}.{i % 7 + 3}, 7 phases and 2 more",
    "boss-api v2.0": lambda i: f"boss api v1.{i} and boss-api v2.{i % 7 + 1}",
    "payment_processor": lambda i: f"payment of the processor {i}, processor payment",
    "getUserName": lambda i: f"get the user a name {i} setUserName getUserId",
    "src/store.ts": lambda i: f"src/store{i}.ts store.ts/src lib/store.js",
    "/etc/nginx/nginx.conf": lambda i: f"/etc/nginx/sites/{i}.conf nginx conf etc",
    "bob@example.com": lambda i: f"bob{i}@example.com bob example.com ann@example.com",
    "192.168.1.5": lambda i: f"192.168.1.{i % 200 + 6} 192.168.5.1",
    "--maxfail": lambda i: f"maxfail {i} max fail",
    "key=value": lambda i: f"key {i} value, value=key",
    "HEAD~3": lambda i: f"HEAD~{i % 7 + 4} HEAD 3 HEAD^3",
    "$HOME/.config": lambda i: f"HOME config {i} home/config",
    "C++": lambda i: f"C and C# and C code {i}",
    "node.js": lambda i: f"node {i} js, js node",
    "#1234": lambda i: f"1234 items {i}",
    "2026-01-05": lambda i: f"2026-01-{i % 20 + 6:02d} 05-01-2026",
    "sha256:ab12": lambda i: f"sha256:{i:04x}ff ab12",
    "don't": lambda i: f"don {i} t, do not",
    '"exact phrase"': lambda i: f"phrase {i} exact, an exact and good phrase",
    "https://example.com/a/b?c=d#e": lambda i: f"https://example.com/a/{i}?c=d b e",
    "Café-Münster": lambda i: f"cafe {i} munster, Munster cafe",
}
WORDS = "the server was changed again because deploy failed on monday and review waits for config".split()
CHUNKS = 2000


@pytest.fixture(scope="module")
def crowd() -> Iterator[HybridStore]:
    rng = random.Random(1)
    texts = list(LOOK_ALIKES.values())
    held = [("", texts[i % len(texts)](i)) for i in range(CHUNKS)]
    held += [(identifier, identifier.strip('"')) for identifier in LOOK_ALIKES]
    with HybridStore(":memory:") as store:
        with store.storage.transaction():
            for number, (identifier, text) in enumerate(held):
                before, after = (" ".join(rng.choices(WORDS, k=6)) for _ in range(2))
                document = Document(f"n{number}", f"{before} {text} {after}", {"holds": identifier})
                store.storage.documents.put(store.prepare(document))
        yield store


def first(store: HybridStore, query: str) -> str:
    return str(store.search(query, 1, "keyword")[0]["metadata"]["holds"])


@pytest.mark.parametrize("identifier", LOOK_ALIKES)
def test_chunk_with_the_identifier_is_first(crowd: HybridStore, identifier: str) -> None:
    for spelled in (identifier, identifier.upper(), identifier.lower()):
        assert first(crowd, spelled) == identifier


@pytest.mark.parametrize(
    ("query", "identifier"),
    [
        ("where is src/store.ts?", "src/store.ts"),
        ("what did DEC-0054 decide", "DEC-0054"),
        ("(`HEAD~3`)", "HEAD~3"),
        ("is it C++?", "C++"),
        ("CAFE\u0301-MU\u0308NSTER", "Café-Münster"),
        ("don’t", "don't"),
        ("“exact phrase”", '"exact phrase"'),
    ],
)
def test_it_is_first_in_a_question_with_and_without_accents(
    crowd: HybridStore, query: str, identifier: str
) -> None:
    assert first(crowd, query) == identifier


def test_camel_case_is_found_by_its_words() -> None:
    with HybridStore(":memory:") as store:
        store.store("it", "call getUserName here")
        store.store("other", "call setPassword here")
        assert [hit["doc_id"] for hit in store.search("user name", mode="keyword")] == ["it"]


@pytest.mark.parametrize("name", ["m/A.md", "m/a.md", "A.md", "a.md", "A", "a", "./m/A.md"])
def test_of_names_that_differ_in_capitals_the_same_comes_first(name: str) -> None:
    with HybridStore(":memory:", {"provider": "none"}) as store:
        for doc_id in ("m/A.md", "m/a.md"):
            store.store(doc_id, f"the server {len(doc_id)} of {ord(doc_id[2])}")
        found = [hit["doc_id"] for hit in store.search(name)]
        assert found == sorted(
            ["m/A.md", "m/a.md"],
            reverse="a" in name.removesuffix(".md").removeprefix("./m/").removeprefix("m/"),
        )
