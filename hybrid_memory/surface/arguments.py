"""The commands and options of the command line, and their help. Prints only help and usage errors."""

import argparse
import sys
from typing import Any, NoReturn

from .. import __version__, config
from ..search.hit import MODES
from ..text.characters import storable_name
from .streams import output, tell

EPILOG = """\
exit status:
  0    the command answered; the answer may be an empty list
  1    the command failed; a line on stderr says why
  2    wrong usage
  130  interrupted

The answer is one JSON document on stdout. Everything else goes to stderr.
"""

FORMATS = ("text", "json", "jsonl", "md", "paths")

MOST = 10**9  # a larger count means the same, and SQLite has no number above 2**63

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
    """Prints a usage error as one line. It suggests only options of the command that was given."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if any("\0" in text for text in args or ()):
            self.error("an argument contains a NUL character")
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:  # of this command, whose parser knows its options
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: -"):
            from difflib import get_close_matches

            flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
            meant = get_close_matches(message.split()[2].partition("=")[0], flags, 1, cutoff=0.75)
            message += f"; did you mean {meant[0]}?" if meant else ""
            message += "; a query that begins with - is written --query=-x, or after --"
        if message.startswith("argument --half-life"):
            message += "; write --half-life=30, or put it after the query"
        tell(f"{message} (see {self.prog} --help)")
        sys.exit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        with output() as stream:
            stream.write(message)


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="hybrid-memory", description="Hybrid search over an agent's markdown memory.", epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"hybrid-memory {__version__}")
    _add_global_options(parser, None)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)

    def command(name: str, about: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=about, description=about)
        _add_global_options(sub, argparse.SUPPRESS)  # its defaults would replace the options that stand before the command
        return sub

    store = command("store", "Put a text into the memory. It replaces the text with the same id.")
    store.add_argument("--doc-id", type=_given, required=True, metavar="ID")
    text = store.add_mutually_exclusive_group(required=True)
    text.add_argument("--text", metavar="TEXT")
    text.add_argument("--file", metavar="PATH", help="read the text from a file; - is standard input")
    store.add_argument("--metadata", nargs="+", action="extend", type=_key_value, default=[], metavar="KEY=VALUE")

    search = command("search", "Find the chunks that answer a query, best first.")
    search.add_argument("words", nargs="*", metavar="QUERY")
    search.add_argument("--query", metavar="QUERY", help="the query; if it begins with -, write --query=--maxfail")
    search.add_argument("--limit", type=_positive, default=10, metavar="N", help="how many results (default: 10)")
    search.add_argument("--mode", choices=MODES, default="hybrid", help="default: hybrid")
    search.add_argument("--context", type=_count, default=0, metavar="N", help="add N chunks before and N after each result")
    search.add_argument("--per-doc", type=_positive, metavar="N", help="at most N results from one document")
    _add_filters(search)
    search.add_argument(
        "--min-score", type=_share, default=0.0, metavar="S", help="leave out results with a lower score (0 to 1)"
    )
    search.add_argument(
        "--min-confidence", type=_share, default=0.0, metavar="C", help="leave out results with a lower confidence (0 to 1)"
    )
    search.add_argument(
        "--half-life",
        type=_days,
        nargs="?",
        const=30.0,
        metavar="DAYS",
        help="halve the score of a dated document for every DAYS days of its age (default: never; 30 if DAYS is left out)",
    )
    search.add_argument("--explain", action="store_true", help="show how each score was computed, and how long each stage took")
    search.add_argument("--exact", action="store_true", help="compare the query with every embedding, without the vector index")
    search.add_argument(
        "--fts-syntax", action="store_true", help="QUERY has the syntax of FTS5: prefix*, NEAR(a b, 5), a NOT b, heading: word"
    )
    search.add_argument("--refresh", action="store_true", help="first read what has changed in the ingested folders")
    search.add_argument("--format", choices=FORMATS, help="default: text on a terminal, else json")
    search.add_argument("--json", action="store_const", dest="format", const="json", help="short for --format json")

    get = command("get", "Read an indexed document, or some of its lines, as its file is now.")
    get.add_argument(
        "target", metavar="TARGET", help="a citation (notes/a.md#L12-L30), the id of a document, the end of an id, or a path"
    )
    get.add_argument("--max-lines", type=_positive, default=200, metavar="N", help="at most N lines (default: 200)")
    get.add_argument("--max-chars", type=_positive, default=20_000, metavar="N", help="at most N characters (default: 20000)")
    get.add_argument("--json", action="store_true", help="print JSON, on a terminal too")

    listing = command("list", "List the documents, those with the newest date first.")
    _add_filters(listing)
    listing.add_argument("--limit", type=_positive, default=100, metavar="N", help="how many documents (default: 100)")
    listing.add_argument("--json", action="store_true", help="print JSON, on a terminal too")

    ingest = command("ingest", "Make the memory a mirror of a folder of files.")
    ingest.add_argument("--path", action="append", required=True, metavar="DIR", help="a folder or file; may be repeated")
    ingest.add_argument(
        "--pattern", action="append", metavar="GLOB", help="names of the files to read; may be repeated (default: *.md)"
    )
    ingest.add_argument(
        "--exclude", action="append", default=[], metavar="GLOB", help="names, or paths below DIR, to leave out; may be repeated"
    )
    ingest.add_argument("--incremental", action="store_true", help="do not read files whose time and size have not changed")
    ingest.add_argument(
        "--collection",
        type=storable_name,
        metavar="NAME",
        help="the beginning of all ids (default: the name of the folder; sessions for *.jsonl)",
    )
    ingest.add_argument("--all", action="store_true", help="read every transcript that has changed, even if little in it is new")
    ingest.add_argument("--follow-symlinks", action="store_true", help="follow symbolic links")
    ingest.add_argument("--keep-missing", action="store_true", help="keep the documents of files that are gone")

    watch = command("watch", "Keep the memory up to date while files change. Ends with exit status 0 when it is stopped.")
    watch.add_argument(
        "--path", action="append", default=[], metavar="DIR", help="watch only this ingested folder or file; may be repeated"
    )

    delete = command("delete", "Remove a document, or all documents of a collection or a path.")
    what = delete.add_mutually_exclusive_group(required=True)
    what.add_argument("--doc-id", type=storable_name, metavar="ID")
    what.add_argument(
        "--collection", type=storable_name, metavar="NAME", help="remove all of its documents, and make its name free"
    )
    what.add_argument("--path", metavar="DIR", help="remove all documents from this folder or file, even if it no longer exists")

    reindex = command("reindex", "Build the indexes again from the stored chunks, and compact the file.")
    reindex.add_argument(
        "--embeddings", action="store_true", help="also embed all chunks again, which a change of model requires"
    )

    command("stats", "Count documents, chunks and embeddings.")
    doctor = command(
        "doctor", "Check the memory, its files and the embedding server. Exit status 1 means that something should be repaired."
    )
    doctor.add_argument("--json", action="store_true", help="print JSON, on a terminal too")

    evaluation = command("eval", "Measure how well searches find the documents that your judgements name.")
    evaluation.add_argument(
        "--queries", required=True, metavar="FILE", help='queries, one per line: {"id": "q1", "text": "what was asked"}'
    )
    evaluation.add_argument(
        "--qrels",
        required=True,
        metavar="FILE",
        help="judgements, one per line: query, document, grade; or the four columns of TREC",
    )
    evaluation.add_argument("--modes", type=_modes, metavar="MODES", default="keyword,vector,hybrid", help="default: %(default)s")
    evaluation.add_argument(
        "--misses", action="store_true", help="also show the queries that the last mode missed, and what it found"
    )
    evaluation.add_argument("--json", action="store_true", help="print JSON, on a terminal too")

    command("mcp", "Serve the memory to an agent as MCP tools, over standard input and output.")
    return parser


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--collection", type=storable_name, metavar="NAME", help="only documents of this collection")
    parser.add_argument(
        "--in",
        dest="inside",
        type=storable_name,
        metavar="GLOB",
        help="only documents with a matching id: memory/2026-*, or memory",
    )
    parser.add_argument(
        "--tag",
        action="append",
        type=storable_name,
        default=[],
        metavar="TAG",
        help="only documents with this tag; may be repeated",
    )
    parser.add_argument(
        "--where",
        action="append",
        type=_key_value,
        default=[],
        metavar="KEY=VALUE",
        help="only documents with this metadata; may be repeated",
    )
    parser.add_argument(
        "--since", metavar="DATE", help="only documents of this date or later: 2026-01-05, 2026-01, 7d, 3w, 6m, 1y"
    )
    parser.add_argument("--until", metavar="DATE", help="only documents of this date or earlier")


def _add_global_options(parser: argparse.ArgumentParser, default: Any) -> None:
    def add(flag: str, **kwargs: Any) -> None:
        group.add_argument(flag, default=default, **kwargs)

    group = parser.add_argument_group("options of every command")
    add("--db", metavar="PATH", help="the database")
    add("--config", metavar="PATH", help="the config file, instead of the standard one")
    add("--provider", choices=config.PROVIDERS, help="the provider of the embeddings; none: search by keyword only")
    add("--ollama-url", metavar="URL", help="the URL of the Ollama server")
    add("--model", metavar="NAME", help="the embedding model")
    add("--chunk-size", type=int, metavar="N", help="at most N characters in a chunk")
    add("--overlap", type=int, metavar="N", help="how many characters a chunk repeats from the chunk before it")
    add("--keyword-weight", type=float, metavar="W", help="the share of BM25 in a hybrid score")
    add("--vector-weight", type=float, metavar="W", help="the share of the cosine in a hybrid score")
    add("--quiet", action="store_true", help="show no warnings and no progress")


def _given(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return storable_name(text)


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
    return storable_name(key), storable_name(value)
