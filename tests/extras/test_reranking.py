"""Reranking, by servers in a thread that answer as the real ones do, and by `local` with a stand-in for fastembed."""

import importlib.util
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.extras.doctor import examine
from hybrid_memory.extras.rerankers import base
from hybrid_memory.extras.rerankers.base import comparable
from hybrid_memory.extras.rerankers.fastembed import LocalReranker, _loaded
from hybrid_memory.extras.rerankers.servers import FORMS, ServerReranker, endpoint
from hybrid_memory.extras.serve.bounds import NO_BOUNDS
from hybrid_memory.extras.serve.passages import passages
from tests.command import Run, answer
from tests.conftest import TopicEmbedder
from tests.extras.fake_rerankers import FAKES, KEY, KEYS, FakeLlamaCpp, FakeReranker, FakeTEI
from tests.extras.serving import served
from tests.traces import evaluated, steps

QUERY = "gpu server password"
NOTES = {  # by their words alone: a, b, c, d; and d so far behind that a reranker needs a good part of the weight
    "a": "The gpu server has a password.",
    "b": "The gpu server stands in the rack beside the door.",
    "c": "The server hums.",
    "d": "A password manager is what we use for hunter2, the login of Atlas.",
}
WANTED = "hunter2"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for form in FORMS.values():
        monkeypatch.delenv(form.key_variable, raising=False)
    for variable in KEYS.values():
        monkeypatch.setenv(variable, KEY)


@pytest.fixture
def server() -> Iterator[FakeTEI]:
    with FakeTEI() as tei:
        tei.judged = {WANTED: 9.0}
        yield tei


Opened = Callable[..., HybridStore]


@pytest.fixture
def opened(db_path: str) -> Iterator[Opened]:
    """A store with the notes; all stores that a test opens are of one database."""
    stores: list[HybridStore] = []

    def open_store(server: FakeReranker | None, name: str = "tei", **config: Any) -> HybridStore:
        rerank = {"rerank": name, "rerank_url": server.url} if server else {}
        stores.append(
            HybridStore(
                db_path,
                {"half_life_days": 0.0, "rerank_weight": 0.7, **rerank, **config},
                embedder=TopicEmbedder(),
            )
        )
        if len(stores) == 1:
            for doc_id, text in NOTES.items():
                stores[0].store(doc_id, text)
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


def ids(results: list[dict[str, Any]]) -> list[str]:
    return [result["doc_id"] for result in results]


# The servers


@pytest.mark.parametrize("name", FAKES)
def test_every_server_reorders_every_mode(name: str, opened: Opened) -> None:
    with FAKES[name]() as server:
        server.judged = {WANTED: 9.0}
        store = opened(server, name, query_cache_size=0)
        for number, mode in enumerate(("keyword", "vector", "hybrid"), 1):
            server.scored.clear()
            found = store.search(QUERY, mode=mode)
            assert store.warnings == []
            assert found[0]["doc_id"] == "d"
            assert {*ids(found)} == {*ids(store.search(QUERY, mode=mode, rerank=False))}
            assert len(server.requests) == number
            assert {*server.scored} == {NOTES[doc_id] for doc_id in ids(found)}


def test_equal_models_give_equal_scores_whatever_the_server_makes_of_the_logit(
    opened: Opened,
) -> None:
    found = []
    for name, fake in FAKES.items():
        with fake() as server:
            server.judged = {WANTED: 9.0}
            found.append(
                [
                    (hit["doc_id"], pytest.approx(hit["score"], abs=1e-5))
                    for hit in opened(server, name).search(QUERY)
                ]
            )
    assert all(each == found[0] for each in found[1:])


