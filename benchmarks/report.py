"""Write the tables and plots of docs/measurements.md from docs/measurements/*.json: `uv run
benchmarks/report.py`.

The JSON is what the benchmarks print with --json. In the page a table stands between `<!-- NAME
-->` and `<!-- end -->`; TABLES says of which file and of which figures it is. A test fails if page
and JSON disagree.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, RESULTS = DOCS / "measurements.md", DOCS / "measurements"

Row = dict[str, Any]


class Table(NamedTuple):
    """The rows of a file that have these values, and of each the figures, with their heads."""

    file: str
    columns: dict[str, str]
    only: dict[str, list[str]] = {}  # noqa: RUF012  # nobody changes it


class Plot(NamedTuple):
    """A curve for each value of a label, on logarithmic scales."""

    file: str
    title: str
    x: str
    y: str
    label: str
    curves: list[str]


MODES = ["keyword", "vector", "hybrid"]
TABLES = {
    "growth-ingest": Table("growth", {
        "chunks_stored": "chunks", "notes_mb": "notes MB", "ingest_cpu_s": "CPU s", "ingest_s": "s",
        "chunks_a_second": "chunks/s", "ingest_mb": "memory MB", "database_mb": "database MB",
        "times_the_notes": "times the notes",
    }, {"measured": ["ingest"]}),
    "growth-searches": Table("growth", {
        "chunks": "chunks", "measured": "mode", "warm_median_ms": "warm ms", "warm_p95_ms": "p95",
        "warm_cpu_median_ms": "of which CPU", "cold_median_ms": "cold ms", "cold_p95_ms": "p95",
        "cold_cpu_median_ms": "of which CPU", "memory_mb": "MB",
    }, {"measured": MODES}),
    "real-notes": Table("real_notes", {
        "group": "", "search": "search", "questions": "questions", "passage_first": "passage first",
        "passage_mrr": "its MRR", "document_first": "document first", "strong": "strong",
        "strong_and_right": "of which right", "unanswered_strong": "not noted, strong",
    }, {"group": ["all", "tuning half", "held-out half"]}),
}  # fmt: skip
PLOTS = {
    "growth": Plot(
        "growth",
        "A search in an open store: median ms of CPU time",
        "chunks",
        "warm_cpu_median_ms",
        "measured",
        MODES,
    )
}

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 60, 90, 52, 44
STYLE = """
text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 12px; fill: #59636e }
.title { font-weight: bold; font-size: 14px; fill: #1f2328 }
.back { fill: #f6f8fa; stroke: #d1d9e0 }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.curve { fill: none; stroke-width: 2 }
.c0 { stroke: #0969da } .c1 { stroke: #1a7f37 } .c2 { stroke: #8250df }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 }
  .title { fill: #e6edf3 }
  .back { fill: #0d1117; stroke: #3d444d }
  .grid { stroke: #3d444d }
  .c0 { stroke: #4493f8 } .c1 { stroke: #3fb950 } .c2 { stroke: #ab7df8 }
}
"""


def results(file: str) -> dict[str, Any]:
    """What a benchmark said."""
    found: dict[str, Any] = json.loads((RESULTS / f"{file}.json").read_text("utf-8"))
    return found


def shown(value: Any) -> str:
    """A figure with three digits, or as many as it has before the point: 0.0123, 12.3, 1,234."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(wanted: Table) -> str:
    """The table as markdown, and the command that made it."""
    answer = results(wanted.file)
    rows = [
        row
        for row in answer["rows"]
        if all(row[key] in values for key, values in wanted.only.items())
    ]
    lines = [list(wanted.columns.values()), ["---"] * len(wanted.columns)]
    lines += [[shown(row.get(key, "")) for key in wanted.columns] for row in rows]
    machine = answer["machine"]
    cores = f"{machine['cores']} cores of {machine['processor']}"
    made = f"`{answer['command']}`, {answer['date']}, {cores}, Python {machine['python']}"
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{made}"


def page(text: str) -> str:
    """The page with each table as the JSON has it."""
    for name, wanted in TABLES.items():
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = f"{before}{start}\n{table(wanted)}\n\n{end}{after}"
    return text


def decades(values: list[float]) -> range:
    return range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)


def picture(plot: Plot) -> str:
    """A plot as SVG, for light and dark pages."""
    curves = [
        [
            (row[plot.x], row[plot.y])
            for row in results(plot.file)["rows"]
            if row[plot.label] == name
        ]
        for name in plot.curves
    ]
    xs, ys = (decades([point[axis] for curve in curves for point in curve]) for axis in (0, 1))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - xs[0]) / max(len(xs) - 1, 1)
        up = (math.log10(y) - ys[0]) / max(len(ys) - 1, 1)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (
            HEIGHT - TOP - BOTTOM
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img">',
        f"<title>{plot.title}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="back" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
        f'<text class="title" x="20" y="30">{plot.title}</text>',
    ]
    for power in xs:
        x, _ = place(10.0**power, 10.0 ** ys[0])
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{10**power:,}</text>'
        )
    for power in ys:
        left, y = place(10.0 ** xs[0], 10.0**power)
        right, _ = place(10.0 ** xs[-1], 10.0**power)
        parts.append(
            f'<line class="grid" x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(
            f'<text x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:,g}</text>'
        )
    ends: list[float] = []
    for number, (name, curve) in enumerate(zip(plot.curves, curves, strict=True)):
        points = [place(x, y) for x, y in curve]
        parts.append(
            f'<polyline class="curve c{number}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'
        )
        parts += [
            f'<circle class="curve c{number}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points
        ]
        y = points[-1][1]
        while any(abs(y - end) < 14 for end in ends):  # the names do not cover each other
            y += 1
        ends.append(y)
        parts.append(f'<text x="{points[-1][0] + 10:.1f}" y="{y + 4:.1f}">{name}</text>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 8}">{plot.x}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def made() -> dict[Path, str]:
    """Every file that derives from the results, with its text."""
    return {PAGE: page(PAGE.read_text("utf-8"))} | {
        RESULTS / f"{name}.svg": picture(plot) for name, plot in PLOTS.items()
    }


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for path, text in made().items():
        path.write_text(text, "utf-8")
        print(f"wrote {path}", file=sys.stderr)
