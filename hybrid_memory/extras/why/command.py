"""The command `why`: explain why a note is or is not in the store, and its rank in a search."""

import json
from argparse import Namespace
from typing import Any, TextIO

from ...errors import UsageError
from ...search.answer import operator_lines
from ...search.request import OPTIONS
from ...surface.arguments import Parser, add_json, add_options, examples, given
from ...surface.opening import open_store
from ...surface.output import points
from ...surface.quotes import confidence_text
from ...surface.streams import print_advice, print_answer, single_line
from ...surface.terminal import Style
from ...text.characters import plural, spellings
from .explain import explain
from .rank import rank


def why_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] NOTE [QUERY ...]"
    parser.add_argument(
        "note", metavar="NOTE", help="the path of a file, the id of a document, or the end of an id"
    )
    parser.add_argument(
        "words", nargs="*", metavar="QUERY", help="also print its rank in a search for this"
    )
    add_options(parser, {"also": OPTIONS["also"]})
    add_json(parser)
    examples(parser, "why ~/notes/draft.txt", 'why atlas "which port does SSH use?"')


def run_why(args: Namespace) -> int:
    if args.also and not args.words:
        raise UsageError("--also needs QUERY, the same question in other words")
    with open_store(args) as store:
        answer = explain(store, args.note)
        if args.words and answer["in_memory"]:
            also = given(args, {"also": OPTIONS["also"]}).get("also", ())
            answer["search"] = rank(store, answer["doc_id"], " ".join(args.words), also)
    if "search" in answer:
        found = answer["search"]
        print_advice(args, *operator_lines(found["operators"]), *found.pop("warnings"))
    print_answer(args, answer, lambda stream: _show(answer, stream))
    return 0 if answer["current"] else 1


def _show(answer: dict[str, Any], stream: TextIO) -> None:
    """Print the answer of `why` in one line, and the rank in a search."""
    if answer["in_memory"]:
        state = (
            "in the memory and current" if answer["current"] else "in the memory, but not current"
        )
        parts = [f"{answer['doc_id']}: {state}: {', '.join(_facts(answer))}"]
    else:
        parts = [f"{answer['path']}: not in the memory: {answer['rule']}"]
    parts += [part for part in (answer["reason"], answer["way_out"]) if part]
    print(single_line("; ".join(parts)), file=stream)
    if "search" in answer:
        _show_rank(answer["search"], stream)


def _facts(answer: dict[str, Any]) -> list[str]:
    facts = [plural(answer["chunks"], "chunk")]
    if answer["pending"]:
        facts.append(f"{answer['pending']:,} pending")
    if answer["date"]:
        facts.append(f"dated {answer['date']}")
    origin = answer["source"] or answer["path"] or answer.get("host") or "`store`"
    return [*facts, f"read {answer['indexed_at']}", f"from {origin}"]


def _show_rank(rank: dict[str, Any], stream: TextIO) -> None:
    style = Style(stream)
    if rank["rank"]:
        place = f"rank {rank['rank']} of {rank['of']}"
        scores = f"score {points(rank['score'])}, {confidence_text(rank)}"
        passage = single_line(f": {rank['citation']}, {scores}")
    else:
        place = f"not among {rank['of']} results"
        passage = ""
    print(
        f"\n{style.bold}{place}{style.off}{passage}  {style.dim}{_ranks(rank)}{style.off}",
        file=stream,
    )
    if rank["newer"]:
        print(f"  revised by {single_line(rank['newer'])}", file=stream)
    if rank["left_out_by"]:
        print(f"  searches leave it out because of the setting {rank['left_out_by']}", file=stream)
    print(f"  plan: {single_line(_plan_line(rank['plan']))}", file=stream)
    written = spellings(rank["query"])
    for verb in ("has", "lacks"):
        words = single_line(", ".join(written.get(word.lower(), word) for word in rank[verb]))
        words = words or "no word of the query"
        print(f"  it {verb}: {words}", file=stream)
    for other in rank["before"]:
        words = single_line(", ".join(other["has"])) or "no word"
        passage = f"{single_line(other['citation'])}, score {points(other['score'])}"
        details = f"{style.dim}{_ranks(other)}; has {words}{style.off}"
        print(f"  before it, {other['rank']}: {passage}  {details}", file=stream)


def _plan_line(plan: dict[str, Any]) -> str:
    """Describe the plan of a search in one line; the words are printed on separate lines."""
    parts = [f"mode {plan['mode']}", f"{plan['limit']} results"]
    if plan["also"]:
        parts.append(f"also {', '.join(map(repr, plan['also']))}")
    if plan["phrases"]:
        parts.append(f"phrases {', '.join(plan['phrases'])}")
    if plan["days"]:
        days = ", ".join(" to ".join(dict.fromkeys(days)) for days in plan["days"])
        parts.append(f"days {days}")
    if plan["filters"]:
        parts.append(f"filters {json.dumps(plan['filters'], ensure_ascii=False)}")
    return "; ".join(parts)


def _ranks(passage: dict[str, Any]) -> str:
    keyword = passage["keyword_rank"] or "-"
    return f"keyword rank {keyword}, vector rank {passage['vector_rank'] or '-'}"