def test_the_heading_path_is_sent_with_the_text(server: FakeTEI, opened: Opened) -> None:
    store = opened(server)
    store.store("e", "# Atlas\n\n## The gpu server\n\nIts password is on paper.")
    store.search(QUERY)
    assert any(
        text.startswith("Atlas > The gpu server\n\n") and "on paper" in text
        for text in server.scored
    )


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://box:8080", "http://box:8080/v1/rerank"),
        ("http://box/v1", "http://box/v1/rerank"),
        ("https://gateway/api/v2/rerank", "https://gateway/api/v2/rerank"),
        ("http://user:secret@[::1]:80", "http://user:secret@[::1]:80/v1/rerank"),
    ],
)
def test_a_url_may_have_the_path_or_not(url: str, asked: str) -> None:
    assert endpoint(url, "/v1/rerank") == asked


def test_a_remote_server_needs_its_key_and_names_the_variable(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEYS["jina"])
    store = opened(None, rerank="jina")  # no URL: the real one, which is not reached
    plain = ids(store.search(QUERY, rerank=False))
    assert ids(store.search(QUERY)) == plain
    assert store.warnings == [
        "not reranked: JINA_API_KEY is not set; export it, or choose another provider"
    ]


@pytest.mark.parametrize("name", KEYS)
def test_a_refused_key_is_told_and_not_shown(
    name: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEYS[name], "another-key")
    with FAKES[name]() as server:
        store = opened(server, name)
        store.search(QUERY)
        [warning] = store.warnings
        assert f"refused the key; is {KEYS[name]} right?" in warning
        assert "another-key" not in warning


# What goes wrong


def sends(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[FakeTEI], None]:
    return lambda server: setattr(server, "spoil", change)


def answers(status: int, text: str) -> Callable[[FakeTEI], None]:
    return lambda server: setattr(server, "error", (status, text))


