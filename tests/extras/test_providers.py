"""The embedders of remote APIs against servers that answer as those do, and `local` with a stand-in for fastembed."""

import importlib.util
import logging
import math
import re
import sys

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.providers.apis import GeminiEmbedder, OpenAIEmbedder, VoyageEmbedder
from hybrid_memory.extras.providers.fastembed import LocalEmbedder
from hybrid_memory.registry import PROVIDERS
from hybrid_memory.sync.ingest import Ingest
from tests.fake_apis import KEY, FakeGemini, FakeOpenAI, FakeVoyage
from tests.fake_ollama import FakeOllama, vector

APIS = {
    "openai": (OpenAIEmbedder, FakeOpenAI, "/v1", "OPENAI_API_KEY"),
    "gemini": (GeminiEmbedder, FakeGemini, "/v1beta", "GEMINI_API_KEY"),
    "voyage": (VoyageEmbedder, FakeVoyage, "/v1", "VOYAGE_API_KEY"),
}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for _, _, _, variable in APIS.values():
        monkeypatch.setenv(variable, KEY)


@pytest.fixture(params=list(APIS))
def provider(request):
    return request.param


@pytest.fixture
def api(provider):
    with APIS[provider][1]() as server:
        yield server


@pytest.fixture
def waits():
    return []


@pytest.fixture
def embedder(provider, api, waits):
    embedder = APIS[provider][0](api.url + APIS[provider][2], sleep=waits.append)
    yield embedder
    embedder.close()


# All providers


def test_vectors_come_in_order_and_at_length_one(provider, api, embedder):
    alpha, blank, beta = embedder.embed_batch(["alpha", " ", "beta"])
    assert alpha == pytest.approx(vector("alpha", 32))
    assert beta == pytest.approx(vector("beta", 32))
    assert blank == []
    assert math.hypot(*embedder.embed("gamma")) == pytest.approx(1.0)
    assert (embedder.provider, embedder.problem, embedder.dims()) == (provider, None, 32)


def test_many_texts_stay_within_the_limits_of_a_request(api, embedder):
    texts = [f"{i} " + "word " * 150 for i in range(400)]
    assert all(embedder.embed_batch(texts))
    assert api.texts == texts


def test_over_long_texts_are_cut_and_marked(api, embedder, waits):
    api.context = 100
    assert all(embedder.embed_batch(["short", "word " * 300, "brief"]))
    assert embedder.truncated == {1}
    assert (embedder.problem, waits) == (None, [])


def test_configured_dims_are_asked_for_and_the_vectors_normalised(provider, api):
    embedder = APIS[provider][0](api.url + APIS[provider][2], dims=16)
    cut = vector("alpha beta", 32)[:16]
    assert embedder.embed("alpha beta") == pytest.approx([x / math.hypot(*cut) for x in cut])
    asked = api.bodies[0].get("requests", [api.bodies[0]])[0]
    assert 16 in asked.values()


def test_a_missing_key_is_reported_without_a_request(provider, monkeypatch):
    monkeypatch.delenv(APIS[provider][3])
    embedder = APIS[provider][0]()
    assert embedder.embed_batch(["a", "b"]) == [[], []]
    assert (
        embedder.problem == f"{APIS[provider][3]} is not set; export it, or choose another provider"
    )
    assert not embedder.is_available()


def test_a_wrong_key_is_reported_and_not_shown(provider, api, embedder, monkeypatch, caplog, waits):
    monkeypatch.setenv(APIS[provider][3], "wrong-key-123")
    with caplog.at_level(logging.DEBUG):
        assert embedder.embed_batch(["a", "b"]) == [[], []]
    assert f"refused the key; is {APIS[provider][3]} right?" in embedder.problem
    assert "wrong-key" not in embedder.problem + caplog.text
    assert (len(api.requests), waits) == (1, [])


def test_a_rate_limit_is_waited_out_as_long_as_the_server_says(provider, api, embedder, waits):
    api.limited, api.retry_after = 2, "5"
    assert all(embedder.embed_batch(["a"]))
    assert waits == [5.0, 5.0]


