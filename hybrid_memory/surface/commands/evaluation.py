"""The command `eval`."""

from argparse import Namespace

from .. import argument_types as types
from ..arguments import Parser, examples
from ..opening import open_store
from ..streams import tell
from .answers import print_answer


def eval_options(parser: Parser) -> None:
    parser.add_argument(
        "--queries", required=True, metavar="FILE", help='queries, one per line: {"id": "q1", "text": "what was asked"}'
    )
    parser.add_argument(
        "--qrels",
        required=True,
        metavar="FILE",
        help="judgements, one per line: query, document, grade; or the four columns of TREC",
    )
    parser.add_argument(
        "--modes", type=types.modes, metavar="MODES", default="keyword,vector,hybrid", help="default: %(default)s"
    )
    parser.add_argument(
        "--misses", action="store_true", help="also show the queries that the last mode missed, and what it found"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(
        parser,
        "eval --queries queries.jsonl --qrels qrels.tsv",
        "eval --queries queries.jsonl --qrels qrels.tsv --misses",
    )


def run_eval(args: Namespace) -> int:
    from ...views import evaluation
    from ...views.judgements import read_qrels, read_queries
    from ..terminal import progress_line, show_evaluation

    queries, qrels = read_queries(args.queries), read_qrels(args.qrels)
    with open_store(args) as store, progress_line(args.quiet) as progress:
        found = evaluation.evaluate(store, queries, qrels, args.modes, misses=args.misses, progress=progress)
    answer = {key: value for key, value in found._asdict().items() if args.misses or key != "misses"}
    print_answer(args, answer, lambda stream: show_evaluation(found, stream))
    tell(*found.notes(), *store.warnings)
    return 0