BROKEN: dict[str, tuple[Callable[[FakeTEI], None], str]] = {
    "too few": (sends(lambda items: items[1:]), "did not return a score for each passage"),
    "index is a list": (
        sends(lambda items: [{**items[0], "index": []}, *items[1:]]),
        "answers, but not like TEI",
    ),
    "NaN": (
        sends(lambda items: [{**items[0], "score": math.nan}, *items[1:]]),
        "returned a score that is not a number",
    ),
    "another model": (
        answers(424, "model is not a re-ranker model"),
        "answered 424: model is not a re-ranker model",
    ),
    "no words": (answers(401, ""), "refused the key; is TEI_API_KEY right?"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_bad_reply_leaves_the_merged_order_and_is_told_once(
    name: str, server: FakeTEI, opened: Opened
) -> None:
    spoil, told = BROKEN[name]
    spoil(server)
    store = opened(server)
    plain = store.search(QUERY, rerank=False, explain=True)
    assert store.search(QUERY, explain=True) == plain
    [warning] = store.warnings
    assert warning.startswith("not reranked: ") and told in warning
    assert len(server.requests) == 1
    server.spoil = server.error = server.page = server.redirect = None
    assert ids(store.search(QUERY))[0] == "d", "what failed is not kept"


def test_a_server_that_is_away_is_told_and_asked_again(server: FakeTEI, opened: Opened) -> None:
    store = opened(server)
    server.stop()
    assert ids(store.search(QUERY))[0] == "a"
    assert store.warnings == [
        f"not reranked: cannot connect to TEI at {server.url}/rerank (connection refused); is it running?"
    ]
    server.start()
    assert ids(store.search(QUERY))[0] == "d"


@pytest.mark.parametrize("error", [(429, "Model is overloaded"), (503, "Loading model")])
def test_a_busy_server_is_asked_again_within_the_budget(
    error: tuple[int, str], server: FakeTEI, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "backoff", lambda attempt: 0.01)
    server.busy, server.busy_error = 2, error
    store = opened(server)
    assert ids(store.search(QUERY))[0] == "d"
    assert (len(server.requests), store.warnings) == (3, [])


def test_a_server_that_asks_for_more_time_than_there_is_gets_none_and_rests(
    server: FakeTEI, opened: Opened
) -> None:
    server.busy, server.retry_after = 9, "60"
    store = opened(server)
    for query in (QUERY, "gpu password"):
        assert ids(store.search(query))[0] == "a"
    assert len(server.requests) == 1
    assert "answered 429: Too many requests" in store.warnings[0]


def test_a_slow_server_costs_the_budget_and_then_rests(server: FakeTEI, opened: Opened) -> None:
    server.drip = 0.2  # seconds a byte
    store = opened(server, rerank_timeout=0.3)
    for query in (QUERY, "gpu password"):
        assert ids(store.search(query))[0] == "a"
    assert store.warnings == [
        f"not reranked: TEI at {server.url}/rerank did not answer within 0.3 s (rerank_timeout)"
    ]
    assert len(server.requests) == 1


# Texts and batches


def test_more_passages_than_a_request_may_have_are_asked_for_in_several(
    server: FakeTEI, opened: Opened
) -> None:
    store = opened(server, rerank_limit=80)
    for number in range(70):
        store.store(f"many-{number}", f"The gpu server number {number} has no password.")
    server.judged["number 69 "] = 9.0
    found = store.search(QUERY, limit=100)
    assert found[0]["doc_id"] == "many-69"
    assert [len(body["texts"]) for body in server.bodies] == [32, 32, 10]


def test_a_server_with_smaller_batches_is_asked_in_halves(server: FakeTEI, opened: Opened) -> None:
    server.most_texts = 2
    store = opened(server)
    assert ids(store.search(QUERY))[0] == "d"
    assert [len(body["texts"]) for body in server.bodies] == [4, 2, 2]


def test_a_passage_that_is_too_long_is_scored_by_its_beginning() -> None:
    with FakeLlamaCpp() as server:
        server.context = 40
        reranker = ServerReranker("llamacpp", server.url, None, 5.0)
        texts = ["short gpu", "gpu password " * 40, "password"]
        assert reranker.scores("gpu password", texts) == [-3.0, -2.0, -3.0]
        [cut] = [text for text in server.scored if len(text) > 20]
        assert texts[1].startswith(cut)
        reranker.close()


def test_a_query_that_is_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeLlamaCpp() as server:
        server.context = 10
        reranker = ServerReranker("llamacpp", server.url, None, 5.0)
        assert reranker.scores("word " * 20, ["a text of some length"] * 8) == []
        assert "is too large to process" in (reranker.problem or "")
        assert len(server.requests) < 8
        reranker.close()


# The order and the score


def test_only_the_first_are_sent_and_the_others_stay_below(server: FakeTEI, opened: Opened) -> None:
    plain = ids(opened(server).search(QUERY, rerank=False))
    server.judged = {NOTES[plain[0]]: -9.0, NOTES[plain[1]]: -8.0}
    store = opened(server, rerank_limit=2)
    found = store.search(QUERY)
    assert ids(found) == [plain[1], plain[0], *plain[2:]]
    assert len(server.scored) == 2
    assert [hit["score"] for hit in found] == sorted((hit["score"] for hit in found), reverse=True)


@pytest.mark.parametrize(
    ("weight", "half_life", "mode", "query"),
    [
        (0.4, 30.0, "hybrid", '"new password" server'),
        (1.0, 0.0, "keyword", QUERY),
    ],
)
def test_parts_add_up_to_the_score(
    weight: float, half_life: float, mode: str, query: str, server: FakeTEI, opened: Opened
) -> None:
    store = opened(server, rerank_weight=weight, half_life_days=half_life, rerank_limit=4)
    for day in range(1, 6):
        store.store(
            f"2026-01-{day:02}",
            f"On day {day} the gpu server had a new password.\n\n# Rack\n\nThe server hums.",
        )
    for hit in store.search(query, mode=mode, explain=True, today=date(2026, 3, 1)):
        for rerank in steps(hit, "rerank"):
            if "add" in rerank:
                assert rerank["weight"] == weight
                assert rerank["add"] == pytest.approx(weight * rerank["normalised"], abs=5e-6)
        assert evaluated(hit) == pytest.approx(hit["score"], abs=5e-6)
        assert 0 <= hit["score"] <= 1


def test_least_score_is_that_of_the_mix_and_least_confidence_spares_questions(
    server: FakeTEI, opened: Opened
) -> None:
    store = opened(server)
    assert ids(store.search(QUERY, min_score=0.6)) == ["d"]
    server.scored.clear()
    sure = store.search("gpu server rack", min_confidence=0.5)
    assert {*server.scored} == {hit["text"] for hit in sure} < {*NOTES.values()}


def test_an_identifier_an_expression_and_a_blank_query_are_not_sent(
    server: FakeTEI, opened: Opened
) -> None:
    store = opened(server)
    assert len(store.search("gpu OR password", fts_syntax=True)) == 3
    assert store.search("   ") == []
    assert len(store.search("gpu_server")) > 1
    assert passages(store, NO_BOUNDS, "a", None)["results"]
    assert server.requests == []


def test_equal_texts_are_sent_once(server: FakeTEI, opened: Opened) -> None:
    store = opened(server)
    store.store("copy", NOTES["a"])
    found = store.search(QUERY)
    assert len(server.scored) == len(set(server.scored)) == 4
    assert [hit["also"] for hit in found if hit["doc_id"] == "a"] == [["copy#L1-L1"]]


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=40))
def test_comparable_scores_keep_their_order_between_0_and_1(logits: list[float]) -> None:
    shares = comparable(logits)
    assert max(shares) == 1
    assert min(shares) >= 0
    pairs = list(zip(logits, shares, strict=True))
    assert all(low[1] <= high[1] for low in pairs for high in pairs if low[0] <= high[0])