@pytest.mark.parametrize("header", ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "nan"])
def test_a_rate_limit_without_seconds_is_waited_out_for_about_a_second(
    provider, api, embedder, waits, header
):
    api.limited, api.retry_after = 1, header
    api.rate_words = "slow down"
    assert all(embedder.embed_batch(["a"]))
    assert len(waits) == 1
    assert 0.5 < waits[0] < 1.5


def test_a_rate_limit_that_lasts_too_long_ends_the_call(api, embedder, waits):
    api.limited, api.retry_after = 100, "3600"
    assert embedder.embed_batch([f"text {i}" for i in range(500)]) == [[]] * 500
    assert (len(api.requests), waits) == (1, [])
    assert "answered 429" in embedder.problem
    assert embedder.embed_batch(["later"]) == [[]]
    assert len(api.requests) == 1  # the server asked for an hour without requests


@pytest.mark.parametrize(
    "page",
    [
        "{}",
        '{"data": [5], "embeddings": [5]}',
        '{"data": [{"index": [], "embedding": []}], "embeddings": [null]}',
    ],
)
def test_a_200_without_the_expected_json_is_reported(api, embedder, page):
    api.page = (200, page)
    assert embedder.embed_batch(["a", "b"]) == [[], []]
    assert "answers, but not like" in embedder.problem


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"error": "text"}, "answered 400: text"),
        ({"error": {"message": "text", "code": 5}}, "answered 400: text"),
        ({"detail": "text"}, "answered 400: text"),
        ({"detail": [{"msg": "text", "input": "a"}]}, "answered 400: text"),
        ({"error": {"code": 5}}, 'answered 400: {"code": 5}'),
    ],
)
def test_errors_of_any_shape_are_reported(api, embedder, body, told):
    api.error = (400, body)
    assert embedder.embed("a") == []
    assert embedder.problem.endswith(told)


def test_a_refused_text_that_speaks_of_keys_is_not_a_refused_key(api, embedder):
    api.error = (400, {"error": "cannot embed 'the API key is in the safe'"})
    assert embedder.embed_batch(["a", "b"]) == [[], []]
    assert "2 of 2 texts not embedded" in embedder.problem


# One provider


def test_openai_request_has_the_documented_form():
    with FakeOpenAI() as api:
        embedder = OpenAIEmbedder(api.url)
        embedder.embed("where?")
        embedder.embed_batch(["there"])
        assert api.requests[0].path == "/v1/embeddings"
        assert api.bodies == [
            {"model": "text-embedding-3-small", "input": ["where?"], "encoding_format": "float"},
            {"model": "text-embedding-3-small", "input": ["there"], "encoding_format": "float"},
        ]


@pytest.mark.parametrize(
    ("data", "lengths"),
    [
        ([{"embedding": [1.0]}, {"embedding": [2.0]}], [1, 1]),  # no index: in order
        ([{"index": 0, "embedding": [1.0]}, {"index": 5, "embedding": [2.0]}], [0, 0]),
        ([{"index": 1, "embedding": None}, {"index": 0, "embedding": [2.0]}], [1, 0]),
    ],
)
def test_openai_indexes_that_are_missing_or_wrong_are_handled(data, lengths):
    with FakeOpenAI() as api:
        api.reply = lambda request, connection: {"data": data}
        assert [len(v) for v in OpenAIEmbedder(api.url).embed_batch(["a", "b"])] == lengths


@pytest.mark.parametrize(
    ("given", "base_url"),
    [
        ("http://localhost:8080", "http://localhost:8080/v1"),
        ("http://localhost:8080/v1/", "http://localhost:8080/v1"),
        ("http://localhost:8080/v1/embeddings", "http://localhost:8080/v1"),
        (" http://localhost:8080 ", "http://localhost:8080/v1"),
    ],
)
def test_openai_url_is_read_as_it_is_meant(given, base_url):
    assert OpenAIEmbedder(given).base_url == base_url


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_openai_is_asked_where_the_environment_says(variable, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with FakeOpenAI(key="k") as named, FakeOpenAI(key="k") as configured:
        monkeypatch.setenv(variable, named.url)
        embedder = OpenAIEmbedder()
        assert embedder.embed("Where?")
        assert embedder.base_url == f"{named.url}/v1"
        assert OpenAIEmbedder(configured.url).embed("Where?")
        assert (len(named.texts), len(configured.texts)) == (1, 1)
        monkeypatch.setenv(variable, "")
        assert OpenAIEmbedder().base_url == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("kind", "given", "named"),
    [
        (OpenAIEmbedder, "127.0.0.1:9/v1", "127.0.0.1:9/v1"),
        (OpenAIEmbedder, "ann:secret@box/v1", "box/v1"),
    ],
)
def test_an_address_without_http_is_refused_with_the_reason(kind, given, named):
    embedder = kind(given)
    assert not embedder.embed("a")
    assert embedder.problem == f"the address {named} must begin with http:// or https://"


