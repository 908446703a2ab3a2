import json
import os
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.doctor import Finding, examine
from hybrid_memory.extras.why.explain import explain
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import store_file
from tests.command import Run, in_terminal
from tests.conftest import TopicEmbedder
from tests.fake_ollama import FakeOllama

PAGE = 16384
DAMAGE_OF_FTS = "update chunks_fts_data set block = zeroblob(length(block)) where id = (select max(id) from chunks_fts_data)"


@pytest.fixture
def filled(store: HybridStore, tmp_path: Path) -> HybridStore:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/a.md").write_text("# One\n\ngpu server\n\n# Two\n\npassword")
    (tmp_path / "memory/b.md").write_text("dog")
    Ingest(store).run([str(tmp_path / "memory")])
    store.store("mine", "cat")
    store.storage.keyword().list_words()
    return store


def problems(store: HybridStore, *, thorough: bool = False) -> dict[str, str]:
    return {
        finding.check: finding.text
        for finding in examine(store, thorough=thorough)
        if finding.ok is False
    }


def test_healthy_store_has_no_problems_and_changes_nothing(filled: HybridStore) -> None:
    before = list(filled.storage.connection.iterdump())
    findings = examine(filled, thorough=True)
    assert problems(filled) == {}
    assert [finding.check for finding in findings] == [
        "engine", "integrity", "keyword index", "indexed", "documents", "vector index",
        "embedder", "embeddings", "sources", "only here", "permissions",
    ]  # fmt: skip
    assert list(filled.storage.connection.iterdump()) == before
    assert not filled.storage.connection.in_transaction
    assert all("\n" not in finding.text for finding in findings)
    assert json.loads(json.dumps([finding._asdict() for finding in findings]))[0]["ok"] is True


@pytest.mark.parametrize(
    ("damage", "check", "words"),
    [
        ("delete from chunks_fts where rowid = 1", "indexed", "1 chunk is not in the keyword index; `hybrid-memory reindex`"),
        ("delete from chunks where doc_id = 'mine'", "indexed", "1 row of the keyword index has no chunk; `hybrid-memory reindex`"),
        ("delete from documents where doc_id = 'mine'", "documents", "the chunks of 'mine' have no note; `hybrid-memory delete"),
        ("update documents set chunk_count = 7 where doc_id = 'mine'", "documents", "'mine' has more or fewer chunks"),
        ("update vector_blocks set live = zeroblob(length(live))", "vector index", "`hybrid-memory reindex` repairs it"),
        (DAMAGE_OF_FTS, "keyword index", "malformed; `hybrid-memory reindex`"),
        ("delete from terms where term = 'gpu'", "keyword index", "1 word differs from the index; `hybrid-memory reindex`"),
        ("update chunks set embedding = null, slot = null where id = 1", "embeddings", "3 of 4 chunks have an embedding; `hybrid-memory update`"),
        ("update documents set chunking = 'old'", "sources", "2 notes of"),
    ],
)  # fmt: skip
def test_damage_is_found_with_the_way_out(
    filled: HybridStore, damage: str, check: str, words: str
) -> None:
    filled.storage.connection.execute(damage)
    assert words in problems(filled, thorough=True)[check]
    assert check == "keyword index" or words in problems(filled)[check]
    if "reindex" in words and check != "indexed":
        filled.reindex()
        assert problems(filled, thorough=True) == {}


def test_files_that_differ_are_counted_and_named_with_the_command(
    filled: HybridStore, tmp_path: Path
) -> None:
    folder = tmp_path / "memory"
    (folder / "a.md").write_text("another text")
    (folder / "b.md").unlink()
    (folder / "new.md").write_text("kettle")
    texts = [finding.text for finding in examine(filled) if finding.ok is False]
    ingest = f"`hybrid-memory ingest --path {folder} --incremental`"
    assert texts == [
        f"1 note of {folder} is out of date: a.md; {ingest} reads changed files",
        f"1 note of {folder} no longer has a file: b.md; {ingest} removes notes without a file",
        f"1 note of {folder} is not in the memory yet: new.md; {ingest} ingests new files",
    ]
    Ingest(filled, incremental=True).run([str(folder)])
    assert problems(filled) == {}
    folder.rename(tmp_path / "moved")
    delete = f"`hybrid-memory delete --path {folder}` removes notes without a file"
    assert delete in problems(filled)["sources"]


def test_command_ingests_as_it_was_ingested(store: HybridStore, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "a.txt").write_text("gpu")
    job = Ingest(store, patterns=["*.txt"], exclude=["secret"], keep_missing=True)
    job.run([str(folder)], "notes")
    os.utime(folder / "a.txt", (1, 1))
    options = "--pattern '*.txt' --exclude secret --collection notes --keep-missing --incremental"
    assert f"`hybrid-memory ingest --path {folder} {options}` reads" in problems(store)["sources"]


