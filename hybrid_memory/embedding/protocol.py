"""The interface of embedders, their prompts, the identity of their vectors, and the choice of a
provider from the settings.

The prompt templates are copied from the model cards; texts for other models are sent unchanged. A
user's own embedder may lack methods of `Embedder`, and may raise: it is wrapped in a guard.

Vectors of two models cannot be compared, so all vectors of a store have one identity: provider,
model, prompts and dimensions. If the configured embedder has another identity, the store's model is
used for queries until an ingest or `reindex` has made all vectors again.

A new provider is a module, a row in TABLE and one in `seams.PROVIDERS`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from ..errors import ConfigError, Message, WayOut
from ..seams import PROVIDERS, load

if TYPE_CHECKING:
    from ..config import Settings

PLACEHOLDER = "{text}"
_NOMIC = ("search_query: {text}", "search_document: {text}")
_GEMMA = ("task: search result | query: {text}", "title: none | text: {text}")
_PASSAGES = ("Represent this sentence for searching relevant passages: {text}", PLACEHOLDER)
_ARCTIC_2 = ("query: {text}", PLACEHOLDER)
_E5 = ("query: {text}", "passage: {text}")
_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: {text}",
    PLACEHOLDER,
)
_QWEN = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:{text}",
    PLACEHOLDER,
)

# Part of a model's name in lower case -> query's and document's template; the first match counts
TEMPLATES = {
    "nomic-embed-text": _NOMIC,
    "embeddinggemma": _GEMMA,
    "gemini-embedding-2": _GEMMA,
    "mxbai-embed-large": _PASSAGES,
    "arctic-embed2": _ARCTIC_2,
    "arctic-embed-m-v2": _ARCTIC_2,
    "arctic-embed-l-v2": _ARCTIC_2,
    "arctic-embed": _PASSAGES,
    "qwen3-embedding": _QWEN,
    "e5-large-instruct": _INSTRUCT,
    "e5-mistral": _INSTRUCT,
    **dict.fromkeys(("multilingual-e5", "e5-small", "e5-base", "e5-large"), _E5),
}


def templates(model: str) -> tuple[str, str]:
    """The query's and the document's template of a model. Its tag, namespace and maker's prefix are
    ignored.

    `user/nomic-embed-text:v1.5 -> ("search_query: {text}", "search_document: {text}")`
    """
    name = model.lower()
    return next(
        (pair for part, pair in TEMPLATES.items() if part in name), (PLACEHOLDER, PLACEHOLDER)
    )


# Part of a model's name in lower case -> the dimensions of its vectors; the first match counts
DIMS = {
    "nomic-embed-text": 768,
    "embeddinggemma": 768,
    "mxbai-embed-large": 1024,
    "arctic-embed2": 1024,
    "bge-m3": 1024,
    "all-minilm": 384,
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "gemini-embedding-001": 3072,
    "voyage-4": 1024,
}


def usual_dims(model: str) -> int:
    """The dimensions of a known model's vectors; 0 for any other model."""
    name = model.lower()
    return next((dims for part, dims in DIMS.items() if part in name), 0)


def checked(template: str) -> str:
    """Return the template unchanged. Raises ConfigError if it does not contain {text}."""
    if PLACEHOLDER not in template:
        raise ConfigError(f"the prompt template {template!r} does not contain {PLACEHOLDER}")
    return template


def wants_lower_case(model: str) -> bool:
    """Whether texts must be lower-cased for this model, which ignores case.

    Ollama 0.13.1 to 0.24 turns each word with a capital into an unknown token for such models
    (ollama/ollama issue 13942).
    """
    name = model.lower()
    return "nomic-embed-text" in name and "nomic-embed-text-v2" not in name


