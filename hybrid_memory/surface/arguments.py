"""The commands and options of the command line, and their help. Prints only help and usage errors."""

import argparse
import sys
from typing import Any, NoReturn

from .. import __version__, config
from ..search.hit import MODES
from ..text.characters import storable_name
from . import argument_types as types
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

ALL = "read every transcript that has changed, even if little in it is new"

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
        for flag, example in (("--half-life", 30), ("--open", 1)):
            if message.startswith(f"argument {flag}"):
                message += f"; write {flag}={example}, or put it after the query"
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

    store = command("store", "Put a text or a file into the memory. It replaces the document with the same id.")
    store.add_argument("--doc-id", type=types.given, required=True, metavar="ID")
    text = store.add_mutually_exclusive_group(required=True)
    text.add_argument("--text", metavar="TEXT")
    text.add_argument("--file", metavar="PATH", help="a file, whose later changes are followed; - is standard input")
    store.add_argument("--metadata", nargs="+", action="extend", type=types.key_value, default=[], metavar="KEY=VALUE")

    search = command("search", "Find the chunks that answer a query, best first.")
    search.add_argument("words", nargs="*", metavar="QUERY")
    search.add_argument("--query", metavar="QUERY", help="the query; if it begins with -, write --query=--maxfail")
    search.add_argument("--limit", type=types.positive, metavar="N", help="how many results (default: 10)")
    search.add_argument("--mode", choices=MODES, default="hybrid", help="default: hybrid")
    search.add_argument("--context", type=types.count, default=0, metavar="N", help="add N chunks before and N after each result")
    search.add_argument("--per-doc", type=types.count, metavar="N", help="at most N results from one document; 0: any number")
    _add_filters(search)
    search.add_argument("--min-score", type=types.share, metavar="S", help="leave out results with a lower score (0 to 1)")
    search.add_argument(
        "--min-confidence", type=types.share, metavar="C", help="leave out results with a lower confidence (0 to 1)"
    )
    search.add_argument(
        "--half-life",
        type=types.days,
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
    refresh = argparse.BooleanOptionalAction
    search.add_argument("--refresh", action=refresh, help="first read what has changed in the ingested folders")
    search.add_argument("--format", choices=FORMATS, help="default: text on a terminal, else json")
    search.add_argument("--json", action="store_const", dest="format", const="json", help="short for --format json")

    search.add_argument(
        "--budget", type=types.budget, metavar="N", help="print at most N characters; 1000t: tokens of 4 characters"
    )
    search.add_argument(
        "--open", type=types.positive, nargs="?", const=1, metavar="N", help="open result N (default: 1) in $EDITOR"
    )
    search.add_argument("--full", action="store_true", help="print all that is known of each result as JSON")

    get = command("get", "Read an indexed document, or some of its lines, as its file is now.")
    get.add_argument(
        "target", metavar="TARGET", help="a citation (notes/a.md#L12-L30), the id of a document, the end of an id, or a path"
    )
    get.add_argument("--max-lines", type=types.positive, default=200, metavar="N", help="at most N lines (default: 200)")
    get.add_argument(
        "--max-chars", type=types.positive, default=20_000, metavar="N", help="at most N characters (default: 20000)"
    )
    get.add_argument("--json", action="store_true", help="print JSON, on a terminal too")

    why = command("why", "Tell whether a note is in the memory and current, else by which rule not. Exit status 1 if not.")
    why.add_argument("note", metavar="NOTE", help="the path of a file, the id of a document, or the end of an id")
    why.add_argument("--json", action="store_true", help="print JSON, on a terminal too")

    listing = command("list", "List the documents, those with the newest date first.")
    _add_filters(listing)
    listing.add_argument("--limit", type=types.positive, default=100, metavar="N", help="how many documents (default: 100)")
    listing.add_argument("--json", action="store_true", help="print JSON, on a terminal too")

    ingest = command("ingest", "Make the memory a mirror of a folder of files.")
    ingest.add_argument(
        "--path", action="append", default=[], metavar="DIR", help="a folder or file; may be repeated (default: as `update`)"
    )
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
    ingest.add_argument("--all", action="store_true", help=ALL)
    ingest.add_argument("--follow-symlinks", action="store_true", help="follow symbolic links")
    ingest.add_argument("--keep-missing", action="store_true", help="keep the documents of files that are gone")

    update = command("update", "Take in what has changed in everything that was ingested before, and embed what is pending.")
    update.set_defaults(path=[])
    update.add_argument("--all", action="store_true", help=ALL)

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
    doctor.add_argument(
        "--thorough", action="store_true", help="also read the whole file: SQLite's and FTS5's own checks, every embedding"
    )
    doctor.add_argument("--json", action="store_true", help="print JSON, on a terminal too")

    rescued = command("rescue", "Write what can still be read of a damaged memory to a new file. The damaged one is not changed.")
    rescued.add_argument("out", metavar="OUT", help="the new file")

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
    evaluation.add_argument(
        "--modes", type=types.modes, metavar="MODES", default="keyword,vector,hybrid", help="default: %(default)s"
    )
    evaluation.add_argument(
        "--misses", action="store_true", help="also show the queries that the last mode missed, and what it found"
    )
    evaluation.add_argument("--json", action="store_true", help="print JSON, on a terminal too")

    command("mcp", "Serve the memory to an agent as MCP tools, over standard input and output.")
    serve = command("serve", "Serve a page for people, an HTTP API for programs and MCP for agents, on this machine.")
    serve.add_argument("--host", type=types.given, default="127.0.0.1", metavar="HOST", help="default: %(default)s")
    serve.add_argument("--port", type=types.port, default=8377, metavar="PORT", help="0: any free one (default: %(default)s)")
    serve.add_argument("--open", action="store_true", help="open the page in a browser")
    serve.add_argument("--watch", action="store_true", help="keep the memory up to date while files change, as `watch` does")
    serve.add_argument(
        "--token",
        nargs="?",
        const="",
        metavar="TOKEN",
        help="answer only those who know this secret; without TOKEN, one is made and kept (default: on 127.0.0.1, answer all)",
    )
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
        type=types.key_value,
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
    add("--quiet", action="store_true", help="show no progress and no advice, only what goes wrong")
