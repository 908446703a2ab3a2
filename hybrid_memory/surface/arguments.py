"""The commands and options of the command line, and their help. Prints nothing but help and usage errors."""

import argparse
import sys
from typing import Any, NoReturn

from .. import __version__, config
from ..search.hit import MODES

EPILOG = """\
exit status:
  0    answered, if only by an empty list
  1    a failure that the message on stderr explains
  2    wrong usage
  130  interrupted

The one JSON document of the answer goes to stdout, everything else to stderr.
"""

FORMATS = ("text", "json", "jsonl", "md", "paths")

MOST = 10**9  # the largest count that is taken: SQLite has no number over 2**63

SETTINGS = {  # option -> config key
    "db": "db_path",
    "provider": "provider",
    "ollama_url": "ollama_url",
    "model": "model",
    "chunk_size": "chunk_size",
    "overlap": "chunk_overlap",
    "keyword_weight": "keyword_weight",
    "vector_weight": "vector_weight",
}


class Parser(argparse.ArgumentParser):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs)

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: -"):
            from difflib import get_close_matches

            meant = get_close_matches(message.split()[2].partition("=")[0], _flags(self), 1)
            message += f"; did you mean {meant[0]}?" if meant else ""
            message += "; a query that begins with - is written --query=-x, or after --"
        if message.startswith("argument --half-life"):
            message += "; write --half-life=30, or put it behind the query"
        print(f"hybrid-memory: {message} (see {self.prog} --help)", file=sys.stderr)
        sys.exit(2)


def _flags(parser: argparse.ArgumentParser) -> set[str]:
    """Every option, those of commands included."""
    found = set()
    for action in parser._actions:
        found |= {flag for flag in action.option_strings if flag.startswith("--")}
        if isinstance(action, argparse._SubParsersAction):
            found = found.union(*map(_flags, action.choices.values()))
    return found


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="hybrid-memory", description="Hybrid search over an agent's markdown memory.", epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"hybrid-memory {__version__}")
    _add_global_options(parser, None)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)

    def command(name: str, about: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=about, description=about)
        _add_global_options(sub, argparse.SUPPRESS)  # or its defaults would undo what stands before the command
        return sub

    store = command("store", "Put a text into the memory, in place of the one with the same id.")
    store.add_argument("--doc-id", type=_given, required=True, metavar="ID")
    text = store.add_mutually_exclusive_group(required=True)
    text.add_argument("--text", metavar="TEXT")
    text.add_argument("--file", metavar="PATH", help="read the text from a file; - is standard input")
    store.add_argument("--metadata", nargs="+", action="extend", type=_key_value, default=[], metavar="KEY=VALUE")

    search = command("search", "Find the chunks that answer a query, best first.")
    search.add_argument("words", nargs="*", metavar="QUERY")
    search.add_argument("--query", metavar="QUERY", help="the query; write --query=--maxfail for one that begins with -")
    search.add_argument("--limit", type=_positive, default=10, metavar="N", help="how many results (default: 10)")
    search.add_argument("--mode", choices=MODES, default="hybrid", help="default: hybrid")
    search.add_argument("--context", type=_count, default=0, metavar="N", help="add as many chunks before and after each result")
    search.add_argument("--per-doc", type=_positive, metavar="N", help="at most so many results of one document")
    _add_filters(search)
    search.add_argument("--min-score", type=_share, default=0.0, metavar="S", help="leave out what scores less, 0 to 1")
    search.add_argument(
        "--min-confidence", type=_share, default=0.0, metavar="C", help="leave out what is less sure to answer, 0 to 1"
    )
    search.add_argument(
        "--half-life",
        type=_days,
        nargs="?",
        const=30.0,
        metavar="DAYS",
        help="halve the scores of dated documents with every so many days of age (default: 30 if given, else never)",
    )
    search.add_argument("--explain", action="store_true", help="say what each score is made of, and how long each stage took")
    search.add_argument("--exact", action="store_true", help="compare the query with every embedding, without the index")
    search.add_argument(
        "--fts-syntax", action="store_true", help="QUERY is FTS5's: prefix*, NEAR(a b, 5), a NOT b, heading: word"
    )
    search.add_argument("--refresh", action="store_true", help="take in what changed in the ingested folders first")
    search.add_argument("--format", choices=FORMATS, help="default: text on a terminal, else json")
    search.add_argument("--json", action="store_const", dest="format", const="json", help="short for --format json")

    get = command("get", "Read an indexed document, or lines of it, as its file is now.")
    get.add_argument("target", metavar="TARGET", help="a citation (notes/a.md#L12-L30), a document's id, its end, or a path")
    get.add_argument("--max-lines", type=_positive, default=200, metavar="N", help="of one answer (default: 200)")
    get.add_argument("--max-chars", type=_positive, default=20_000, metavar="N", help="of one answer (default: 20000)")
    get.add_argument("--json", action="store_true", help="JSON even on a terminal")

    listing = command("list", "List the documents, newest date first.")
    _add_filters(listing)
    listing.add_argument("--limit", type=_positive, default=100, metavar="N", help="how many documents (default: 100)")
    listing.add_argument("--json", action="store_true", help="JSON even on a terminal")

    ingest = command("ingest", "Make the memory mirror a folder of files.")
    ingest.add_argument("--path", action="append", required=True, metavar="DIR", help="a folder or file; may be repeated")
    ingest.add_argument("--pattern", action="append", metavar="GLOB", help="file names to take; may be repeated (default: *.md)")
    ingest.add_argument(
        "--exclude", action="append", default=[], metavar="GLOB", help="names or paths below DIR to leave out; may be repeated"
    )
    ingest.add_argument("--incremental", action="store_true", help="do not read files whose time and size are as before")
    ingest.add_argument(
        "--collection", metavar="NAME", help="what ids begin with (default: the folder's name; sessions for *.jsonl)"
    )
    ingest.add_argument("--all", action="store_true", help="take transcripts that go on, however little is new in them")
    ingest.add_argument("--follow-symlinks", action="store_true", help="follow symbolic links")
    ingest.add_argument("--keep-missing", action="store_true", help="keep the documents of files that are gone")

    watch = command("watch", "Keep the memory current while files change, until it is stopped; exit 0.")
    watch.add_argument(
        "--path", action="append", default=[], metavar="DIR", help="only this of what was ingested; may be repeated"
    )

    delete = command("delete", "Remove a document, or all of a collection or from a path.")
    what = delete.add_mutually_exclusive_group(required=True)
    what.add_argument("--doc-id", metavar="ID")
    what.add_argument("--collection", metavar="NAME", help="all its documents; its name is free again")
    what.add_argument("--path", metavar="DIR", help="all that came from this folder or file, even if it no longer exists")

    reindex = command("reindex", "Make the indexes anew from the stored chunks, and compact the file.")
    reindex.add_argument("--embeddings", action="store_true", help="embed all chunks anew, as after a change of model")

    command("stats", "Count what is stored.")
    doctor = command("doctor", "Check the memory, its files and the embedding server; exit 1 if something needs doing.")
    doctor.add_argument("--json", action="store_true", help="JSON even on a terminal")

    evaluation = command("eval", "Measure how well searches find what judgements say they should.")
    evaluation.add_argument(
        "--queries", required=True, metavar="FILE", help='JSON lines of {"id": "q1", "text": "what was asked"}'
    )
    evaluation.add_argument(
        "--qrels", required=True, metavar="FILE", help="lines of query, document, grade, or TREC's four columns"
    )
    evaluation.add_argument("--modes", type=_modes, metavar="MODES", default="keyword,vector,hybrid", help="default: %(default)s")
    evaluation.add_argument("--misses", action="store_true", help="also what the last of the modes missed, and what it found")
    evaluation.add_argument("--json", action="store_true", help="JSON even on a terminal")

    command("mcp", "Serve the memory to an agent as MCP tools, over standard input and output.")
    return parser


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--collection", metavar="NAME", help="documents of this collection")
    parser.add_argument("--in", dest="inside", metavar="GLOB", help="documents whose id matches, as memory/2026-* or memory")
    parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="documents with this tag; may be repeated: all")
    parser.add_argument(
        "--where", action="append", type=_key_value, default=[], metavar="KEY=VALUE", help="documents with this metadata: all"
    )
    parser.add_argument("--since", metavar="DATE", help="documents dated then or later: 2026-01-05, 2026-01, 7d, 3w, 6m, 1y")
    parser.add_argument("--until", metavar="DATE", help="documents dated then or earlier")