class MinimalEmbedder(Protocol):
    """The methods that an object for `HybridStore(embedder=...)` must have. See `Embedder`."""

    def embed(self, text: str) -> list[float]: ...
    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]: ...
    def dims(self) -> int: ...
    def is_available(self) -> bool: ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of length 1; [] for a text that is blank or could not be embedded.
    No method raises.
    """

    provider: str
    model: str
    query_prompt: str  # a template with {text}
    document_prompt: str
    wanted_dims: int | None  # the configured number of dimensions; None for the model's own
    is_final: bool  # a text without a vector will never get one from this model
    problem: str | None  # why the last call did not embed all texts; None if it did
    truncated: set[int]  # indexes of texts in the last call that were cut to fit the model

    def embed(self, text: str) -> list[float]:
        """The vector of a query."""

    def embed_batch(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        """The vectors of documents, in the order of the texts.

        Each request may take `seconds`; if that is None, the embedder's own time-out applies.
        """

    def dims(self) -> int:
        """The number of dimensions of a vector; 0 if it is unknown."""

    def is_available(self) -> bool:
        """Whether a text can be embedded now."""

    def fingerprint(self) -> str | None:
        """An id that tells apart models of the same name; None if it is unknown. May ask the
        server.
        """

    def close(self) -> None:
        """Close connections; the next call opens new ones."""


PACKAGE_PREFIX = __name__.partition(".")[0] + "."  # the prefix of this package's modules

Result = TypeVar("Result")


def complete(embedder: MinimalEmbedder) -> Embedder:
    """Wrap a user's own embedder in a guard that provides all of `Embedder`. An embedder of this
    package is returned unchanged.
    """
    if type(embedder).__module__.startswith(PACKAGE_PREFIX) and isinstance(embedder, Embedder):
        return embedder
    return _Guarded(embedder)


class _Guarded:
    """A user's own embedder, with defaults for missing attributes. If it raises, or returns an
    invalid vector, the vector is [] and `problem` gives the reason.
    """

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._takes_seconds = isinstance(embedder, Embedder)
        self.provider: str = getattr(embedder, "provider", type(embedder).__name__)
        self.model: str = getattr(embedder, "model", "")
        self.query_prompt: str = getattr(embedder, "query_prompt", "{text}")
        self.document_prompt: str = getattr(embedder, "document_prompt", "{text}")
        self.wanted_dims: int | None = getattr(embedder, "wanted_dims", None)
        self.is_final: bool = getattr(embedder, "is_final", False)
        self.problem: str | None = None
        self.truncated: set[int] = set()

    def embed(self, text: str) -> list[float]:
        return self._try(lambda: _to_list(self._embedder.embed(text)), [])

    def embed_batch(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        """See `Embedder`. An embedder without the parameter `seconds` uses its own time-outs."""
        options = {"seconds": seconds} if self._takes_seconds else {}
        return self._try(
            lambda: _to_lists(self._embedder.embed_batch(texts, **options), len(texts)),
            [[] for _ in texts],
        )

    def dims(self) -> int:
        return self._try(lambda: int(self._embedder.dims()), 0)

    def is_available(self) -> bool:
        return self._try(lambda: bool(self._embedder.is_available()), False)

    def fingerprint(self) -> str | None:
        fingerprint: Callable[[], str | None] = getattr(self._embedder, "fingerprint", lambda: None)
        return self._try(fingerprint, None)

    def close(self) -> None:
        self._try(getattr(self._embedder, "close", lambda: None), None)

    def _try(self, call: Callable[[], Result], otherwise: Result) -> Result:
        self.truncated = set()
        try:
            answer = call()
        except (
            Exception
        ) as error:  # a user's program may raise anything: the text must still be stored
            self.is_final = False  # the texts of this call may get a vector later
            reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")
            self.problem = f"the embedder {self.provider} {self.model}".rstrip() + f": {reason}"
            return otherwise
        self.is_final = getattr(self._embedder, "is_final", False)
        self.problem = getattr(self._embedder, "problem", None)
        self.truncated = getattr(self._embedder, "truncated", set())
        return answer


def _to_lists(vectors: Iterable[Any], count: int) -> list[list[float]]:
    """Convert the vectors of a batch. Raises ValueError if their number is not the number of texts,
    or their dimensions differ.
    """
    made = list(map(_to_list, vectors))
    if len(made) != count:
        raise ValueError(f"{len(made)} vectors for {count} texts")
    sizes = sorted({len(vector) for vector in made if vector})
    if len(sizes) > 1:
        raise ValueError(f"vectors of {sizes[0]} and of {sizes[-1]} dimensions")
    return made


def _to_list(vector: Any) -> list[float]:
    """Convert a vector to a list; libraries may return an array."""
    return [] if vector is None else [float(component) for component in vector]


BUILTIN_ADVICE = (
    "embedded by the built-in English model; a model that reads whole sentences finds more by meaning: "
    "after `ollama pull nomic-embed-text`, the next ingest uses it"
)
MULTILINGUAL_ADVICE = (
    "the notes are not in English: embedded by the built-in multilingual model "
    "(for English: `--provider builtin-english`); a model that reads whole sentences finds more by meaning: "
    "after `ollama pull bge-m3` and `hybrid-memory config set model bge-m3`, the next ingest uses it"
)
FIRST_NOT_LATIN = "\u0370"  # Greek; the later blocks with Latin letters are rare
ADVICE = {"builtin": BUILTIN_ADVICE, "builtin-multilingual": MULTILINGUAL_ADVICE}
# Frequent words of English, and of other languages in Latin letters. Words that are frequent in both
# are in neither list.
ENGLISH = frozenset(
    "the and that with this of to is for it you was not are be have from by we they what".split()
)
OTHER_LATIN = frozenset(
    """de la que el en los del las por con para una les des et est du dans pour qui sur pas der und das
    ist nicht ein eine den mit von zu auf für im il di che della non sono per het een van niet voor og
    det att och som på av ja ei että oli nie się jest że je bylo és hogy az nem egy și în din ve bir bu
    için yang dan dengan untuk của là và các không não um uma com""".split()
)


def builtin_for(text: str) -> str:
    """The built-in provider for the language of some text of the notes: English, unless most
    letters are not Latin, or the text has more frequent words of other languages than of English.
    """
    words = re.findall(r"[^\W\d_]+", text.lower())
    letters = sum(map(len, words))
    latin = sum(len(word) for word in words if word[0] < FIRST_NOT_LATIN)
    english = sum(word in ENGLISH for word in words)
    other = sum(word in OTHER_LATIN for word in words)
    if 2 * latin < letters or other > english:
        return "builtin-multilingual"
    return "builtin"


MISFIT = Message(
    "the model's vectors no longer fit the store",
    WayOut("reindex", "reindex --embeddings", "makes new embeddings"),
)
NAMESAKE = "the store's embeddings were made by another model of the same name"
NOT_MIXED = Message(NAMESAKE, WayOut("update", "update", "embeds all chunks with the new one"))


def identity_of(embedder: "Embedder") -> dict[str, Any]:
    """The identity of an embedder's vectors without their dimensions, which are known only after
    the first vector.
    """
    return {
        "provider": embedder.provider,
        "model": embedder.model.removesuffix(":latest"),
        "query_prompt": embedder.query_prompt,
        "document_prompt": embedder.document_prompt,
    }


def conflict(
    theirs: "Mapping[str, object] | None", embedder: "Embedder", effect: str = ""
) -> str | None:
    """Explain in one line, with the remedy, why the embedder's vectors cannot be compared with the
    store's; None if they can.

    `effect` is the consequence, such as ": answering by keyword".
    """
    what = differing(theirs, embedder)
    if not what:
        return None
    way_out = WayOut("update", "update", "makes new embeddings")
    return Message(f"the store's embeddings were made with {what}{effect}", way_out)


def differing(theirs: "Mapping[str, object] | None", embedder: "Embedder") -> str | None:
    """How the store's embeddings differ from this embedder's: "model 'a', not 'b'"; None if they do
    not differ.
    """
    if theirs is None:
        return None
    ours, wanted_dims = identity_of(embedder), embedder.wanted_dims
    if unlike := [key for key in ours if ours[key] != theirs[key]]:
        return " and ".join(
            f"{key.replace('_', ' ')} {theirs[key]!r}, not {ours[key]!r}" for key in unlike
        )
    if wanted_dims and wanted_dims != theirs["dims"]:
        return f"{theirs['dims']} dimensions, not {wanted_dims}"
    return None


def meanwhile(problem: str, identity: "Mapping[str, object] | None") -> str:
    """Add to a server's problem how it affects searches of embeddings with this identity."""
    if identity and is_minilm(identity):
        return f"{problem}; meanwhile, the built-in model embeds queries, which finds less"
    return f"{problem}; meanwhile, searches answer by keyword"