def test_openai_compatible_servers_need_no_key_and_get_the_prompts_of_the_model(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with FakeOpenAI(key="") as api:
        embedder = OpenAIEmbedder(api.url, "nomic-ai/nomic-embed-text-v1.5")
        embedder.embed("Where?")
        assert api.texts == ["search_query: where?"]
        assert "authorization" not in api.requests[0].headers


@pytest.mark.parametrize(
    "words",
    [
        "This model does not support specifying dimensions.",
        'Model "m" does not support matryoshka representation',
    ],
)
def test_openai_vectors_are_cut_here_if_the_server_refuses_dimensions(words):
    with FakeOpenAI() as api:
        api.dims_refused = words
        embedder = OpenAIEmbedder(api.url, dims=16)
        assert [len(v) for v in embedder.embed_batch(["a", "b"])] == [16, 16]
        assert len(embedder.embed("c")) == 16
        assert len(api.requests) == 3  # refused once


def test_openai_quota_is_not_waited_for(waits):
    with FakeOpenAI() as api:
        api.error = (
            429,
            {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
        )
        embedder = OpenAIEmbedder(api.url, sleep=waits.append)
        assert embedder.embed_batch(["a", "b"]) == [[], []]
        assert "You exceeded your current quota" in embedder.problem
        assert (len(api.requests), waits) == (1, [])


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            413,
            {
                "error": "Input validation error: `inputs` must have less than 512 tokens. Given: 600"
            },
        ),
        (
            500,
            {
                "error": {
                    "message": "input is too large to process. increase the physical batch size"
                }
            },
        ),
        (400, {"object": "error", "message": "This model's maximum context length is 512 tokens."}),
        (413, "<html>Request Entity Too Large</html>"),
    ],
)
def test_openai_compatible_wordings_of_too_long_make_the_text_shorter(status, body, waits):
    with FakeOpenAI() as api:
        api.error = (status, body)
        assert OpenAIEmbedder(api.url, sleep=waits.append).embed("word " * 50) == []
        assert len(api.requests) > 5
        assert waits == []


def test_openai_compatible_server_without_embeddings_is_reported(waits):
    with FakeOpenAI() as api:
        words = "This server does not support embeddings. Start it with `--embeddings`"
        api.error = (501, {"error": {"message": words}})
        embedder = OpenAIEmbedder(api.url, sleep=waits.append)
        embedder.embed_batch(["a", "b"])
        assert words in embedder.problem
        assert (len(api.requests), waits) == (1, [])


def test_gemini_request_has_the_documented_form():
    with FakeGemini() as api:
        embedder = GeminiEmbedder(api.url + "/v1beta", dims=16)
        embedder.embed("where?")
        embedder.embed_batch(["there", "here"])
        assert api.requests[0].path == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
        assert api.requests[0].headers["x-goog-api-key"] == KEY
        assert "authorization" not in api.requests[0].headers
        assert [one["taskType"] for body in api.bodies for one in body["requests"]] == [
            "RETRIEVAL_QUERY",
            "RETRIEVAL_DOCUMENT",
            "RETRIEVAL_DOCUMENT",
        ]
        assert api.bodies[1]["requests"][1] == {
            "model": "models/gemini-embedding-001",
            "content": {"parts": [{"text": "here"}]},
            "taskType": "RETRIEVAL_DOCUMENT",
            "outputDimensionality": 16,
        }


def test_gemini_2_is_reported_the_task_in_the_text():
    with FakeGemini() as api:
        embedder = GeminiEmbedder(api.url + "/v1beta", "models/gemini-embedding-2")
        embedder.embed("where?")
        embedder.embed_batch(["there"])
        assert api.texts == ["task: search result | query: where?", "title: none | text: there"]


