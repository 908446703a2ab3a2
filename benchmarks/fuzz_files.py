"""Hostile notes and transcripts for `fuzz.py files`, and what must hold of their chunks."""

import json
import os
import random
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

from hybrid_memory import HybridStore
from hybrid_memory.documents.chunker import LONGEST_PATH, Chunk
from hybrid_memory.documents.document import Document, assemble, prepare
from hybrid_memory.documents.files import BadFileError
from hybrid_memory.documents.formats import Format, format_of
from hybrid_memory.documents.front_matter import MAX_METADATA
from hybrid_memory.documents.markdown import parse
from hybrid_memory.documents.noise import without_noise
from hybrid_memory.documents.structure import below, markdown_structure
from hybrid_memory.storage.prepared import Prepared
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.text.characters import storable

MAX_BYTES = 3_000_000
STORED = 0.02  # of the files are put into a store and searched as well
SECONDS, SECONDS_PER_BYTE = 0.5, 1e-5  # of CPU that a file may take
SIZES = [(512, 50), (512, 50), (512, 0), (64, 10), (20, 19), (3, 1), (1, 0), (4000, 200)]
LABEL = re.compile(r"\b(?:User|Assistant): ")

PIECES = [
    *("a", "word ", "two words", " ", "\t", "\n", "\n\n", "\r\n", "\r", "\0", "\x0c", "\x1b[31m",
      "\u2028", "\ufeff", "\ufffd"),
    *("# ", "## A ##\n", "\n# One\n", "\n###### Six\n", "\n#\n", "####### ", "Setext\n===\n",
      "---\n", "***\n", "...\n", "+++\n"),
    *("```\n", "~~~~\n", "````md\n", "- ```\n", "`", "> ", "> > # ", "- ", "  - ", "1. ", "* [ ] ",
      "| a | b |\n", "[[link]]"),
    *("key: ", "title: ", "tags: ", "date: 2026-01-05\n", "aliases:\n", "a: [", "b: {", "c: |\n",
      "d: >-\n", "&x ", "*x "),
    *('"', "'", "\\", "]", "}", ",", ":", ": ", "#", " #", "#tag ", "<!--", "-->", "<bash-a>",
      "</bash-a>", "\n```\n"),
    *("(untrusted x):\n```json\n", "中文没有空格。", "ภาษาไทย", "\u0301", "e\u0301", "\u200d",
      "\U0001f469\u200d\U0001f467"),
    *("\U0001f1e9", "\u0e33", "\U0010ffff", "\ud800", "\udfff", "x" * 700, " " * 700,
      "# " + "long " * 300 + "\n"),
    *("https://example.com/a/b", "9" * 400, "1e999", "true", "~"),
]  # fmt: skip
KEYS = "type message role content text timestamp name summary aiTitle customTitle isMeta id".split()
KINDS = "message user assistant session_info summary ai-title custom-title text toolResult".split()
TIMES = [
    "2026-03-05T10:00:00Z",
    "2026-02-31",
    "2026-99-99",
    "0000-00-00",
    "9999-12-31",
    "٢٠٢٦-٠٣-٠٥",
    "1772755199000",
    1e15,
    -1e15,
]
SCALARS = [None, True, False, 0, -1, 1e308, float("nan"), float("inf"), 10**300, "", *KINDS, *TIMES]


class Case(NamedTuple):
    name: str
    data: bytes
    sizes: tuple[int, int]
    metadata: dict[str, Any]  # of a text that does not come from a file
    stored: bool


def make(rng: random.Random) -> Case:
    transcript = rng.random() < 0.4
    makers = (
        [records, records, records, records, mixed, noise]
        if transcript
        else [mixed, mixed, mixed, front, noise, single]
    )
    data = rng.choice(makers)(rng)
    if rng.random() < 0.3:
        data = damaged(rng, data)
    name = "a.jsonl" if transcript else rng.choice(["a.md", "2026-01-05.md", "b.txt"])
    sizes = rng.choice(SIZES) if len(data) < 20_000 else SIZES[0]
    metadata = {
        storable(words(rng, 2)): value(rng, 2),
        "title": value(rng, 1),
        "date": rng.choice(TIMES),
    }
    return Case(
        name, data[:MAX_BYTES], sizes, metadata if rng.random() < 0.5 else {}, rng.random() < STORED
    )


def kept(case: Case) -> tuple[str, bytes]:
    return case.name, case.data


