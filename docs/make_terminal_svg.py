"""Draw docs/search.svg, a search in a terminal: `uv run python docs/make_terminal_svg.py`.

The command really runs, in a terminal of its own, on the notes of docs/example-notes. Only the
standard library is used.
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parent
TARGET = DOCS / "search.svg"
NOTES = "docs/example-notes"
SEARCHES = [  # as a reader would type them
    ["search", "which port does SSH use on the GPU server?", "--limit", "2"],
    ["search", "holidays of Jonas", "--limit", "1"],
]

COLUMNS = 88
SIZE, ADVANCE, LEADING = 14, 8.4, 20  # of the font, in pixels
MARGIN, BAR = 20, 36

CODE = re.compile(r"\033\[([\d;]*)m")
CLASSES = {"0": "", "1": "bold", "2": "dim", "1;33": "match"}

STYLE = """
text {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: 14px;
  white-space: pre;
  fill: #1f2328;
}
.window { fill: #f6f8fa; stroke: #d1d9e0 }
.dot { fill: #c8d1da }
.prompt { fill: #1a7f37; font-weight: bold }
.bold { font-weight: bold }
.dim { fill: #59636e }
.match { fill: #9a6700; font-weight: bold }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .window { fill: #0d1117; stroke: #3d444d }
  .dot { fill: #3d444d }
  .prompt { fill: #3fb950 }
  .dim { fill: #9198a1 }
  .match { fill: #f2cc60 }
}
"""


FILE_DAY = "file of 2026-11-03"


def run(arguments: list[str], database: str) -> str:
    """What the command prints to a terminal, with its colour codes; warnings are left out.

    Raises subprocess.CalledProcessError if it fails.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HYBRID_MEMORY_", "OLLAMA_", "NO_COLOR"))
    }
    settings = {
        "HYBRID_MEMORY_DB_PATH": database,
        "HYBRID_MEMORY_PROVIDER": "builtin",
    }  # the same on every machine
    environ = kept | settings | {"COLUMNS": str(COLUMNS), "TERM": "xterm", "FORCE_HYPERLINK": "0"}
    command = [sys.executable, "-m", "hybrid_memory", "--quiet", *arguments]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, cwd=DOCS.parent, env=environ, stdin=subprocess.DEVNULL, stdout=theirs
    )
    os.close(theirs)
    output = b""
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        try:
            while part := terminal.read(4096):
                output += part
        except OSError:  # how Linux says that the other side was closed
            pass
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, command)
    # The day of the checkout differs from one machine to another
    return re.sub("file of [0-9-]{10}", FILE_DAY, output.decode().replace("\r\n", "\n"))


def shown(arguments: list[str]) -> str:
    """The command as it is typed, its query in quotes."""
    return " ".join(
        ["hybrid-memory", *(f'"{word}"' if " " in word else word for word in arguments)]
    )


def spans(line: str) -> list[tuple[str, str]]:
    """Pieces of a line with the class of their style: "a \\033[1mb\\033[0m" -> ("a ", ""), ("b",
    "bold").
    """
    pieces, style, place = [], "", 0
    for code in CODE.finditer(line):
        pieces.append((line[place : code.start()], style))
        style, place = CLASSES[code[1]], code.end()
    return [(text, style) for text, style in [*pieces, (line[place:], style)] if text]


def drawn(line: list[tuple[str, str]], number: int) -> str:
    """A line of the terminal. `textLength` gives every font the same columns."""
    (first, style), *rest = line
    indented = len(first) - len(first.lstrip())
    pieces = [(first.lstrip(), style), *rest]
    length = sum(len(text) for text, _ in pieces) * ADVANCE
    tspans = "".join(
        f'<tspan class="{style}">{escape(text)}</tspan>' if style else escape(text)
        for text, style in pieces
    )
    place = f'x="{MARGIN + indented * ADVANCE:g}" y="{BAR + SIZE + number * LEADING}"'
    spacing = f'textLength="{length:g}" lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
    return f"<text {place} {spacing}>{tspans}</text>"


def picture() -> str:
    """The whole SVG."""
    lines: list[list[tuple[str, str]]] = []
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "example.db")
        run(["ingest", "--path", NOTES], database)
        for search in SEARCHES:
            lines.append([("$ ", "prompt"), (shown(search), "")])
            lines += [spans(line) for line in run(search, database).splitlines()]
    while not lines[-1]:
        lines.pop()
    width, height = 2 * MARGIN + COLUMNS * ADVANCE, BAR + len(lines) * LEADING + MARGIN
    size = f"{width:g} {height}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{width:g}" '
        f'height="{height}" role="img">',
        f"<title>{escape('; '.join(shown(search) for search in SEARCHES))}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="window" x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1}" rx="8"/>',
        *(f'<circle class="dot" cx="{MARGIN + 18 * place}" cy="18" r="5"/>' for place in range(3)),
        *(drawn(line, number) for number, line in enumerate(lines) if line),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(picture())
    print(f"wrote {TARGET}")