def test_gemini_says_in_words_how_long_to_wait(waits):
    with FakeGemini() as api:
        api.limited = 1
        assert all(GeminiEmbedder(api.url + "/v1beta", sleep=waits.append).embed_batch(["a"]))
        assert waits == [7.25]


def test_voyage_request_has_the_documented_form():
    with FakeVoyage() as api:
        embedder = VoyageEmbedder(api.url + "/v1", dims=16)
        embedder.embed("where?")
        embedder.embed_batch(["there"])
        common = {"model": "voyage-4", "truncation": False, "output_dimension": 16}
        assert api.bodies == [
            {"input": ["where?"], "input_type": "query", **common},
            {"input": ["there"], "input_type": "document", **common},
        ]


# The provider local


@pytest.mark.skipif(
    importlib.util.find_spec("fastembed") is not None, reason="fastembed is installed"
)
def test_local_without_its_library_names_the_command_that_adds_it():
    embedder = LocalEmbedder()
    assert embedder.embed_batch(["a", "b"]) == [[], []]
    assert re.search(r"add it with `.* (?:'fastembed>=0\.4'|--extra local .*)`", embedder.problem)
    assert not embedder.is_available()


STAND_IN = """
import json, os
from types import SimpleNamespace

class Vector(list):
    def tolist(self):
        return list(self)

class Tokenizer:
    limit = 128
    def enable_truncation(self, limit):
        self.limit = limit
    def encode_batch(self, texts):
        return [SimpleNamespace(overflowing=text.split()[self.limit:]) for text in texts]

class TextEmbedding:
    known = [{"model": "sentence-transformers/all-MiniLM-L6-v2"}]
    made = []
    @classmethod
    def list_supported_models(cls):
        return cls.known
    @classmethod
    def add_custom_model(cls, **description):
        cls.known.append(description)
    is_cached = True
    def __init__(self, name, cache_dir, specific_model_path, local_files_only=False):
        if name not in [model["model"] for model in self.known]:
            raise ValueError(f"Model {name} is not supported")
        if not self.is_cached and local_files_only:
            raise ValueError(f"Could not load model {name} from any source")
        self.made.append((name, cache_dir, specific_model_path))
        self.model = SimpleNamespace(tokenizer=Tokenizer())
    def embed(self, texts):
        for text in texts:
            if "explode" in text:
                raise RuntimeError("out of\\nmemory")
            yield Vector([3.0, 4.0])
"""


@pytest.fixture
def fastembed(tmp_path, monkeypatch):
    """A package with the name fastembed, whose model gives every text the same vector."""
    package = tmp_path / "site" / "fastembed"
    (package / "common").mkdir(parents=True)
    (package / "__init__.py").write_text(STAND_IN)
    (package / "common" / "__init__.py").write_text("")
    (package / "common" / "model_description.py").write_text(
        "from types import SimpleNamespace\nPoolingType = SimpleNamespace(CLS='cls', MEAN='mean')\nModelSource = lambda hf: hf\n"
    )
    (package.parent / "loguru.py").write_text(
        "from types import SimpleNamespace\nlogger = SimpleNamespace(disable=lambda name: None)\n"
    )
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FASTEMBED_CACHE_PATH", raising=False)
    names = ["fastembed", "fastembed.common", "fastembed.common.model_description", "loguru"]
    kept = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    import fastembed

    yield fastembed.TextEmbedding
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(kept)


def test_local_model_is_loaded_once_and_kept_in_the_cache_folder(fastembed, tmp_path):
    embedder = LocalEmbedder()
    assert embedder.embed("a") == pytest.approx([0.6, 0.8])
    assert embedder.embed_batch(["b", "", "c"]) == [
        pytest.approx([0.6, 0.8]),
        [],
        pytest.approx([0.6, 0.8]),
    ]
    cache = str(tmp_path / "cache" / "hybrid-memory")
    assert fastembed.made == [("sentence-transformers/all-MiniLM-L6-v2", cache, None)]
    assert embedder.is_available()


def test_local_texts_beyond_256_tokens_are_marked(fastembed):
    embedder = LocalEmbedder()
    assert all(embedder.embed_batch(["word " * 250, "word " * 300]))
    assert embedder.truncated == {1}


