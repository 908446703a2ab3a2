"""An Ollama server in a thread that computes toy embeddings. Switches make it fail in each way that a real one does.

    with FakeOllama("all-minilm", dims=384) as ollama:
        ollama.busy = 1                       # the server refuses the next request to embed, because too many are waiting
        OllamaEmbedder(ollama.url).embed("a")
        ollama.embed_requests                 # the bodies of all requests to embed

The switches are attributes, which a test may set at any time.
"""

import contextlib
import hashlib
import json
import math
import re
import select
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

VECTOR_NOISE = {
    "search_query",
    "search_document",
}  # words of prompts, which do not change the vector


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: Any  # JSON, or None


class Refusal(Exception):
    def __init__(self, status: int, text: str) -> None:
        self.status, self.text = status, text


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in VECTOR_NOISE]


def tokens(text: str) -> list[str]:
    """The tokens as a BERT tokenizer counts them: `why is the sky blue?` has 5 words, 1 mark and the 2 special tokens, thus 8."""
    return ["[CLS]", *re.findall(r"\w+|[^\w\s]", text), "[SEP]"]


def vector(text: str, dims: int = 768) -> list[float]:
    """A unit vector in which each word sets eight components of its own, so that texts that share words are similar."""
    components = [0.0] * dims
    for word in words(text) or ["(nothing)"]:
        digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
        for i in range(0, 32, 4):
            components[int.from_bytes(digest[i : i + 3], "big") % dims] += (
                1.0 if digest[i + 3] & 1 else -1.0
            )
    norm = math.hypot(*components)
    return [x / norm for x in components] if norm else [1.0] + [0.0] * (dims - 1)


class Server:
    """A real HTTP server on 127.0.0.1 that records its requests. A subclass makes the replies in `reply`."""

    longest_whole = math.inf  # bytes: a longer reply is sent in chunks, without its length

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.drop = 0  # the number of connections, from now on, that are closed without an answer
        self.page: tuple[int, str] | None = None  # a status and a text that replace every answer
        self.redirect: str | None = None
        self.drip = 0.0  # seconds between two bytes of the body of an answer
        self.hangs = False  # while true, no request is answered
        self.retry_after: str | None = None  # the value of this header in every refusal
        self.port = 0

    def start(self) -> None:
        self._connections: set[socket.socket] = set()
        self._server = _Listener(("127.0.0.1", self.port), self)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True).start()

    def stop(self) -> None:
        """Stop as a killed process does: close the port and all open connections."""
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self):  # type: ignore[no-untyped-def]
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reply(self, request: Request, connection: socket.socket) -> Any:
        """The body of a reply with status 200: text, or an object that is sent as JSON. Raises Refusal for another status."""
        raise NotImplementedError

    def refusal(self, error: Refusal) -> Any:
        return {"error": error.text}


class _Listener(ThreadingHTTPServer):
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], fake: Server) -> None:
        self.fake = fake
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # some tests disconnect on purpose


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # sends headers and body in one segment; in two, a small reply would wait 40 ms for an acknowledgement
    server: _Listener

    def setup(self) -> None:
        super().setup()
        self.server.fake._connections.add(self.connection)

    def finish(self) -> None:
        self.server.fake._connections.discard(self.connection)
        super().finish()

    def do_GET(self) -> None:
        fake = self.server.fake
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw
        request = Request(self.command, self.path, headers, body)
        fake.requests.append(request)
        while fake.hangs:
            time.sleep(0.02)
        if fake.drop:
            fake.drop -= 1
            self.close_connection = True
        elif fake.redirect:
            self._send(307, "", Location=fake.redirect)
        elif fake.page:
            self._send(*fake.page)
        else:
            try:
                self._send(200, fake.reply(request, self.connection))
            except Refusal as error:
                retry = {"Retry-After": fake.retry_after} if fake.retry_after else {}
                answer = fake.refusal(error)
                self._send(error.status, answer, **retry)

    do_POST = do_GET

    def _send(self, status: int, content: Any, **headers: str) -> None:
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header(
            "Content-Type", "text/plain" if isinstance(content, str) else "application/json"
        )
        if len(data) > self.server.fake.longest_whole:
            self.send_header("Transfer-Encoding", "chunked")
            data = _in_chunks(data)
        else:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if drip := self.server.fake.drip:
            for i in range(len(data)):
                self.wfile.write(data[i : i + 1])
                self.wfile.flush()
                time.sleep(drip)
        else:
            self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


def _in_chunks(data: bytes) -> bytes:
    """The body of a reply with `Transfer-Encoding: chunked`, as Go's server writes it."""
    parts = [data[i : i + 2048] for i in range(0, len(data), 2048)] + [b""]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


