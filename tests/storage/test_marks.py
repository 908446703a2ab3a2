from collections.abc import Iterator

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document


@pytest.fixture
def vault(db_path: str) -> Iterator[HybridStore]:
    with HybridStore(db_path, {"provider": "none"}) as store:
        yield store


def put(store: HybridStore, *doc_ids: str, **texts: str) -> None:
    with store.storage.transaction():
        for doc_id in doc_ids:
            store.storage.documents.put(
                store.prepare(
                    Document(doc_id, texts.get("text", ""), {}, collection=doc_id.split("/")[0])
                )
            )


def leads(store: HybridStore, source: str, link: str) -> str | None:
    put(store, source, text=link)
    [found] = store.storage.links.links_of(source)
    return found.doc_id


LINKS = [
    ("[[Note]]", "v/Note.md"),
    ("[[Note#Heading|text]]", "v/Note.md"),
    ("[[c/note]]", "v/a/c/Note.md"),
    ("[[b/c/Note]]", "v/b/c/Note.md"),
    ("[[./c/Note]]", "v/a/c/Note.md"),
    ("[[../Note]]", "v/Note.md"),
    ("[[other]]", "w/Other.md"),
    ("[[The Alias]]", "v/Note.md"),
    ("[[a  Title#Part]]", "v/Note.md"),
    ("[[Two words]]", "v/a/Two words.md"),  # a file before a title
    ("[a](../b/c/note.md#sec)", "v/b/c/Note.md"),
    ("[a](../../w/Other.md)", "w/Other.md"),
    ("[a](/b/c/Note.md)", "v/b/c/Note.md"),
    ("[a](Two%20words.md)", "v/a/Two words.md"),
]


@pytest.mark.both_engines
def test_where_a_link_in_v_a_leads(vault: HybridStore) -> None:
    put(vault, "v/Note.md", text="---\naliases: [The Alias]\n---\n# A title")
    put(
        vault,
        "v/a/c/Note.md",
        "v/b/c/Note.md",
        "v/a/c/Deep.md",
        "v/b/Deep.md",
        "v/a/Two words.md",
        "w/Other.md",
    )
    put(vault, "v/titled.md", text="# Two words")
    for link, expected in LINKS:
        assert leads(vault, "v/a/from.md", link) == expected, link


def test_of_two_notes_the_nearest_is_meant_else_the_shortest_path(vault: HybridStore) -> None:
    put(vault, "v/a/b/Note.md", "v/longer/Note.md", "v/c/Note.md", "w/Note.md")
    assert leads(vault, "v/a/from.md", "[[Note]]") == "v/a/b/Note.md"
    assert leads(vault, "v/d/from.md", "[[Note]]") == "v/c/Note.md"
    assert leads(vault, "w/d/from.md", "[[Note]]") == "w/Note.md"
    put(vault, "v/Note.md")
    assert leads(vault, "v/a/from.md", "[[Note]]") == "v/Note.md"  # the link is its whole path


@pytest.mark.both_engines
def test_links_are_right_after_notes_came_and_went(vault: HybridStore) -> None:
    put(vault, "v/from.md", text="[[Later]] ![[image.png]] [x](gone.ts)")
    assert [(link.doc_id, link.broken) for link in vault.storage.links.links_of("v/from.md")] == [
        (None, True), (None, False), (None, False),
    ]  # fmt: skip
    put(vault, "v/x/Later.md")
    assert [link.source for link in vault.storage.links.links_to("v/x/Later.md")] == ["v/from.md"]
    put(vault, "v/Later.md")
    assert vault.storage.links.links_to("v/x/Later.md") == []
    assert vault.storage.links.broken() == []
    vault.delete("v/Later.md")
    vault.delete("v/x/Later.md")
    assert [(link.source, link.target) for link in vault.storage.links.broken()] == [
        ("v/from.md", "Later")
    ]
    vault.delete("v/from.md")
    for table in ("names", "links", "tags"):
        assert vault.storage.connection.execute(f"select * from {table}").fetchall() == []  # type: ignore[attr-defined]


@pytest.mark.both_engines
def test_a_link_with_a_path_is_broken_although_a_note_has_its_name(vault: HybridStore) -> None:
    put(vault, "v/people/Ann.md")
    put(vault, "v/from.md", text="[[projects/Ann]] and [[people/ann]]")
    assert [link.target for link in vault.storage.links.broken()] == ["projects/Ann"]


def test_links_to_a_note_are_found_without_reading_other_links(vault: HybridStore) -> None:
    put(vault, *(f"v/{number}.md" for number in range(50)), text="[[Ann]] [[Bob]]")
    put(vault, "v/Ann.md")
    plan = vault.storage.connection.execute(  # type: ignore[attr-defined]
        "explain query plan select * from links l join documents d using (doc_id) "
        "where l.key in (select key from names where doc_id = ? and kind <> 'title')",
        ("v/Ann.md",),
    ).fetchall()
    assert not any("SCAN l" in row[3] for row in plan)
    assert len(vault.storage.links.links_to("v/Ann.md")) == 50


@pytest.mark.both_engines
def test_names_of_documents(vault: HybridStore) -> None:
    put(vault, "v/people/Ann.md", text="---\nalias: A/B, Annie\n---\n# Ann Lee")
    put(vault, "v/Annie.md", "v/b/Annie.md")
    named = vault.storage.links.named
    assert (
        named("ann lee")
        == named("ANN")
        == named("people/ann.md")
        == named("a/b")
        == ["v/people/Ann.md"]
    )
    assert named("annie") == ["v/Annie.md", "v/b/Annie.md"]
    assert named("b/annie") == ["v/b/Annie.md"]
    assert named("lee") == named("") == []


@pytest.mark.both_engines
def test_a_tag_counts_for_those_it_is_nested_in(vault: HybridStore) -> None:
    put(vault, "v/a.md", text="---\ntags: [work/acme, Work]\n---\n#work/acme/x")
    put(vault, "v/b.md", text="#work/other")
    assert vault.storage.links.tags() == [
        ("work", 2),
        ("work/acme", 1),
        ("work/acme/x", 1),
        ("work/other", 1),
    ]
