"""Servers in a thread that rerank as TEI, llama.cpp, vLLM, Jina, Cohere and Voyage do, with their limits and errors.

A passage's logit is the number of words that it shares with the query, unless `judged` has another one for a text in it.
"""

import math
import socket
from typing import Any

from tests.fake_ollama import Refusal, Request, Server, tokens, words

KEY = "key-of-the-tests"


class FakeReranker(Server):
    """What the servers have in common. A subclass is one of them, and says no to what that does not take."""

    path = "/v1/rerank"
    fields = frozenset({"query", "documents"})  # of every request
    texts, results, score = "documents", "results", "relevance_score"
    is_probability = True
    key: str | None = None
    model: str | None = None
    most_texts, context = 1000, 512

    def __init__(self) -> None:
        super().__init__()
        self.judged: dict[str, float] = {}
        self.error: tuple[int, str] | None = (
            None  # a status and a message that answer every request
        )
        self.busy = 0  # the number of requests, from now on, that are refused with `busy_error`
        self.busy_error = (429, "Too many requests")
        self.spoil: Any = None  # a function from the scored items to what is sent in their place
        self.scored: list[str] = []  # all texts that got a score

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def reply(self, request: Request, connection: socket.socket) -> Any:
        if self.error:
            raise Refusal(*self.error)
        if self.busy:
            self.busy -= 1
            raise Refusal(*self.busy_error)
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            raise Refusal(401, self.key_words)
        body = request.body
        if (request.method, request.path) != ("POST", self.path):
            raise Refusal(404, "Not Found")
        if (
            body.keys() != self.fields | ({"model"} if self.model else set())
            or body.get("model") != self.model
        ):
            raise Refusal(422, f"unexpected fields: {sorted(body)}")
        texts = body[self.texts]
        if len(texts) > self.most_texts:
            raise Refusal(
                413, f"batch size {len(texts)} > maximum allowed batch size {self.most_texts}"
            )
        self.check(body, [len(tokens(f"{body['query']} {text}")) for text in texts])
        self.scored += texts
        logits = [self.logit(body["query"], text) for text in texts]
        numbers = [1 / (1 + math.exp(-logit)) if self.is_probability else logit for logit in logits]
        items = [{"index": index, self.score: number} for index, number in enumerate(numbers)]
        items.sort(key=lambda item: -item[self.score])
        return self.whole(self.spoil(items) if self.spoil else items, body)

    def logit(self, query: str, text: str) -> float:
        judged = [logit for part, logit in self.judged.items() if part in text]
        return judged[0] if judged else float(len({*words(query)} & {*words(text)})) - 4

    key_words = "Invalid API key"

    def check(self, body: Any, lengths: list[int]) -> None:
        """Refuse texts that are too long, if the server does."""

    def whole(self, items: Any, body: Any) -> Any:
        usage = {"prompt_tokens": 9, "total_tokens": 9}
        return {
            "object": "list",
            "model": body.get("model", ""),
            "usage": usage,
            self.results: items,
        }

    def refusal(self, error: Refusal) -> Any:
        return {"detail": error.text}


class FakeTEI(FakeReranker):
    path, texts, score = "/rerank", "texts", "score"
    fields = frozenset({"query", "texts", "raw_scores", "truncate"})
    is_probability = False  # with raw_scores
    most_texts = 32
    key_words = ""

    def check(self, body: Any, lengths: list[int]) -> None:
        assert body["raw_scores"] is True
        assert body["truncate"] is True

    def whole(self, items: Any, body: Any) -> Any:
        return items

    def refusal(self, error: Refusal) -> Any:
        kinds = {
            413: "validation",
            422: "tokenizer",
            424: "backend",
            429: "overloaded",
            503: "unhealthy",
        }
        return (
            {"error": error.text, "error_type": kinds.get(error.status, "backend")}
            if error.text
            else ""
        )


class FakeLlamaCpp(FakeReranker):
    is_probability = False

    def check(self, body: Any, lengths: list[int]) -> None:
        if max(lengths) > self.context:
            words = f"input ({max(lengths)} tokens) is too large to process. increase the physical batch size"
            raise Refusal(500, f"{words} (current batch size: {self.context})")

    def refusal(self, error: Refusal) -> Any:
        return {"error": {"code": error.status, "message": error.text, "type": "server_error"}}


class FakeVLLM(FakeReranker):
    fields = frozenset({"query", "documents", "truncate_prompt_tokens"})

    def check(self, body: Any, lengths: list[int]) -> None:
        assert body["truncate_prompt_tokens"] == -1  # the model's own length

    def whole(self, items: Any, body: Any) -> Any:
        results = [{**item, "document": {"text": body["documents"][0]}} for item in items]
        return {
            "id": "rerank-1",
            "model": "served",
            "usage": {"total_tokens": 9},
            "results": results,
        }

    def refusal(self, error: Refusal) -> Any:
        return {
            "error": {
                "message": error.text,
                "type": "BadRequestError",
                "param": None,
                "code": error.status,
            }
        }


class FakeJina(FakeReranker):
    fields = frozenset({"query", "documents", "return_documents"})
    key, model = KEY, "jina-reranker-v2-base-multilingual"


class FakeCohere(FakeReranker):
    path = "/v2/rerank"
    key, model = KEY, "rerank-v4.0-fast"
    key_words = "invalid api token"

    def whole(self, items: Any, body: Any) -> Any:
        return {
            "id": "1",
            "results": items,
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
        }

    def refusal(self, error: Refusal) -> Any:
        return {"id": "1", "message": error.text}


class FakeVoyage(FakeReranker):
    results = "data"
    key, model = KEY, "rerank-2.5"
    key_words = "Provided API key is invalid."


FAKES: dict[str, type[FakeReranker]] = {
    "tei": FakeTEI, "llamacpp": FakeLlamaCpp, "vllm": FakeVLLM, "jina": FakeJina, "cohere": FakeCohere, "voyage": FakeVoyage,
}  # fmt: skip
KEYS = {"jina": "JINA_API_KEY", "cohere": "COHERE_API_KEY", "voyage": "VOYAGE_API_KEY"}
