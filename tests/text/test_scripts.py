"""Patterns with the characters of scripts take long to compile: only texts that need them pay for it."""

import json
import subprocess
import sys
from itertools import pairwise
from unicodedata import category

# Prints the patterns that are compiled for a note and searches for it
PROGRAM = """
import json, re, sys
compiled = []
compile_pattern = re.compile

def noting(regex, flags=0):
    compiled.append(regex)
    return compile_pattern(regex, flags)

re.compile = noting
from hybrid_memory import HybridStore
with HybridStore(":memory:", {"provider": "builtin"}) as store:
    note, *queries = sys.argv[1:]
    store.store("a", "\\n\\n".join([note] * 60))
    for query in queries:
        for mode in ("hybrid", "keyword"):
            assert store.search(query, mode=mode)
print(json.dumps([regex for regex in compiled if isinstance(regex, str)]))
"""


def wide_patterns(note: str, *queries: str) -> list[str]:
    """The compiled patterns with ranges of letters of scripts without capitals."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, note, *queries], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return [
        regex
        for regex in json.loads(ran.stdout)
        if any(category(c) == "Lo" and after == "-" for c, after in pairwise(regex))
    ]


def test_an_english_memory_compiles_no_script() -> None:
    queries = ("plum", "when was the café opened?", "plmu")
    assert wide_patterns("The plum cake of the cafe was opened on 8 March 2026.", *queries) == []


def test_a_text_in_a_script_without_spaces_compiles_it() -> None:
    assert wide_patterns("昨天的蛋糕很好吃。", "蛋糕") != []
