"""How well the passages of markdown folders stand alone, told by the text of the files and the
passages alone.

    uv run benchmarks/chunks.py DIR... [--chunk-size 512] [--overlap 50]

A passage begins in mid-sentence if its first letter is in lower case, no blank line and no end of a
sentence stands before it in the file, and it is not the start of a list item, of a row, of a quote,
of an HTML element or of a line of code. It ends in mid-sentence if the same is true of what follows
it. Only the file tells this, never the chunker.
"""

import re
import statistics
import tempfile
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import notes
from common import Row, run

from hybrid_memory.documents import markdown

NOTES = 1000
FIGURES = [  # how many chunks
    "documents", "chunks", "larger than the size", "only headings or rules", "with a rule",
    "begin inside a table",
    "table without its header", "not as in the file", "not in its lines", "inside code",
    "begin in mid-sentence",
    "end in mid-sentence",
]  # fmt: skip
FENCE = re.compile(r"^[ \t>]*(?:(?:[-+*]|\d+[.)])[ \t]+)?(```|~~~)", re.MULTILINE)
DELIMITER = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
RULE = re.compile(r"^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)")
BLOCK = re.compile(r"[ \t>]*(?:$|[-+*•][ \t]|\d+[.)][ \t]|[|>#<]|```|~~~)")
SENTENCE_END = re.compile(r"[.!?…:。！？：｡][\"'”’»)\]*_`」』）]*\s*$")
FIRST_LETTER = re.compile(r"[^\W\d_]")


def place(text: str, chunk_text: str, start_line: int, at_least: int, starts: list[int]) -> int:
    """Where the passage stands in the text, or -1."""
    return text.find(chunk_text, max(starts[start_line - 1], at_least))


def cut_in_sentence(text: str, at: int, after: str) -> bool:
    """Whether text[:at] and `after`, which follows it, are parts of one sentence."""
    breaks = len(after) - len(after.lstrip("\n"))
    before, after = text[max(at - 400, 0) : at + breaks], after[breaks:]
    if not before.strip() or not after.strip() or re.search(r"\n[ \t>]*\n[ \t>]*$", before):
        return False
    if SENTENCE_END.search(before) and not after.lstrip()[:1].islower():
        return False
    line = after.split("\n", 1)[0]
    if before.rstrip(" \t").endswith("\n") and (
        BLOCK.match(line) or before.rstrip().endswith(("```", "~~~"))
    ):
        return False
    letter = FIRST_LETTER.search(after[:200])
    return letter is not None and letter[0].islower()


def looked_at(folder: Path, size: int, overlap: int) -> Row:
    found: Row = Counter(dict.fromkeys(FIGURES, 0))
    sizes: list[int] = []
    spent = 0.0
    for path in sorted(folder.rglob("*.md")):
        parsed = markdown.parse(path.read_text("utf-8", errors="replace"), {})
        begun = time.process_time()
        chunks = markdown.chunks(parsed, size, overlap)
        spent += time.process_time() - begun
        text, lines = parsed.text, parsed.text.split("\n")
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        fenced, inside = set(), False
        for number, line in enumerate(lines, 1):
            if FENCE.match(line):
                fenced.add(number)
                inside = not inside
            elif inside:
                fenced.add(number)
        found["documents"] += 1
        at_least = 0
        for chunk in chunks:
            header = getattr(chunk, "header", "")
            own = chunk.text.removeprefix(header)
            found["chunks"] += 1
            sizes.append(len(chunk.text))
            if len(chunk.text) > size:
                found["larger than the size"] += 1
            rows = [line for line in own.split("\n") if line.strip()]
            if all(HEADING.match(row) or RULE.match(row) for row in rows):
                found["only headings or rules"] += 1
            if any(RULE.match(row) for row in rows) and chunk.start_line not in fenced:
                found["with a rule"] += 1
            in_code = chunk.start_line in fenced and chunk.end_line in fenced
            line_before = lines[chunk.start_line - 2].lstrip(" >") if chunk.start_line > 1 else ""
            if (
                rows[0].lstrip(" >").startswith("|")
                and line_before.startswith("|")
                and chunk.start_line not in fenced
            ):
                found["begin inside a table"] += 1
                found["table without its header"] += not any(
                    DELIMITER.match(line) for line in chunk.text.split("\n")[:3]
                )
            start = place(text, own, chunk.start_line, at_least, starts)
            if start < 0 or start > starts[chunk.end_line]:
                found["not as in the file"] += 1
                kept = re.sub(r"\s|…", "", own)
                source = iter("".join(lines[chunk.start_line - 1 : chunk.end_line]))
                found["not in its lines"] += not all(character in source for character in kept)
                continue
            at_least = start + 1
            end = start + len(own)
            if in_code:
                found["inside code"] += 1
                continue
            of_code = chunk.start_line in fenced and start == starts[chunk.start_line - 1]
            found["begin in mid-sentence"] += not of_code and cut_in_sentence(text, start, own)
            of_code = chunk.end_line in fenced and text[end : end + 1] in ("", "\n")
            found["end in mid-sentence"] += not of_code and cut_in_sentence(
                text, end, text[end : end + 200]
            )
    found["mean length"] = round(statistics.fmean(sizes)) if sizes else 0
    found["median length"] = round(statistics.median(sizes)) if sizes else 0
    found["cpu ms"] = round(spent * 1000)
    return {name.replace(" ", "_"): number for name, number in found.items()}


def measure(args: Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as top:
        if not args.folders:
            notes.write(Path(top), 20 if args.small else NOTES)
        for folder in args.folders or [Path(top)]:
            yield {"folder": folder.name if args.folders else "made-up notes"} | looked_at(
                folder, args.chunk_size, args.overlap
            )


if __name__ == "__main__":
    run(
        __doc__,
        "folder",
        measure,
        (
            "folders",
            {"nargs": "*", "type": Path, "metavar": "DIR", "help": "(default: made-up notes)"},
        ),
        ("--chunk-size", {"type": int, "default": 512}),
        ("--overlap", {"type": int, "default": 50}),
    )
