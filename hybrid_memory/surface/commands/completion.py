"""The command `completion`."""

from argparse import Namespace

from ..arguments import Parser, examples
from ..completion.scripts import SCRIPTS
from ..streams import output


def completion_options(parser: Parser) -> None:
    parser.add_argument("shell", choices=SCRIPTS, metavar="SHELL", help=f"{', '.join(SCRIPTS)}")
    parser.add_argument("words", nargs="*", metavar="WORD", help="after --: print what may stand for the last of these words")
    examples(parser, "completion bash >> ~/.bash_completion", "completion fish > ~/.config/fish/completions/hybrid-memory.fish")


def run_completion(args: Namespace) -> int:
    with output() as stream:
        if not args.words:
            print(SCRIPTS[args.shell], end="", file=stream)
            return 0
        from ..completion.candidates import candidates

        for word, about in candidates(args.words):
            print(f"{word}\t{about}" if about else word, file=stream)
    return 0
