"""The first answers of every way to search, as recorded. A constant that ranks or judges cannot change
unnoticed: compare what changed, then record anew with `uv run python -m tests.quality.answers`.
"""

import json
from typing import Any

from hybrid_memory import HybridStore
from hybrid_memory.extras.evaluation.evaluation import read_queries
from hybrid_memory.storage.filters import Filters

from .recorded import FOLDER, RecordedEmbedder, ingest_notes

FILE = FOLDER / "answers.json"
FIRST = 3
WAYS: dict[str, dict[str, Any]] = {
    "keyword": {"config": {"provider": "none"}},
    "builtin": {"config": {"provider": "builtin"}},
    "multilingual": {"config": {"provider": "builtin-multilingual"}},
    "minilm": {"embedder": RecordedEmbedder()},
    "filtered": {"config": {"provider": "builtin"}, "filters": Filters(inside="notes/people")},
    "also": {"config": {"provider": "builtin"}},
}
# Of names, headings and meaning alone: what the questions of the notes do not ask
MORE = {
    "another name": "Which bike did Rosa Duval order?",
    "a heading": "the decisions about backups",
    "nonsense": "gnarp flobber wuzz",
    "nothing near": "volcanic soil for tomatoes",
    "a title": "The History Of Our Backups",
}

Answers = dict[str, list[tuple[str, float]]]


def answers(way: str) -> Answers:
    """Question -> id and confidence of the first results."""
    options = dict(WAYS[way])
    filters = options.pop("filters", None)
    asked = read_queries(str(FOLDER / "phrasings.jsonl")).values()
    questions = {each.text: each.also if way == "also" else None for each in asked}
    if way != "minilm":  # which knows the recorded questions alone
        questions |= dict.fromkeys(MORE.values())
    with HybridStore(":memory:", **options) as store:
        ingest_notes(store)
        return {
            question: [
                (hit["doc_id"], round(hit["confidence"], 3))
                for hit in store.search(question, FIRST, filters=filters, also=also)
            ]
            for question, also in questions.items()
        }


def record() -> None:
    """Write the file, a line for each question."""
    ways = []
    for way in WAYS:
        lines = ",\n".join(
            f"  {json.dumps(question, ensure_ascii=False)}: {json.dumps(found)}"
            for question, found in answers(way).items()
        )
        ways.append(f"{json.dumps(way)}: {{\n{lines}\n}}")
    FILE.write_text("{\n" + ",\n".join(ways) + "\n}\n", "utf-8")


if __name__ == "__main__":
    record()