def length(rng: random.Random) -> int:
    return int(10 ** rng.choice([1, 1, 1, 2, 2, 2, 3, rng.uniform(1, 4)]))


def words(rng: random.Random, most: int) -> str:
    return "".join(rng.choices(PIECES, k=rng.randint(0, most)))


def encoded(rng: random.Random, text: str) -> bytes:
    """Mostly UTF-8; unpaired surrogates become the bytes that they would have."""
    encoding = rng.choice(
        ["utf-8"] * 12 + ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1"]
    )
    return text.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass")


def mixed(rng: random.Random) -> bytes:
    """Pieces of markdown in any order, or the same few of them again and again."""
    if rng.random() < 0.3:
        return encoded(rng, (words(rng, 4) or "x") * length(rng))
    return encoded(rng, words(rng, length(rng)))


def front(rng: random.Random) -> bytes:
    """Front matter, well made or not, and some text."""
    lines = [
        rng.choice(["title: ", "key: ", "- ", "  - ", "", "  ", "tags: "]) + words(rng, 3)
        for _ in range(length(rng))
    ]
    ends = rng.choice(["\n", "\r\n", "\r"])
    return encoded(
        rng, ends.join(["---", *lines, rng.choice(["---", "...", "--", "--- "]), words(rng, 30)])
    )