METHODS = {  # the only method of each path
    "/api/version": "GET",
    "/api/tags": "GET",
    "/api/show": "POST",
    "/api/embed": "POST",
    "/api/embeddings": "POST",
}


class FakeOllama(Server):
    """Answers as Ollama 0.32 does, with the same messages and the same order of checks.

    As there, the texts of all clients are computed one after the other, the model is loaded once for
    all who wait for it, and a client that disconnects gets nothing more done.
    """

    longest_whole = 2048

    def __init__(self, *models: str, dims: int = 768, context: int = 2048) -> None:
        super().__init__()
        self.digest = "0a109f422b47"  # of every model; another one is another model
        self.models = list(models) or ["nomic-embed-text"]
        self.dims = dims
        self.context = context  # tokens
        self.embedded: list[str] = []  # all texts that got a vector
        self.version = "0.32.15"

        self.old = False  # as Ollama before 0.2.6, which has no /api/embed
        self.chat = False  # the model is a chat model, which does not embed
        self.busy = 0  # the number of requests to embed, from now on, that are refused because the queue is full
        self.eof = 0  # the number of requests to embed, from now on, in which the runner crashes
        self.error: tuple[int, str] | None = (
            None  # a status and a message that answer every request to embed
        )
        self.crashing = ""  # a text that contains this crashes the runner, and so does a text longer than the context
        self.nan = ""  # a text that contains this gets a vector of zeros, ...
        self.nan_words: tuple[int, str] | None = (
            None  # ... or in older versions the whole request this status and message
        )
        self.spoilt = ""  # a text that contains this gets the following vector, with status 200
        self.spoilt_vector: Any = None
        self.count_off = (
            0  # the number of vectors that the reply has too many, or if negative, too few
        )
        self.cuts_silently = (
            False  # a text longer than the context is cut, although truncate is false
        )
        self.ignores_dimensions = False  # as Ollama before 0.11.11
        self.slow = 0.0  # seconds that each request to embed takes
        self.per_text = 0.0  # seconds that each text takes
        self.computed: list[str] = []  # all texts that the model has read, also for a refused batch
        # Held while texts are computed; a test that holds it is a chat model that is busy
        self.slot = threading.Lock()
        self.cold = (
            0.0  # seconds for loading the model; the loading stops if the client disconnects
        )
        self.loads = 0  # how often the loading was begun
        self.cannot_load = ""  # why the runner ends while it loads the model
        self._loading = threading.Lock()

    @property
    def embed_requests(self) -> list[Any]:
        return [request.body for request in self.requests if request.path == "/api/embed"]

    def reply(self, request: Request, connection: socket.socket) -> Any:
        route = (request.method, request.path)
        if route == ("GET", "/"):
            return "Ollama is running"
        if route == ("GET", "/api/version"):
            return {"version": self.version}
        if route == ("GET", "/api/tags"):
            return {"models": [self._model(name) for name in self.models]}
        if route == ("POST", "/api/show"):
            return self._show(request.body or {})
        if route == ("POST", "/api/embed") and not self.old:
            return self._embed(request.body, connection)
        if route == ("POST", "/api/embeddings"):
            prompt = (request.body or {}).get("prompt")
            return {"embedding": [x * 20 for x in vector(prompt, self.dims)] if prompt else []}
        if METHODS.get(request.path, request.method) != request.method:
            raise Refusal(405, "405 method not allowed")
        raise Refusal(404, "404 page not found")

    def refusal(self, error: Refusal) -> Any:
        return error.text if error.text.startswith("40") else {"error": error.text}

    def _model(self, name: str) -> dict[str, Any]:
        details = {
            "family": "nomic-bert",
            "context_length": self.context,
            "embedding_length": self.dims,
        }
        capabilities = ["completion"] if self.chat else ["embedding"]
        names = {"name": _tagged(name), "model": _tagged(name), "digest": self.digest}
        return names | {"details": details, "capabilities": capabilities}

    def _known(self, name: str) -> bool:
        return _full(name) in map(_full, self.models)

    def _show(self, body: Any) -> Any:
        name = body.get("model") or body.get("name")
        if not name:
            raise Refusal(400, "model is required")
        if not self._known(name):
            raise Refusal(404, f"model '{_tagged(name)}' not found")
        info = {"general.architecture": "nomic-bert", "nomic-bert.context_length": self.context}
        return {
            "capabilities": ["completion"] if self.chat else ["embedding"],
            "model_info": info | {"nomic-bert.embedding_length": self.dims},
            "parameters": f"num_ctx                        {self.context}",
        }

    def _embed(self, body: Any, connection: socket.socket) -> Any:
        if body is None:
            raise Refusal(400, "missing request body")
        if isinstance(body, bytes):
            raise Refusal(400, "invalid character 'x' looking for beginning of value")
        name, texts = body.get("model", ""), body.get("input")
        keep_alive = body.get("keep_alive")
        if isinstance(keep_alive, str) and not re.search(r"[a-z]$", keep_alive):
            raise Refusal(400, f'time: missing unit in duration "{keep_alive}"')
        if not name:
            raise Refusal(404, "model '' not found")
        if not re.fullmatch(r"[\w.:/-]+", name, re.ASCII):
            raise Refusal(400, "invalid model name")
        listed = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        if not (texts is None or isinstance(texts, str) or listed):
            raise Refusal(400, "invalid input type")
        if not self._known(name):
            raise Refusal(404, f'model "{name}" not found, try pulling it first')
        if self.busy:
            self.busy -= 1
            raise Refusal(503, "server busy, please try again.  maximum pending requests exceeded")
        self._load(connection)
        time.sleep(self.slow)
        if not texts:
            return {"model": name, "embeddings": []}
        if self.chat:
            raise Refusal(
                501, "This server does not support embeddings. Start it with `--embeddings`"
            )
        listed_texts = [texts] if isinstance(texts, str) else texts
        _wait_for(self.slot, connection)
        try:
            return self._embeddings(name, listed_texts, body, connection)
        finally:
            self.slot.release()

    def _load(self, connection: socket.socket) -> None:
        _wait_for(self._loading, connection)
        try:
            if self.cold:
                self.loads += 1
                _work(self.cold, connection)
            if self.cannot_load:
                raise Refusal(500, f"llama-server process has terminated: {self.cannot_load}")
            self.cold = 0.0
        finally:
            self._loading.release()

    def _compute(self, texts: list[str], connection: socket.socket) -> None:
        """Spend the time that the model takes for these texts."""
        for text in texts:
            _work(self.per_text, connection)
            self.computed.append(text)

    def _embeddings(self, name: str, texts: list[str], body: Any, connection: socket.socket) -> Any:
        if self.error:
            raise Refusal(*self.error)
        limit = min(self.context, (body.get("options") or {}).get("num_ctx", self.context))
        cuts = body.get("truncate") is not False or self.cuts_silently
        # The texts of a batch that is refused are computed all the same, except those too long
        self._compute([text for text in texts if cuts or len(tokens(text)) <= limit], connection)
        crashes = any(
            self.crashing and (self.crashing in text or len(tokens(text)) > self.context)
            for text in texts
        )
        if self.eof or crashes:
            self.eof = max(0, self.eof - 1)
            raise Refusal(
                400, 'do embedding request: Post "http://127.0.0.1:58591/v1/embeddings": EOF'
            )
        if self.nan_words and any(self.nan in text for text in texts):
            raise Refusal(*self.nan_words)
        vectors: list[Any] = []
        count = 0
        for text in texts:
            used = tokens(text)
            if len(used) > limit:
                if not cuts:
                    raise Refusal(400, "the input length exceeds the context length")
                if limit < 3:
                    raise Refusal(400, "input after truncation exceeds maximum context length")
                used = [*used[: limit - 1], used[-1]]
                text = " ".join(used[1:-1])
            count += len(used)
            vectors.append(self._vector(text, body.get("dimensions") or 0))
        self.embedded += texts
        if self.count_off:
            vectors = (
                vectors[: self.count_off]
                if self.count_off < 0
                else vectors + vectors[:1] * self.count_off
            )
        return {
            "model": name,
            "embeddings": vectors,
            "total_duration": 1,
            "prompt_eval_count": count,
        }

    def _vector(self, text: str, dimensions: int) -> Any:
        if self.nan and self.nan in text:
            return [0.0] * self.dims
        if self.spoilt and self.spoilt in text:
            return self.spoilt_vector
        full = vector(text, self.dims)
        if self.ignores_dimensions or not 0 < dimensions < self.dims:
            return full
        norm = math.hypot(*full[:dimensions]) or 1.0
        return [x / norm for x in full[:dimensions]]


def _full(name: str) -> str:
    """The name by which Ollama finds a model, however it is spelled."""
    name = name.lower().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return _tagged(name)


def _tagged(name: str) -> str:
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _work(seconds: float, connection: socket.socket) -> None:
    """Be busy for a client, until it disconnects."""
    if select.select([connection], [], [], seconds)[0]:
        raise Refusal(499, "request canceled")


def _wait_for(lock: threading.Lock, connection: socket.socket) -> None:
    """Get a lock for a client, unless it disconnects meanwhile."""
    while not lock.acquire(timeout=0.02):
        _work(0.0, connection)
