"""Find the sessions of LongMemEval that hold an answer.

    uv run benchmarks/longmemeval.py longmemeval_s.json [--questions 50]

The file is from https://github.com/xiaowu0162/LongMemEval. Each question has a separate memory,
with a document for each session of its haystack. Questions without an answer have no session to
find and are left out. *any@k* is the share of the questions with an evidence session among the first
k, *all@k* with all of them. Published figures are nearly always any@5.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common

from hybrid_memory import HybridStore

DEPTHS = (5, 10)
Json = dict[str, Any]
SMALL = [
    {
        "question_id": "one",
        "question_type": "single-session-user",
        "question": "Where does my heron nest?",
        "answer_session_ids": ["b"],
        "haystack_session_ids": ["a", "b"],
        "haystack_dates": ["2026/01/05 (Mon) 10:00", "2026/01/06 (Tue) 11:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "What is for lunch?"}],
            [{"role": "user", "content": "My heron nests in the old crane."}],
        ],
    }
]


def measure(args: argparse.Namespace) -> Iterator[common.Row]:
    questions = SMALL if args.small else json.loads(args.file.read_text("utf-8"))
    questions = [each for each in questions if not each["question_id"].endswith("_abs")]
    random.Random(1).shuffle(questions)
    ranks = [
        (each["question_type"], evidence_ranks(each, args.provider))
        for each in questions[: args.questions or None]
    ]
    kinds = sorted({kind for kind, _ in ranks})
    for name in [*kinds, "all"]:
        chosen = [found for kind, found in ranks if name in (kind, "all")]
        row: common.Row = {"questions": name, "count": len(chosen)}
        for depth in DEPTHS:
            row[f"any_at_{depth}"] = sum(min(each) <= depth for each in chosen) / len(chosen)
            row[f"all_at_{depth}"] = sum(max(each) <= depth for each in chosen) / len(chosen)
        yield row


def evidence_ranks(question: Json, provider: str) -> list[float]:
    """The rank of each evidence session, counted from 1; infinity if it was not found."""
    with HybridStore(":memory:", {"provider": provider}) as store:
        sessions = zip(
            question["haystack_session_ids"],
            question["haystack_dates"],
            question["haystack_sessions"],
            strict=True,
        )
        for name, day, turns in sessions:
            lines = [f"**{turn['role']}**: {turn['content']}" for turn in turns]
            store.store(name, "\n\n".join(lines), {"date": day[:10].replace("/", "-")})
        results = store.search(question["question"], limit=max(DEPTHS), per_doc=1)
    ranking = [result["doc_id"] for result in results]
    return [
        ranking.index(name) + 1 if name in ranking else float("inf")
        for name in question["answer_session_ids"]
    ]


if __name__ == "__main__":
    common.run(
        __doc__,
        "questions",
        measure,
        ("file", {"nargs": "?", "type": Path, "help": "longmemeval_s.json"}),
        ("--questions", {"type": int, "default": 0, "help": "drawn at random (seeded); 0: all"}),
        ("--provider", {"default": "builtin"}),
    )