def test_local_model_from_a_folder(fastembed, tmp_path):
    folder = tmp_path / "my-model"
    (folder / "onnx").mkdir(parents=True)
    (folder / "1_Pooling").mkdir()
    (folder / "onnx" / "model.onnx").touch()
    (folder / "config.json").write_text('{"hidden_size": 2}')
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 10}')
    for _ in range(2):
        embedder = LocalEmbedder(str(folder))
        assert all(embedder.embed_batch(["a", "word " * 11]))
        assert embedder.truncated == {1}
    assert fastembed.made[0] == (
        str(folder),
        str(tmp_path / "cache" / "hybrid-memory"),
        str(folder),
    )
    [known] = fastembed.known[1:]
    assert (known["dim"], known["pooling"], known["model_file"]) == (2, "cls", "onnx/model.onnx")


@pytest.mark.parametrize("is_online", [True, False])
def test_local_model_is_downloaded_only_if_its_source_can_be_reached(
    fastembed, monkeypatch, is_online
):
    fastembed.is_cached = False
    with FakeOllama() as source:
        monkeypatch.setenv("HF_ENDPOINT", source.url)
        if not is_online:
            source.stop()
        embedder = LocalEmbedder()
        assert bool(embedder.embed("a")) == is_online
        if not is_online:
            assert embedder.problem == (
                "Could not load model sentence-transformers/all-MiniLM-L6-v2 from any source; "
                f"{source.url} cannot be reached to download a model"
            )
            source.start()


def test_local_model_that_fails_is_reported(fastembed):
    embedder = LocalEmbedder()
    assert embedder.embed_batch(["fine", "explode"]) == [[], []]
    assert "out of memory" in embedder.problem


# Whether the store's model is the one that the settings choose


NOTE = "The password of the server is in the safe, and the door of it is green."


@pytest.fixture(params=list(PROVIDERS))
def chosen(request, fastembed):
    """The settings that name a provider, whose server answers."""
    name = request.param
    if name == "ollama":
        with FakeOllama() as server:
            yield {"provider": name, "ollama_url": server.url}
    elif name in APIS:
        with APIS[name][1]() as server:
            yield {"provider": name, "base_url": server.url + APIS[name][2]}
    else:
        yield {"provider": name}


def warnings_of_a_search(db_path, settings):
    with HybridStore(db_path, settings) as store:
        assert store.search("server password")
        return store.warnings


def test_a_search_after_an_ingest_with_the_same_settings_warns_of_nothing(chosen, db_path, notes):
    with HybridStore(db_path, chosen) as store:
        report = Ingest(store).run([str(notes({"a.md": NOTE}))])
        assert (report.files, report.warnings) == (1, [])
    assert warnings_of_a_search(db_path, chosen) == []


def test_another_spelling_of_the_same_model_is_not_another_model(
    db_path, fastembed, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "config.json").write_text('{"hidden_size": 2}')
    settings = {"provider": "local", "model": "~/models"}
    with HybridStore(db_path, settings) as store:
        store.store("a", NOTE)
    assert warnings_of_a_search(db_path, settings) == []
    assert warnings_of_a_search(db_path, settings | {"model": str(tmp_path / "models")}) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "all-minilm"}, "has made those of ollama all-minilm"),
        ({"dims": 256}, "embeddings made with 768 dimensions, not 256 until"),
        ({"document_prompt": "note: {text}"}, "not 'note: {text}' until"),
        ({"provider": "builtin-multilingual"}, "has made those of builtin-multilingual"),
        ({"model": "nomic-embed-text:latest"}, ""),
        ({"provider": "auto"}, ""),
    ],
)
def test_settings_that_choose_another_model_are_named_until_an_update(db_path, change, words):
    with FakeOllama("nomic-embed-text", "all-minilm") as server:
        before = {"provider": "ollama", "ollama_url": server.url, "model": "nomic-embed-text"}
        with HybridStore(db_path, before) as store:
            store.store("a", NOTE)
        said = warnings_of_a_search(db_path, before | change)
        assert len(said) == bool(words)
        assert words in "".join(said)
        with HybridStore(db_path, before | change) as store:
            assert store.embed().fits
        assert warnings_of_a_search(db_path, before | change) == []
