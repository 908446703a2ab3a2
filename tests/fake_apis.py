"""Servers in a thread that answer as the APIs of OpenAI, Gemini and Voyage do, with their limits and errors."""

import re
import socket
from typing import Any

from tests.fake_ollama import Refusal, Request, Server, tokens, vector

KEY = "key-of-the-tests"


class FakeAPI(Server):
    """What the three servers have in common. `texts` has all texts that got a vector."""

    max_items = 0
    max_tokens = 0  # in one request

    def __init__(self, *, dims: int = 32, context: int = 8192, key: str = KEY) -> None:
        super().__init__()
        self.dims, self.context, self.key = dims, context, key
        self.texts: list[str] = []
        self.limited = (
            0  # the number of requests, from now on, that are refused because of a rate limit
        )
        self.error: tuple[int, Any] | None = None  # a status and a body that answer every request

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def reply(self, request: Request, connection: socket.socket) -> Any:
        if self.limited:
            self.limited -= 1
            raise Refusal(429, self.rate_words)
        if self.error:
            raise Refusal(self.error[0], "")
        return self.embeddings(request)

    def refusal(self, error: Refusal) -> Any:
        if self.error and not error.text:
            return self.error[1]
        return self.error_body(error.status, error.text)

    def embed(self, texts: list[str], dims: int | None) -> list[list[float]]:
        self.texts += texts
        return [vector(text, self.dims)[: dims or self.dims] for text in texts]

    rate_words = "Rate limit reached"

    def embeddings(self, request: Request) -> Any:
        raise NotImplementedError

    def error_body(self, status: int, text: str) -> Any:
        raise NotImplementedError


class FakeOpenAI(FakeAPI):
    max_items, max_tokens = 2048, 300_000

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.backwards = False  # whether `data` in a reply is in reverse order
        self.dims_refused = ""  # the message with which `dimensions` are refused

    def embeddings(self, request: Request) -> Any:
        if request.path != "/v1/embeddings":
            raise Refusal(404, f"Invalid URL (POST {request.path})")
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            raise Refusal(
                401, f"Incorrect API key provided: {request.headers.get('authorization')}."
            )
        body = request.body
        texts, dims = body["input"], body.get("dimensions")
        if dims and self.dims_refused:
            raise Refusal(400, self.dims_refused)
        if not texts or len(texts) > self.max_items or not all(texts):
            raise Refusal(400, "'$.input' is invalid. Please check the API reference.")
        counts = [len(tokens(text)) for text in texts]
        if max(counts) > self.context:
            raise Refusal(
                400,
                f"This model's maximum context length is {self.context} tokens, however you requested {max(counts)} "
                f"tokens ({max(counts)} in your prompt; 0 for the completion). Please reduce your prompt.",
            )
        if sum(counts) > self.max_tokens:
            raise Refusal(
                400, f"Requested {sum(counts)} tokens, max {self.max_tokens} tokens per request"
            )
        vectors = self.embed(texts, dims)
        data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
        return {
            "object": "list",
            "data": data[::-1] if self.backwards else data,
            "model": body["model"],
            "usage": {},
        }

    def error_body(self, status: int, text: str) -> Any:
        return {
            "error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}
        }


class FakeGemini(FakeAPI):
    max_items = 100
    rate_words = "You exceeded your current quota, please check your plan. Please retry in 7.25s."

    def embeddings(self, request: Request) -> Any:
        route = re.fullmatch(r"/v1beta/(models/[^/:]+):batchEmbedContents", request.path)
        if not route:
            raise Refusal(404, "not found")
        if request.headers.get("x-goog-api-key") != self.key:
            raise Refusal(400, "API key not valid. Please pass a valid API key.")
        asked = request.body["requests"]
        if len(asked) > self.max_items:
            words = "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"
            raise Refusal(400, words)
        if {one["model"] for one in asked} != {route[1]}:
            raise Refusal(400, "the model of a request is not that of the batch")
        texts = [one["content"]["parts"][0]["text"] for one in asked]
        if max(len(tokens(text)) for text in texts) > self.context:
            raise Refusal(
                400, "The input token count exceeds the maximum number of tokens allowed."
            )
        vectors = self.embed(texts, asked[0].get("outputDimensionality"))
        return {"embeddings": [{"values": [3.0 * x for x in v]} for v in vectors]}

    def error_body(self, status: int, text: str) -> Any:
        return {
            "error": {"code": status, "message": text, "status": "INVALID_ARGUMENT", "details": []}
        }


class FakeVoyage(FakeAPI):
    max_items, max_tokens = 128, 120_000

    def embeddings(self, request: Request) -> Any:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            raise Refusal(401, "Provided API key is invalid.")
        body = request.body
        texts = body["input"]
        if request.path != "/v1/embeddings" or body["input_type"] not in ("query", "document"):
            raise Refusal(422, "malformed")
        counts = [len(tokens(text)) for text in texts]
        if len(texts) > self.max_items or sum(counts) > self.max_tokens:
            raise Refusal(400, f"The max allowed tokens per submitted batch is {self.max_tokens}.")
        if max(counts) > self.context and not body["truncation"]:
            raise Refusal(
                400, "The example at index 0 in your batch has too many tokens and does not fit."
            )
        vectors = self.embed(texts, body.get("output_dimension"))
        data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
        return {
            "object": "list",
            "data": data,
            "model": body["model"],
            "usage": {"total_tokens": sum(counts)},
        }

    def error_body(self, status: int, text: str) -> Any:
        return {"detail": text}