def single(rng: random.Random) -> bytes:
    """One character or piece, up to a megabyte of it."""
    unit = rng.choice([*PIECES, chr(rng.randrange(0x110000))]).encode("utf-8", "surrogatepass")
    size = rng.choice(
        [1000, 10_000, 10_000, 100_000, 1_000_000] if rng.random() < 0.1 else [1000, 5000]
    )
    return rng.choice([b"", b"---\n", b"# ", b"```\n", b"---\na: "]) + unit * (size // len(unit))


def noise(rng: random.Random) -> bytes:
    return rng.randbytes(length(rng))


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Some bytes lost, doubled, changed or put in."""
    for _ in range(rng.randint(1, 5)):
        at, size = rng.randint(0, len(data)), rng.choice([1, 1, 2, 10, 100])
        part = data[at : at + size]
        other = rng.choice(
            [b"", part * 2, rng.randbytes(len(part)), part + rng.choice([b"\0", b"\xff", b"\n"])]
        )
        data = data[:at] + other + data[at + size :]
    return data


def records(rng: random.Random) -> bytes:
    """A transcript with values of every type in every place."""
    lines = []
    for _ in range(rng.choice([1, 3, 10, 50])):
        if rng.random() < 0.1:
            deep = rng.choice([10, 300, 900, 990, 1000, 5000, 100_000])
            opening, closing = rng.choice(
                [('{"type":', "}"), ("[", "]"), ('{"message":{"content":', "}}"), ("[", "}")]
            )
            lines.append(opening * deep + "0" + closing * deep)
        else:
            lines.append(json.dumps(record(rng), ensure_ascii=rng.random() < 0.7))
    return rng.choice(["\n"] * 5 + ["\r\n", "\r", "\n\n"]).join(lines).encode(
        "utf-8", "surrogatepass"
    ) + rng.choice([b"", b"\n"])


def record(rng: random.Random) -> Any:
    """What a transcript has on a line, with some parts replaced."""
    text = words(rng, rng.choice([1, 3, 10, 40]))
    content = (
        text
        if rng.random() < 0.4
        else [{"type": "text", "text": text}, {"type": rng.choice(KINDS), "text": value(rng, 1)}]
    )
    made: dict[str, Any] = {
        "type": rng.choice(KINDS),
        "timestamp": rng.choice(TIMES),
        "message": {"role": rng.choice(["user", "assistant"]), "content": content},
        rng.choice(KEYS): words(rng, 3),
    }
    for place in (made, made["message"]) if isinstance(made["message"], dict) else (made,):
        if rng.random() < 0.3:
            place[rng.choice(KEYS)] = value(rng, 3)
    return made if rng.random() < 0.95 else value(rng, 3)


def value(rng: random.Random, depth: int) -> Any:
    if not depth or rng.random() < 0.6:
        return rng.choice([*SCALARS, words(rng, 4), words(rng, 4), words(rng, 4)])
    if rng.random() < 0.5:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {
        rng.choice([*KEYS, words(rng, 1)]): value(rng, depth - 1) for _ in range(rng.randint(0, 3))
    }


def check(case: Case, folder: Path) -> None:
    path = folder / case.name
    path.write_bytes(case.data)
    os.utime(path, (1, 1))  # a file that was changed a moment ago is waited for
    try:
        spent = check_file(case, str(path))
        limit = SECONDS + len(case.data) * SECONDS_PER_BYTE
        if spent > limit:  # imports may have been the reason
            spent = check_file(case, str(path))
        assert spent < limit, f"{spent:.1f} s of CPU"
        if not case.name.endswith(".jsonl"):
            text = storable(case.data.decode(errors="surrogateescape"))
            check_prepared(prepare(Document("d", text, case.metadata), *case.sizes))
        if case.stored:
            check_store(path)
    finally:
        path.unlink()


def check_file(case: Case, path: str) -> float:
    """Gives the seconds of CPU that it took to read the file and to cut it into chunks."""
    format = format_of(path)
    begun = time.process_time()
    try:
        reading = format.open(path, MAX_BYTES, False, {})
    except BadFileError:
        return 0.0
    chunks = list(reading.chunks(*case.sizes))
    metadata, warnings, date = reading.metadata, reading.warnings, reading.date("d").day
    reading.close()
    spent = time.process_time() - begun
    assert sum(map(len, warnings)) < 400
    assert date is None or re.fullmatch(r"(?:19|20)[0-9]{2}-[0-9]{2}(?:-[0-9]{2})?", date), date
    of_file = path, reading.mtime, reading.size, reading.digest
    check_prepared(assemble(Document("d", "", metadata, *of_file), chunks, date, "x"))
    check_lines(format, path, chunks, case.sizes[0], reading.digest)
    return spent


def check_prepared(prepared: Prepared) -> None:
    """Everything that is written can be written, and is not larger than it may be."""
    metadata = prepared.row["metadata"]
    json.loads(metadata)
    assert prepared.row["source_path"] is None or len(metadata) < 7 * MAX_METADATA
    for row in (prepared.row, *prepared.chunks):
        for cell in row.values():
            if isinstance(cell, str):
                cell.encode()
    for row in prepared.chunks:
        assert max(len(row["heading"]), len(row["heading_path"])) <= LONGEST_PATH


def check_lines(format: Format, path: str, chunks: list[Chunk], size: int, digest: bytes) -> None:
    with open(path, "rb") as stream:
        lines, digest_of_lines = format.lines(stream, MAX_BYTES)
    assert digest_of_lines == digest
    spoken = path.endswith(".jsonl")
    whole = "\n".join(lines)
    parsed = getattr(format, "parsed", parse)(whole, {})
    structure = getattr(format, "structure", markdown_structure)(below(parsed.text, parsed.skipped))
    cleaned = parsed.text.split("\n")[: parsed.skipped] + structure.text.split("\n")[1:]
    before = 1
    for number, chunk in enumerate(chunks):
        assert chunk.index == number
        assert before <= chunk.start_line <= chunk.end_line <= len(lines)
        before = chunk.start_line
        above, text = "\n".join(lines[chunk.start_line - 1 : chunk.end_line]), chunk.text
        assert text.strip()
        assert len(text) <= max(size, len("Assistant: ") + 1)
        own = text.removeprefix(getattr(chunk, "header", ""))
        # The pieces of a long message may overlap in one chunk, without its noise and with the
        # header of a table
        if spoken:
            kept = "".join(LABEL.sub("", above).split())
            pieces = ["".join(piece.replace("…", "").split()) for piece in LABEL.split(own)]
            assert "|---|" in own or all(is_within(piece, kept) for piece in pieces), chunk
        else:
            after_noise = "\n".join(cleaned[chunk.start_line - 1 : chunk.end_line])
            assert own in after_noise or own in without_noise(f"\n{above}"), (
                chunk
            )  # the latter for front matter that is the text


def is_within(part: str, text: str) -> bool:
    """Whether the characters of `part` stand in the text in this order, perhaps with others between
    them.
    """
    rest = iter(text)
    return part in text or all(character in rest for character in part)


def check_store(path: Path) -> None:
    with HybridStore(":memory:", {"provider": "none", "max_file_bytes": MAX_BYTES}) as store:
        report = Ingest(store, patterns=["*"]).run([str(path)])
        assert report.files + len(report.errors) == 1
        for result in store.search("word OR words a 中文 title", mode="keyword"):
            json.dumps(result).encode()
