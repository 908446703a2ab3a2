"""Draw docs/score.svg, what a score is made of: `uv run python docs/make_score_svg.py`.

The numbers are those of a real `search --explain` on the notes of docs/example-notes. Only the
standard library is used.
"""

import json
import os
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
TARGET = DOCS / "score.svg"
QUERY = "which port does SSH use on the GPU server?"
RESULTS = 3

PARTS = {  # name of a step in the trace -> its name in the legend, and where that stands
    "keyword": ("keyword: BM25", 0),
    "vector": ("vector: nearness", 140),
    "document": ("the best chunks of its document", 280),
}
WIDTH, MARGIN, TOP, ROW, BAR = 780, 20, 76, 78, 24
SCALE = WIDTH - 2 * MARGIN  # pixels for a score of 1

STYLE = """
text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 13px; fill: #1f2328 }
.query { font-weight: bold; font-size: 14px }
.sum { fill: #59636e }
.back { fill: #f6f8fa; stroke: #d1d9e0 }
.rest { fill: #e6eaef }
.keyword { fill: #0969da }
.vector { fill: #1a7f37 }
.document { fill: #8250df }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .sum { fill: #9198a1 }
  .back { fill: #0d1117; stroke: #3d444d }
  .rest { fill: #262c36 }
  .keyword { fill: #4493f8 }
  .vector { fill: #3fb950 }
  .document { fill: #ab7df8 }
}
"""


def explained() -> list[dict[str, Any]]:
    """The first results of the search, with what their scores are made of.

    Raises subprocess.CalledProcessError if a command fails.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HYBRID_MEMORY_", "OLLAMA_"))
    }
    command = [sys.executable, "-m", "hybrid_memory", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "example.db")
        environ = kept | {
            "HYBRID_MEMORY_DB_PATH": database,
            "HYBRID_MEMORY_PROVIDER": "builtin",
        }  # the same on every machine
        ingest = [*command, "ingest", "--path", "docs/example-notes"]
        search = [*command, "search", QUERY, "--limit", str(RESULTS), "--explain"]
        for arguments in (ingest, search):
            done = subprocess.run(
                arguments, cwd=DOCS.parent, env=environ, check=True, capture_output=True, text=True
            )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def sizes(result: dict[str, Any]) -> dict[str, float]:
    """What each added part is in the score, after all later factors.

    Raises ValueError if the picture has no colour for a part.
    """
    parts: dict[str, float] = {}
    for step in result["explain"]["trace"]:
        if "multiply" in step:
            parts = {name: size * step["multiply"] for name, size in parts.items()}
        else:
            parts[step["name"]] = parts.get(step["name"], 0.0) + step["add"]
    if parts.keys() - PARTS.keys():
        raise ValueError(f"no colour for {', '.join(parts.keys() - PARTS.keys())}")
    return {name: parts[name] for name in PARTS if name in parts}


def row(result: dict[str, Any], number: int) -> list[str]:
    """A bar with its parts, the citation above it and the sum below it."""
    top = TOP + number * ROW
    parts = sizes(result)
    total = " + ".join(f"{part} {size:.3f}" for part, size in parts.items())
    drawn = [
        f'<text x="{MARGIN}" y="{top}">{escape(result["citation"])} &#8212; '
        f"{escape(result['heading'])}</text>",
        f'<rect class="rest" x="{MARGIN}" y="{top + 8}" width="{SCALE}" height="{BAR}" rx="3"/>',
    ]
    left = float(MARGIN)
    for part, size in parts.items():
        drawn.append(
            f'<rect class="{part}" x="{left:.1f}" y="{top + 8}" width="{size * SCALE:.1f}" height="{BAR}"/>'
        )
        left += size * SCALE
    drawn.append(
        f'<text class="sum" x="{MARGIN}" y="{top + BAR + 24}">{total} = score {result["score"]:.3f}</text>'
    )
    return drawn


def legend(y: int) -> list[str]:
    """What each colour stands for."""
    drawn = []
    for part, (name, x) in PARTS.items():
        drawn.append(
            f'<rect class="{part}" x="{MARGIN + x}" y="{y - 10}" width="11" height="11" rx="2"/>'
        )
        drawn.append(f'<text x="{MARGIN + x + 17}" y="{y}">{escape(name)}</text>')
    return drawn


def picture() -> str:
    """The whole SVG."""
    results = explained()
    height = TOP + len(results) * ROW + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">',
        f"<title>What the scores of a search are made of: {escape(QUERY)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="back" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="query" x="{MARGIN}" y="{MARGIN + 16}">{escape(QUERY)}</text>',
        *(line for number, result in enumerate(results) for line in row(result, number)),
        *legend(height - MARGIN),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(picture())
    print(f"wrote {TARGET}")
