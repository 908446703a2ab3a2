"""The choice of an embedding provider from the settings and the store.

A new provider is a module, a row in TABLE and one in `registry.PROVIDERS`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..registry import PROVIDERS, load
from ..text.languages import languages, words_of
from .identity import conflict, differing

if TYPE_CHECKING:
    from ..config import Settings
    from .interface import Embedder

BUILTIN_ADVICE = (
    "embedded by the built-in English model; a model that reads whole sentences finds more by meaning: "
    "after `ollama pull nomic-embed-text`, the next ingest uses it"
)
MULTILINGUAL_ADVICE = (
    "many notes are not in English: embedded by the built-in multilingual model "
    "(for English: `--provider builtin-english`); a model that reads whole sentences finds more by meaning: "
    "after `ollama pull bge-m3` and `hybrid-memory config set model bge-m3`, the next ingest uses it"
)
ADVICE = {"builtin": BUILTIN_ADVICE, "builtin-multilingual": MULTILINGUAL_ADVICE}
OPTIONS = ("model", "cache_size", "dims", "query_prompt", "document_prompt", "query_timeout")


class Provider(NamedTuple):
    """The config keys that a provider's embedder uses; `url_key` is the key of its URL."""

    options: Sequence[str] = OPTIONS
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
    settings: "Settings",
    identity: Mapping[str, Any] | None,
    notes: Callable[[], Iterable[str]],
    on_late: "Callable[[Embedder], None]" = lambda embedder: None,
) -> "Embedder | None":
    """The embedder that the settings choose for all texts from now on; None for the provider
    "none".

    `identity` is the identity of the store's embeddings, None if it has no embeddings. "builtin"
    keeps the built-in embedder of the store, or else chooses one by the languages of the `notes`;
    "builtin-english" and "builtin-multilingual" name one. "auto" keeps the provider of the store's
    embeddings if it is not "builtin"; but if it is remote, the result is None, because only the
    user may choose a remote provider. Otherwise, "auto" chooses Ollama if it embeds a word by the
    model, else "builtin", whose `problem` explains why a model that Ollama lists is not used.
    `on_late` is called with an Ollama that did not answer in time.
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
    if ollama.is_late:
        on_late(ollama)
    reason = ollama.problem
    builtin = _create("builtin" if identity else builtin_for(notes()), settings, {})
    if ollama.fingerprint():  # listed, but it does not work
        builtin.problem = f"{reason}; meanwhile, the built-in model embeds"
    return builtin


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


# The languages of the notes

FIRST_NOT_LATIN = "\u0370"  # Greek; the later blocks with Latin letters are rare
LEAST_WORDS = 3  # frequent words by which a text is judged
LEAST_SHARE = 0.08  # of the words, for another language
MOST_OTHER = 0.15  # share of texts that are not English and still get the English model
# Of scripts without spaces
WIDE = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"


def builtin_for(texts: Iterable[str]) -> str:
    """The built-in provider for the languages of some texts of the notes: the multilingual one, which
    has English, too, if over MOST_OTHER of the texts are in other languages.
    """
    frequent = {
        code: words_of(code, "frequent_words")
        for code, language in languages().items()
        if "frequent_words" in language
    }
    english = frequent.pop("en")
    others = list(frequent.values())
    judged = [_is_other(text, english, others) for text in texts]
    known = [is_other for is_other in judged if is_other is not None]
    return "builtin-multilingual" if sum(known) > MOST_OTHER * len(known) else "builtin"


def _is_other(text: str, english: frozenset[str], others: list[frozenset[str]]) -> bool | None:
    """Whether a text is not in English; None if it has too few words to tell.

    Two characters of a script without spaces count as a word.
    """
    words = re.findall(r"[^\W\d_]+", text.lower())
    latin = sum(word[0] < FIRST_NOT_LATIN for word in words)
    wide = len(re.findall(WIDE, text))
    spaced = sum(word[0] >= FIRST_NOT_LATIN and not re.match(WIDE, word) for word in words)
    if wide / 2 + spaced > latin:
        return True
    counts = Counter(words)
    of_english = sum(counts[word] for word in english)
    of_other = max(sum(counts[word] for word in other) for other in others)
    if max(of_english, of_other) < LEAST_WORDS:
        return None
    return of_other > of_english and of_other > LEAST_SHARE * len(words)