def is_minilm(identity: "Mapping[str, object]") -> bool:
    """Whether embeddings were made by a server with all-MiniLM-L6-v2. On Ollama, all-minilm:33m is
    all-MiniLM-L12-v2.
    """
    name = str(identity["model"]).lower()
    is_other = "33m" in name or "l12" in name
    return identity["dims"] == 384 and name.startswith("all-minilm") and not is_other


def name_of(identity: "Mapping[str, object]") -> str:
    """The model of an identity, for messages: "ollama nomic-embed-text"."""
    return f"{identity['provider']} {identity['model']}".strip()


OPTIONS = ("model", "cache_size", "dims", "query_prompt", "document_prompt", "query_timeout")


class Provider(NamedTuple):
    """The config keys that a provider's embedder uses; `url_key` is the key of its URL."""

    options: tuple[str, ...] = OPTIONS
    url_key: str | None = None
    is_remote: bool = False


BUILTIN = ("builtin", "builtin-multilingual")
TABLE = {
    "ollama": Provider(url_key="ollama_url"),
    **dict.fromkeys((*BUILTIN, "builtin-english"), Provider(options=())),
    "local": Provider(),
    "openai": Provider(url_key="base_url", is_remote=True),
    "gemini": Provider(url_key="base_url", is_remote=True),
    "voyage": Provider(url_key="base_url", is_remote=True),
}


