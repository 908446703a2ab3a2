"""How much of an answer bears on the question: PrecisionMemBench, with the protocol of its authors.

    git clone https://github.com/tenurehq/precisionMemBench
    uv run benchmarks/precision_mem_bench.py precisionMemBench

It has 35 facts about two users, some of them superseded, 77 questions and two conversations of 12
turns. Each asks for certain facts and for no other. Pinned facts, open questions and the
participants of a relation are looked up, not searched, and the introduction about the user is the
runner's own: these parts are the same for every system. What is measured is the search, in the
memory of one user and scope, as the wrappers of other systems do it. A fact is stored with its
name, aliases, text and reason, and with the one that supersedes it.

Precision and recall are means over the questions that have one; a question is *exact* if it asks for
facts and gets them and no other; it *passes* if all its expectations hold. Turns are those of the
conversations. The settings in the table are those of a search.
"""

import argparse
import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common

from hybrid_memory import HybridStore
from hybrid_memory.search.request import request_of

USER = "test-user"
SLOTS = {"maxBeliefs": 20, "maxQuestions": 15}
SETTINGS: list[dict[str, float]] = [
    {},
    {"floor": 0.3},
    *({"stop": stop} for stop in (0.25, 0.4, 0.5, 0.6)),
    *({"stop": stop, "floor": 0.3} for stop in (0.25, 0.4, 0.5)),
    *({"stop": stop, "floor": 0.3, "in_force": True} for stop in (0.25, 0.4, 0.5)),
    *({"min_confidence": least} for least in (0.15, 0.2, 0.25)),
]
Json = dict[str, Any]


class Memory:
    """The facts, in a store and by their ids."""

    def __init__(self, provider: str, options: dict[str, float]) -> None:
        self._store = HybridStore(":memory:", {"provider": provider})
        self._options = options
        self._facts: dict[str, Json] = {}

    def add(self, fact: Json) -> None:
        self._facts[fact["_id"]] = fact
        parts = [fact["canonical_name"], *fact["aliases"], fact["content"], fact["why_it_matters"]]
        metadata = {"user": fact["user_id"], "scope": fact["scope"][0]}
        if fact["superseded_by"]:
            metadata["superseded_by"] = fact["superseded_by"]
        self._store.store(fact["_id"], " ".join(filter(None, parts)), metadata)

    def add_aliases(self, fact_id: str, aliases: list[str]) -> None:
        fact = self._facts[fact_id]
        added = [*fact["aliases"], *(alias.strip().lower() for alias in aliases)]
        self.add(fact | {"aliases": list(dict.fromkeys(added))})

    def context(self, user: str, scope: list[str], query: str, slots: Json) -> tuple[set[str], ...]:
        """The ids of the pinned, the relevant and the questioned facts."""
        slots = SLOTS | slots
        pinned = [
            fact["_id"]
            for fact in self._pinned(user, scope)
            if fact["type"] != "open_question" and not fact["superseded_by"]
        ]
        questions = [
            fact["_id"] for fact in self._pinned(user, scope) if fact["type"] == "open_question"
        ]
        most = slots["maxBeliefs"]
        found: list[str] = []
        if query.strip() and most > 0:
            found = [id for id in self._search(user, scope[0], query, most) if id not in pinned]
        found += self._participants(user, scope, found, pinned)
        left = max(0, most - len(pinned[:most]))
        return set(pinned[:most]), set(found[:left]), set(questions[: slots["maxQuestions"]])

    def _search(self, user: str, scope: str, query: str, limit: int) -> list[str]:
        where = {"user": user, "scope": scope}
        given = {"limit": limit, "where": where, **self._options}
        results = self._store.answer(query, request_of(given, self._store.config)).results
        return list(dict.fromkeys(result["doc_id"] for result in results))

    def _pinned(self, user: str, scope: list[str]) -> list[Json]:
        return [
            fact
            for fact in self._facts.values()
            if fact["user_id"] == user
            and fact["pinned"]
            and not fact["resolved_at"]
            and set(fact["scope"]) & set(scope)
        ]

    def _participants(
        self, user: str, scope: list[str], found: list[str], pinned: list[str]
    ) -> list[str]:
        relations = [self._facts[id] for id in found if self._facts[id]["type"] == "relation"]
        named = [id for fact in relations for id in fact.get("participants", [])]
        return [
            id
            for id in named
            if id in self._facts
            and id not in (*pinned, *found)
            and self._facts[id]["user_id"] == user
            and set(self._facts[id]["scope"]) & set(scope)
        ]


