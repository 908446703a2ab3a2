"""The commands `reindex`, `stats`, `doctor`, `copy` and `rescue`."""

from argparse import Namespace

from .. import from_arguments, requests
from ..arguments import Parser, examples
from ..opening import open_store
from ..streams import tell
from .answers import advise, advise_model, print_answer, print_with_warnings


def reindex_options(parser: Parser) -> None:
    parser.add_argument("--embeddings", action="store_true", help="also embed all chunks again, which a change of model requires")
    examples(parser, "reindex", "reindex --embeddings")


def run_reindex(args: Namespace) -> int:
    from ..terminal import progress_line

    with open_store(args) as store, progress_line(args.quiet) as progress:
        answer = requests.reindex(store, embeddings=args.embeddings, progress=progress)
        tell(*answer.pop("warnings"))
    print_answer(args, answer)
    return 0 if answer["status"] == "ok" else 1


def stats_options(parser: Parser) -> None:
    examples(parser, "stats", "stats --db ~/other.db")


def run_stats(args: Namespace) -> int:
    with open_store(args) as store:
        from ..places import place

        print_answer(args, requests.status(store) | place(args, store.path))
    return 0


def doctor_options(parser: Parser) -> None:
    parser.add_argument(
        "--thorough", action="store_true", help="also read the whole file: SQLite's and FTS5's own checks, every embedding"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(parser, "doctor", "doctor --thorough")


def run_doctor(args: Namespace) -> int:
    from ...views.doctor import examine
    from ..terminal import show_findings

    with open_store(args) as store:
        findings = examine(store, thorough=args.thorough)
        print_answer(args, [finding._asdict() for finding in findings], lambda stream: show_findings(findings, stream))
        if not all(finding.ok for finding in findings):
            return 1
        advise_model(args, store)
    return 0


def copy_options(parser: Parser) -> None:
    parser.add_argument("source", metavar="FROM", help="the database that is copied")
    parser.add_argument("target", metavar="TO", help="the other database, which may have a part of the copy already")
    examples(
        parser,
        "copy ~/notes.db postgresql://ann@db.example/memory",
        "copy postgresql://ann@db.example/memory new.db",
    )


def run_copy(args: Namespace) -> int:
    from ..terminal import progress_line

    with progress_line(args.quiet) as progress:
        answer = requests.copy(from_arguments.settings(args), args.source, args.target, progress)
    print_answer(args, answer)
    return 0


def rescue_options(parser: Parser) -> None:
    parser.add_argument("out", metavar="OUT", help="the new file")
    examples(parser, "rescue new.db", "rescue new.db --db damaged.db")


def run_rescue(args: Namespace) -> int:
    from ..terminal import progress_line

    with progress_line(args.quiet) as progress:
        answer = requests.rescue(from_arguments.settings(args), args.out, lambda message: advise(args, message), progress)
    print_with_warnings(args, answer)
    return 1 if answer["lost"] else 0