@given(st.lists(st.floats(-12, 12), min_size=2, max_size=40))
def test_a_logit_and_its_probability_mean_the_same(logits: list[float]) -> None:
    if all(0 <= logit <= 1 for logit in logits):
        return
    assert comparable([1 / (1 + math.exp(-logit)) for logit in logits]) == pytest.approx(
        comparable(logits), abs=1e-3
    )


def test_scores_that_hardly_differ_hardly_reorder() -> None:
    assert comparable([-10.0, -10.2]) == pytest.approx([1.0, 0.9])
    assert comparable([0.5, 0.982, 0.018]) == pytest.approx([0.5, 1.0, 0.0], abs=1e-2)
    assert comparable([3.0, 3.0]) == [1.0, 1.0]


# The cache


def test_a_repeated_search_asks_nothing(server: FakeTEI, opened: Opened) -> None:
    first = opened(server).search(QUERY, explain=True)
    assert len(server.requests) == 1
    assert opened(server).search(QUERY, explain=True) == first
    server.stop()
    assert opened(server).search(QUERY, explain=True) == first
    server.start()
    assert len(server.requests) == 1


def test_only_new_passages_are_asked_for(server: FakeTEI, opened: Opened) -> None:
    store = opened(server)
    store.search(QUERY)
    store.store("e", "Another gpu password.")
    store.store("b", "The gpu server has moved.")
    store.search(QUERY)
    assert {*server.bodies[1]["texts"]} == {"The gpu server has moved.", "Another gpu password."}


def test_another_query_model_or_server_is_asked_for_itself(server: FakeTEI, opened: Opened) -> None:
    opened(server).search(QUERY)
    opened(server).search("gpu password")
    server.model = "other"
    opened(server, rerank_model="other").search(QUERY)
    with FakeTEI() as second:
        opened(second).search(QUERY)
        assert len(second.requests) == 1
    assert len(server.requests) == 3


# The provider local

STAND_IN = """
class TextCrossEncoder:
    known = [{"model": "Xenova/ms-marco-MiniLM-L-6-v2"}]
    made = []
    @classmethod
    def list_supported_models(cls):
        return cls.known
    @classmethod
    def add_custom_model(cls, model, sources, model_file):
        cls.known.append({"model": model, "file": model_file})
    def __init__(self, name, cache_dir, specific_model_path):
        if name not in [model["model"] for model in self.known]:
            raise ValueError(f"Model {name} is not supported in TextCrossEncoder.")
        self.made.append((name, cache_dir, specific_model_path))
    def rerank(self, query, documents):
        for text in documents:
            if "explode" in text:
                raise RuntimeError("out of\\nmemory")
            yield 5.0 if "hunter2" in text else -5.0
"""


