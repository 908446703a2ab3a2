"""Embed the judged notes and their questions by a server that speaks Ollama's API, for test_quality.py to look up.

    uv run python -m tests.quality.record --ollama-url http://localhost:11434

Due when the notes, the questions, or the text that is embedded for a chunk change. The model is all-minilm.
"""

import argparse
import sys
from collections.abc import Sequence

from hybrid_memory import HybridStore
from hybrid_memory.embedder import OllamaEmbedder
from hybrid_memory.extras.evaluation.evaluation import read_queries

from . import recorded


class Recorder(OllamaEmbedder):
    def __init__(self, url: str) -> None:
        super().__init__(url, recorded.RecordedEmbedder.model)
        self.vectors: dict[bytes, list[float]] = {}

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        vectors = super().embed_queries(texts)
        self.vectors |= {
            recorded.key("query", text): vector for text, vector in zip(texts, vectors, strict=True)
        }
        return vectors

    def embed_batch(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        vectors = super().embed_batch(texts, seconds=seconds)
        self.vectors |= {
            recorded.key("document", text): vector
            for text, vector in zip(texts, vectors, strict=True)
        }
        return vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ollama-url", default="http://localhost:11434")
    recorder = Recorder(parser.parse_args().ollama_url)
    with HybridStore(":memory:", embedder=recorder) as store:
        recorded.ingest_notes(store)
    for query in read_queries(str(recorded.FOLDER / "queries.jsonl")).values():
        recorder.embed(query.text)
    if recorder.problem or not all(
        len(vector) == recorded.DIMS for vector in recorder.vectors.values()
    ):
        sys.exit(
            recorder.problem or f"the model does not give {recorded.DIMS} numbers for each text"
        )
    recorded.write(recorder.vectors)
    print(
        f"{len(recorder.vectors)} vectors, {recorded.VECTORS.stat().st_size:,} bytes: {recorded.VECTORS}"
    )


if __name__ == "__main__":
    main()