def fails(expected: Json, pinned: set[str], relevant: set[str], questions: set[str]) -> bool:
    """Whether an expectation of a question does not hold."""
    facts = expected.get("relevantBeliefs", {})
    only = facts.get("shouldOnlyInclude")
    either = pinned | relevant
    return bool(
        ((set(facts.get("mustInclude", [])) | set(facts.get("shouldInclude", []))) - either)
        or set(facts.get("mustExclude", [])) & either
        or (only is not None and set(only) != relevant)
        or len(relevant) > facts.get("maxCount", len(relevant))
        or len(relevant) < facts.get("minCount", 0)
        or set(expected.get("pinnedFacts", {}).get("mustInclude", [])) - pinned
        or set(expected.get("pinnedFacts", {}).get("mustExclude", [])) & pinned
        or set(expected.get("openQuestions", {}).get("mustInclude", [])) - questions
        or set(expected.get("openQuestions", {}).get("mustExclude", [])) & questions
        or set(expected.get("noiseCheck", {}).get("mustNotSurface", [])) & either
    )


def measured(fixtures: Path, options: dict[str, float], provider: str) -> common.Row:
    """The figures of one setting."""
    facts = read(fixtures, "beliefs.seed")
    always = {fact["_id"] for fact in facts if fact["pinned"] and fact["user_id"] == USER}
    memory = Memory(provider, options)
    for fact in facts:
        memory.add(fact)
    precisions: list[float] = []
    recalls: list[float] = []
    passed = exact = 0
    for case in read(fixtures, "retrieval.cases"):
        pinned, relevant, questions = memory.context(
            case.get("userId", USER), case["scope"], case["query"], case.get("budget", {})
        )
        expected = case["expect"].get("relevantBeliefs", {})
        right = set(expected.get("shouldOnlyInclude") or expected.get("mustInclude", []))
        if "shouldOnlyInclude" not in expected:
            right -= always
        if relevant or right:
            precisions.append(len(right & relevant) / len(relevant) if relevant else 0.0)
        if right:
            recalls.append(len(right & relevant) / len(right))
        holds = not fails(case["expect"], pinned, relevant, questions)
        passed += holds
        exact += bool(holds and right & relevant)
    return {
        "setting": " ".join(f"{name} {value}" for name, value in options.items()) or "none",
        "precision": statistics.fmean(precisions),
        "recall": statistics.fmean(recalls),
        "exact": exact,
        "passed": passed,
        "turns_passed": turns_passed(fixtures, options, provider),
    }


def turns_passed(fixtures: Path, options: dict[str, float], provider: str) -> int:
    """The turns of the conversations whose expectations hold. Facts are added between turns."""
    memory = Memory(provider, options)
    for fact in read(fixtures, "beliefs.seed"):
        memory.add(fact)
    count = 0
    for case in read(fixtures, "session-retrieval.cases"):
        for turn in case["turns"]:
            found = memory.context(USER, turn["scope"], turn["userMessage"], {})
            count += not fails(turn["expect"], *found)
            if turn.get("createBeliefAtTurn"):
                memory.add({"aliases": [], "superseded_by": None} | turn["createBeliefAtTurn"])
            change = turn.get("updateBeliefAtTurn") or {}
            if change.get("addAliases"):
                memory.add_aliases(change["beliefId"], change["addAliases"])
    return count


def read(fixtures: Path, name: str) -> list[Json]:
    return list(json.loads((fixtures / f"{name}.json").read_text("utf-8")))


def measure(args: argparse.Namespace) -> Iterator[common.Row]:
    if args.small:
        args.clone = common.CHECKOUT / "tests/quality/precision"
    for options in SETTINGS[:: 4 if args.small else 1]:
        yield measured(args.clone / "fixtures", options, args.provider)


if __name__ == "__main__":
    common.run(
        __doc__,
        "setting",
        measure,
        ("clone", {"nargs": "?", "type": Path, "help": "a clone of PrecisionMemBench"}),
        ("--provider", {"default": "builtin"}),
    )