@pytest.fixture
def fastembed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A package with the name fastembed, whose cross-encoder likes one word."""
    package = tmp_path / "site" / "fastembed"
    for folder in (package, package / "rerank", package / "common"):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
    (package / "rerank" / "cross_encoder.py").write_text(STAND_IN)
    (package / "common" / "model_description.py").write_text("ModelSource = lambda hf: hf\n")
    (package.parent / "loguru.py").write_text(
        "from types import SimpleNamespace\nlogger = SimpleNamespace(disable=lambda name: None)\n"
    )
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FASTEMBED_CACHE_PATH", raising=False)
    kept = {
        name: sys.modules.pop(name)
        for name in [*sys.modules]
        if name.partition(".")[0] in ("fastembed", "loguru")
    }
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    _loaded.cache_clear()
    yield TextCrossEncoder
    _loaded.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("fastembed", "loguru")]:
        del sys.modules[name]
    sys.modules.update(kept)


def test_local_model_is_loaded_once_for_all_stores_of_a_process(
    fastembed: Any, opened: Opened, tmp_path: Path
) -> None:
    for _ in range(2):
        store = opened(None, rerank="local", query_cache_size=0)
        assert ids(store.search(QUERY))[0] == "d"
        assert store.warnings == []
    assert fastembed.made == [
        ("Xenova/ms-marco-MiniLM-L-6-v2", str(tmp_path / "cache" / "hybrid-memory"), None)
    ]


def test_local_model_from_a_folder(fastembed: Any, tmp_path: Path) -> None:
    file = "onnx/model.onnx"
    (tmp_path / "my-model" / "onnx").mkdir(parents=True)
    (tmp_path / "my-model" / file).touch()
    folder = str(tmp_path / "my-model")
    for _ in range(2):
        assert LocalReranker(folder, 5.0).scores("q", ["hunter2", "b"]) == [5.0, -5.0]
        _loaded.cache_clear()
    assert fastembed.known[1:] == [{"model": folder, "file": file}]
    assert fastembed.made[0][2] == folder


def test_local_model_that_is_not_known_or_fails_is_told(fastembed: Any) -> None:
    for reranker, text, told in (
        (
            LocalReranker("no/such", 5.0),
            "a",
            "the model no/such cannot be used: Model no/such is not supported",
        ),
        (LocalReranker(None, 5.0), "explode", "cannot be used: out of memory"),
    ):
        assert reranker.scores("q", [text]) == []
        assert told in (reranker.problem or "")


@pytest.mark.skipif(
    importlib.util.find_spec("fastembed") is not None, reason="fastembed is installed"
)
def test_local_without_its_library_names_the_command_that_adds_it(opened: Opened) -> None:
    store = opened(None, rerank="local")
    assert ids(store.search(QUERY))[0] == "a"
    assert re.search(
        r"the reranker local needs .* (?:'fastembed>=0\.4'|--extra local .*)`", store.warnings[0]
    )


# Commands and servers


@pytest.fixture
def ingested(run: Run, notes: Callable[..., Path], environ: dict[str, str]) -> Path:
    folder = notes({f"{name}.md": text for name, text in NOTES.items()})
    run("ingest", "--path", str(folder), "--provider", "none")
    return folder


def test_search_reranks_with_the_option_and_only_then(
    server: FakeTEI, run: Run, ingested: Path
) -> None:
    env = {"HYBRID_MEMORY_RERANK_URL": server.url, "HYBRID_MEMORY_PROVIDER": "none"}
    assert answer(run("search", QUERY, env=env))[0]["doc_id"] == "memory/a.md"
    assert server.requests == []
    done = run("search", QUERY, "--rerank", "tei", "--explain", env=env)
    [first, *_] = answer(done)
    assert (first["doc_id"], steps(first, "rerank")[-1]["score"]) == ("memory/d.md", 9.0)
    assert re.search(r"rerank \d+\.\d ms", done.stderr)
    text = run("search", QUERY, "--rerank", "tei", "--explain", "--format", "text", env=env)
    assert "+ rerank 0.500 (0.50 x 1.000, rank 4)" in " ".join(text.stdout.split())
    env["HYBRID_MEMORY_RERANK"] = "tei"
    assert answer(run("search", QUERY, env=env))[0]["doc_id"] == "memory/d.md"
    assert answer(run("search", QUERY, "--rerank", "none", env=env))[0]["doc_id"] == "memory/a.md"


def test_eval_measures_the_configured_reranker(
    server: FakeTEI, run: Run, ingested: Path, tmp_path: Path
) -> None:
    env = {"HYBRID_MEMORY_RERANK_URL": server.url, "HYBRID_MEMORY_PROVIDER": "none"}
    (tmp_path / "queries.jsonl").write_text(json.dumps({"id": "1", "text": QUERY}))
    (tmp_path / "qrels.tsv").write_text("1\td\t1\n")
    files = ["--queries", str(tmp_path / "queries.jsonl"), "--qrels", str(tmp_path / "qrels.tsv")]
    plain = answer(run("eval", *files, "--modes", "keyword", env=env))["modes"]["keyword"][
        "ndcg@10"
    ]
    env["HYBRID_MEMORY_RERANK"] = "tei"
    assert (
        plain
        < answer(run("eval", *files, "--modes", "keyword", env=env))["modes"]["keyword"]["ndcg@10"]
        == 1
    )
    server.error = (424, "model is not a re-ranker model")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"id": "1", "text": "gpu password"}))
    assert "not reranked" in run("eval", *files, "--modes", "keyword", env=env).stderr


def test_doctor_and_stats_tell_of_the_reranker(server: FakeTEI, opened: Opened) -> None:
    store = opened(server)
    told = {finding.check: (finding.ok, finding.text) for finding in examine(store)}
    assert told["reranker"] == (True, f"TEI at {server.url}/rerank answers")
    assert server.scored == ["available"]
    assert store.stats()["reranker"] == f"TEI at {server.url}/rerank"
    server.error = (424, "model is not a re-ranker model")
    told = {finding.check: (finding.ok, finding.text) for finding in examine(store)}
    assert told["reranker"][0] is False
    assert told["reranker"][1].endswith(
        "answered 424: model is not a re-ranker model; searches are not reranked"
    )
    plain = opened(None)
    assert plain.stats()["reranker"] is None
    assert "reranker" not in {finding.check for finding in examine(plain)}


def test_http_api_reranks_unless_told_not_to(
    server: FakeTEI, ingested: Path, environ: dict[str, str]
) -> None:
    env = {
        "HYBRID_MEMORY_RERANK": "tei",
        "HYBRID_MEMORY_RERANK_URL": server.url,
        "HYBRID_MEMORY_PROVIDER": "none",
    }
    with served(environ | env) as client:
        found = client.json("/api/search", q=QUERY, explain="true")
        assert found["results"][0]["doc_id"] == "memory/d.md"
        assert steps(found["results"][0], "rerank")[-1]["rank"] == 4
        assert found["timings"]["rerank"] > 0
        assert (
            client.json("/api/search", q=QUERY, rerank="false")["results"][0]["doc_id"]
            == "memory/a.md"
        )
        assert client.get("/api/search", params={"q": QUERY, "rerank": "jina"}).status_code == 422
        assert client.json("/api/status")["reranker"] == f"TEI at {server.url}/rerank"


def test_url_and_model_of_a_reranker_do_not_pass_to_another(
    run: Run, ingested: Path, tmp_path: Path
) -> None:
    with FakeTEI() as server:
        (tmp_path / "config.json").write_text(
            json.dumps({"rerank": "tei", "rerank_url": server.url, "rerank_model": "x"})
        )
        env = {"HYBRID_MEMORY_PROVIDER": "none", "JINA_API_KEY": ""}
        assert "JINA_API_KEY is not set" in run("search", QUERY, "--rerank", "jina", env=env).stderr
        assert server.requests == []
        run("search", QUERY, "--rerank", "tei", env=env)
        assert server.bodies[0]["model"] == "x"