def test_a_stored_file_may_have_a_list_in_its_metadata(store: HybridStore, tmp_path: Path) -> None:
    (tmp_path / "tools.md").write_text("gpu")
    store_file(store, "tools", str(tmp_path / "tools.md"), {"tags": ["a", "b"]})
    (tmp_path / "tools.md").unlink()
    assert "no longer has a file: tools.md" in problems(store)["sources"]


def test_what_is_kept_without_a_file_is_no_problem(store: HybridStore, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/a.md").write_text("gpu")
    Ingest(store, keep_missing=True).run([str(tmp_path / "memory")])
    (tmp_path / "memory/a.md").unlink()
    [told] = [finding for finding in examine(store) if finding.check == "sources"]
    assert told.ok
    assert told.text.endswith(
        " no longer has a file: a.md; kept, because of --keep-missing or as a transcript"
    )
    assert explain(store, "memory/a.md")["way_out"].startswith("kept, because of --keep-missing")


def test_what_the_rules_leave_out_is_summed_up_and_no_problem(
    filled: HybridStore, tmp_path: Path
) -> None:
    for name in (".git/a.md", "node_modules/b.md", "1.txt", "2.txt", "3.txt", "4.txt"):
        (tmp_path / "memory" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "memory" / name).write_text("x")
    (tmp_path / "memory/link.md").symlink_to("a.md")
    [found] = [finding for finding in examine(filled) if finding.check == "left out"]
    rules = "1 hidden (.git), 4 pattern (1.txt, 2.txt, 3.txt, 1 more), 1 node_modules (node_modules), 1 symbolic link (link.md)"
    assert found == Finding(
        "left out", True, f"{rules}; `hybrid-memory why NOTE` prints the way out for each"
    )
    assert problems(filled) == {}


def test_front_matter_that_is_not_read_is_named_by_file_and_line(
    filled: HybridStore, tmp_path: Path
) -> None:
    text = "---\ntitle: Rack\nstray\n---\nThe rack."
    (tmp_path / "memory/rack.md").write_text(text)
    Ingest(filled).run([str(tmp_path / "memory")])
    reason = "line 3: 'stray' is not a key of the front matter; it is left out"
    [found] = [finding for finding in examine(filled) if finding.check == "front matter"]
    assert found == Finding("front matter", True, f"{tmp_path / 'memory/rack.md'}: {reason}")


def test_file_that_an_ingest_refuses_is_a_problem_and_is_not_called_new(
    filled: HybridStore, tmp_path: Path
) -> None:
    (tmp_path / "memory/bin.md").write_bytes(b"\0")
    (tmp_path / "memory/big.md").write_bytes(b"x" * 100)
    filled.config["max_file_bytes"] = 99
    assert problems(filled) == {
        "left out": "1 size (big.md), 1 encoding (bin.md); `hybrid-memory why NOTE` prints the way out for each"
    }


def test_what_the_builtin_model_cannot_embed_is_no_problem_and_what_it_can_is(
    tmp_path: Path,
) -> None:
    with HybridStore(str(tmp_path / "memory.db"), {"provider": "builtin"}) as store:
        store.store("a", "gpu server")
        store.store("b", "大熊猫基地")
        assert problems(store) == {}
        store.storage.connection.execute("update chunks set embedding = null, slot = null")
        store.reindex()
        assert (
            "0 of 2 chunks have an embedding; `hybrid-memory update`"
            in problems(store)["embeddings"]
        )


def test_other_model_is_named(filled: HybridStore, db_path: str) -> None:
    other = TopicEmbedder()
    other.model = "animals"
    with HybridStore(db_path, embedder=other) as second:
        assert "'topics', not 'animals'" in problems(second)["embedder"]


def test_server_that_does_not_answer_is_named_with_its_reason(
    filled: HybridStore, embedder: TopicEmbedder
) -> None:
    embedder.problem = "cannot connect; start it with `ollama serve`"
    assert (
        problems(filled)["embedder"] == "toy topics: cannot connect; start it with `ollama serve`"
    )
    assert embedder.queries == []


@pytest.mark.parametrize(
    ("switch", "value", "text"),
    [
        ("chat", True, "is not an embedding model"),
        ("cannot_load", "exit status 137", "terminated: exit status 137"),
        ("slow", 3.0, "did not answer within 1 s"),
        ("dims", 384, "config set dims 384"),
        ("digest", "another", "another model of the same name"),
    ],
)
def test_a_model_that_is_listed_but_does_not_work_is_a_problem(
    tmp_path: Path, ollama: FakeOllama, switch: str, value: Any, text: str
) -> None:
    settings = {"ollama_url": ollama.url, "model": "nomic-embed-text", "dims": 768}
    settings["query_timeout"] = 1.0 if switch == "slow" else 30.0  # a busy machine is slow, too
    with HybridStore(tmp_path / "m.db", settings) as store:
        store.store("a", "gpu server")
        assert store.why_not_working(store.fitting_embedder) is None
        assert "embedder" not in problems(store)
        setattr(ollama, switch, value)
    with HybridStore(tmp_path / "m.db", settings) as store:
        assert text in problems(store)["embedder"]
        assert text in str(store.why_not_working(store.fitting_embedder))
        [result] = store.search("which gpu server?")
        assert result["source"] == "keyword"
        assert [text in warning for warning in store.warnings] == [True]


def test_documents_that_are_in_no_file_are_counted_and_named(
    filled: HybridStore, tmp_path: Path
) -> None:
    def only_here() -> str:
        [text] = [finding.text for finding in examine(filled) if finding.check == "only here"]
        return text.partition(";")[0]

    (tmp_path / "memory/a.md").unlink()
    for name in "xyz":
        filled.store(name, "cat")
    assert only_here() == "5 documents have no file: memory/a.md, mine, x, 2 more"
    for doc_id in ("memory/a.md", "mine", "x", "y", "z"):
        filled.delete(doc_id)
    assert only_here() == "every document has a file"


def test_file_that_others_may_read_is_a_problem(filled: HybridStore, db_path: str) -> None:
    os.chmod(db_path, 0o644)
    assert (
        problems(filled)["permissions"]
        == f"other users can access {db_path} (mode 644); `chmod 600 {db_path}*`"
    )


def test_database_being_written_is_examined_all_the_same(filled: HybridStore, db_path: str) -> None:
    with HybridStore(db_path, embedder=TopicEmbedder()) as other, other.storage.transaction():
        other.storage.documents.remove("mine")
        findings = examine(filled, thorough=True)
    assert Finding("keyword index", None, "not checked: database is locked") in findings
    assert all(finding.ok for finding in findings if finding.check != "keyword index")


def overwritten(store: HybridStore, first: int, last: int) -> HybridStore:
    """The store again, after these pages of its file were overwritten."""
    store.close()
    data = bytearray(Path(store.path).read_bytes())
    for page in range(first, min(last, len(data) // PAGE)):
        data[page * PAGE : page * PAGE + 64] = b"\xff" * 64
    Path(store.path).write_bytes(data)
    return HybridStore(store.path, {"provider": "none"}, create=False)


def test_damaged_page_is_a_problem_and_no_crash(filled: HybridStore) -> None:
    filled.store("long", "gpu server password " * 3000)
    with overwritten(filled, 15, 1000) as damaged:
        found = problems(damaged, thorough=True)
    assert "`hybrid-memory copy OLD NEW` copies what can be read" in found["integrity"]
    assert "reindex" not in str(found)


def test_reindex_is_not_advised_where_more_than_an_index_is_damaged(filled: HybridStore) -> None:
    filled.storage.connection.execute("delete from chunks_fts where rowid = 1")
    assert "`hybrid-memory reindex` repairs it" in problems(filled)["indexed"]
    table = "select rootpage from sqlite_schema where name = 'query_embeddings'"
    [page] = filled.storage.connection.execute(table).fetchone()
    with overwritten(filled, page - 1, page) as damaged:
        found = problems(damaged)
    assert "`hybrid-memory copy OLD NEW`" in found["indexed"]
    assert "reindex" not in found["indexed"]


def test_the_file_is_not_read_through_unless_a_thorough_look_is_asked_for(
    filled: HybridStore,
) -> None:
    statements: list[str] = []
    filled.storage.connection.set_trace_callback(statements.append)
    examine(filled)
    assert [text for text in statements if "integrity" in text] == []
    assert Finding(
        "integrity", None, "not checked; `hybrid-memory doctor --thorough` reads the whole database"
    ) in examine(filled)
    examine(filled, thorough=True)
    assert len([text for text in statements if "integrity" in text]) == 2


def test_advice_about_models_is_not_given_where_something_is_wrong(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    assert run("ingest", "--path", str(folder), "--provider", "auto").returncode == 0
    assert "ollama pull" in run("doctor", "--provider", "auto").stderr
    os.chmod(tmp_path / "cli.db", 0o644)
    assert run("doctor", "--provider", "auto").stderr == ""


def test_a_person_reads_which_checks_were_skipped(
    run: Run, environ: dict[str, str], folder: Path
) -> None:
    run("ingest", "--path", str(folder), "--provider", "none")
    shown = in_terminal(environ | {"COLUMNS": "200"}, "doctor", "--provider", "none")
    assert "skipped integrity: not checked" in shown
    assert "PROBLEM" not in shown
    assert run("doctor", "--provider", "none").returncode == 0


def test_a_text_replaced_under_the_same_size_and_time_is_found_by_a_thorough_look(
    filled: HybridStore, run: Run, tmp_path: Path, db_path: str
) -> None:
    note = tmp_path / "memory/b.md"
    before = note.stat()
    note.write_text("cat")
    os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))
    [finding] = [finding for finding in examine(filled) if finding.check == "sources"]
    assert finding.ok
    assert "none has changed its size or time" in finding.text
    command = f"hybrid-memory ingest --path {tmp_path / 'memory'}"
    assert problems(filled, thorough=True) == {
        "sources": f"1 note of {tmp_path / 'memory'} has changed, "
        f"with the same size and time: b.md; `{command}` reads every file"
    }
    Ingest(filled).run([str(tmp_path / "memory")])  # what the command does
    assert problems(filled, thorough=True) == {}