def _add_global_options(parser: argparse.ArgumentParser, default: Any) -> None:
    def add(flag: str, **kwargs: Any) -> None:
        group.add_argument(flag, default=default, **kwargs)

    group = parser.add_argument_group("options of every command")
    add("--db", metavar="PATH", help="the database")
    add("--config", metavar="PATH", help="a config file, in place of the standard one")
    add("--provider", choices=config.PROVIDERS, help="what makes the embeddings; none: search by keyword only")
    add("--ollama-url", metavar="URL", help="where Ollama answers")
    add("--model", metavar="NAME", help="the embedding model")
    add("--chunk-size", type=int, metavar="N", help="characters of a chunk at most")
    add("--overlap", type=int, metavar="N", help="characters that a chunk repeats of the one before")
    add("--keyword-weight", type=float, metavar="W", help="share of BM25 in a hybrid score")
    add("--vector-weight", type=float, metavar="W", help="share of the cosine in a hybrid score")
    add("--quiet", action="store_true", help="no warnings and no progress")


def _given(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return text


def _count(text: str, least: int = 0) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"{number} is less than {least}")
    return min(number, MOST)


def _positive(text: str) -> int:
    return _count(text, 1)


def _days(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 up")
    return number


def _share(text: str) -> float:
    number = _days(text)
    if number > 1:
        raise argparse.ArgumentTypeError(f"{text} is more than 1")
    return number


def _modes(text: str) -> list[str]:
    modes = text.split(",")
    if unknown := [mode for mode in modes if mode not in MODES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(MODES)}")
    return modes


def _key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value
