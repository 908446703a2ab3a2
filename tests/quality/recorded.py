"""The judged notes, and an embedder that looks up what a real model once gave for them and their questions."""

import gzip
from array import array
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest

FOLDER = Path(__file__).parent
VECTORS = FOLDER / "all-minilm.gz"
KEY_BYTES, DIMS = 12, 384
RECORD = "uv run python -m tests.quality.record"


def key(kind: str, text: str) -> bytes:
    return blake2b(f"{kind}\0{text}".encode(), digest_size=KEY_BYTES).digest()


def ingest_notes(store: HybridStore) -> None:
    report = Ingest(store).run([str(FOLDER / "notes")], None)
    assert not report.errors + report.warnings


def write(vectors: Mapping[bytes, Sequence[float]]) -> None:
    """A record each: key, then signed bytes, 127 for the largest component: a cosine does not depend on the scale."""
    records = bytearray()
    for digest, vector in sorted(vectors.items()):
        scale = 127 / max(map(abs, vector))
        records += digest + array("b", [round(x * scale) for x in vector]).tobytes()
    VECTORS.write_bytes(gzip.compress(bytes(records), mtime=0))


def read() -> dict[bytes, list[float]]:
    data, size = gzip.decompress(VECTORS.read_bytes()), KEY_BYTES + DIMS
    records = (data[i : i + size] for i in range(0, len(data), size))
    return {
        record[:KEY_BYTES]: [float(x) for x in array("b", record[KEY_BYTES:])] for record in records
    }


class RecordedEmbedder:
    provider, model, query_prompt, document_prompt = "recorded", "all-minilm", "{text}", "{text}"

    def __init__(self) -> None:
        self._vectors = read()

    def _look_up(self, kind: str, text: str) -> list[float]:
        try:
            return self._vectors[key(kind, text)]
        except KeyError:
            raise AssertionError(
                f"no vector was recorded for the {kind} {text!r}; record anew: {RECORD}"
            ) from None

    def embed(self, text: str) -> list[float]:
        return self._look_up("query", text)

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._look_up("document", text) for text in texts]

    def dims(self) -> int:
        return DIMS

    def is_available(self) -> bool:
        return True