def make(
    settings: "Settings", identity: Mapping[str, Any] | None, notes: Callable[[], str]
) -> "Embedder | None":
    """The embedder that the settings choose for all texts from now on; None for the provider
    "none".

    `identity` is the identity of the store's embeddings, None if it has no embeddings. "builtin"
    keeps the built-in embedder of the store, or else chooses one by the language of the `notes`;
    "builtin-english" and "builtin-multilingual" name one. "auto" keeps the provider of the store's
    embeddings if it is not "builtin"; but if it is remote, the result is None, because only the
    user may choose a remote provider. Otherwise, "auto" chooses Ollama if it answers and has the
    model, else "builtin".
    """
    name = settings["provider"]
    if name == "none":
        return None
    if name == "builtin":
        name = str(identity["provider"]) if identity else ""
        if name not in BUILTIN:
            name = builtin_for(notes())
    if name != "auto":
        return _create(name, settings, {})
    if identity and identity["provider"] != "builtin":
        changes = {"model": identity["model"], "dims": None}
        if _is_allowed(settings, identity):
            return _create(identity["provider"], settings, changes)
        return None
    ollama = _create("ollama", settings, {})
    if ollama.is_available():
        return ollama
    return _create("builtin" if identity else builtin_for(notes()), settings, {})


def fitting(settings: "Settings", identity: Mapping[str, Any]) -> "Embedder | None":
    """The embedder that made the store's embeddings, even if the settings choose another for later;
    None if it may not be used.

    A query's text is sent to a remote provider only if the settings name it.
    """
    if not _is_allowed(settings, identity):
        return None
    provider = identity["provider"]
    if settings["provider"] == identity["provider"]:
        chosen = _create(provider, settings, {})
        if not conflict(identity, chosen):
            return chosen
    return _create(
        provider,
        settings,
        {key: identity[key] for key in ("model", "dims", "query_prompt", "document_prompt")},
    )


def replacement(settings: "Settings", identity: Mapping[str, Any]) -> "Embedder | None":
    """The embedder with which an update will replace the store's embeddings; None if the settings
    choose the current one.

    The provider "auto" is resolved only when texts are embedded, because it may have to ask a
    server. Embeddings by a program's own embedder are left to that program.
    """
    if settings["provider"] == "auto" or identity["provider"] not in PROVIDERS:
        return None
    wanted = make(settings, identity, notes=str)  # notes matter only where providers differ
    return wanted if wanted and differing(identity, wanted) else None


def _is_allowed(settings: "Settings", identity: Mapping[str, Any]) -> bool:
    chosen, name = settings["provider"], identity["provider"]
    return chosen != "none" and name in TABLE and (not TABLE[name].is_remote or chosen == name)


def _create(name: str, settings: "Settings", changes: Mapping[str, Any]) -> "Embedder":
    provider = TABLE[name]
    values = {key: settings[key] for key in provider.options}
    values |= {key: value for key, value in changes.items() if key in provider.options}
    if provider.url_key:
        values["base_url"] = settings[provider.url_key]
    values = {key: value for key, value in values.items() if value is not None}
    made: Embedder = load(PROVIDERS[name])(**values)
    return made
