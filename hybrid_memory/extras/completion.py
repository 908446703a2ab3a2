"""What could stand for the last word of a command line. Reads the store, changes nothing, and is
silent about errors.

MERGED What a shell is told to do on Tab after `hybrid-memory`: ask the program, and offer files
where it has no answer.

MERGED The command `completion`.
"""

import argparse
import shlex
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from .. import config
from ..errors import HybridMemoryError
from ..seams import COMMANDS
from ..store import HybridStore
from ..surface.arguments import Parser, command_parser, examples, main_parser
from ..surface.streams import harmless, output

MOST = 100  # documents; of more, only the next part of their ids is offered, as of folders

Candidate = tuple[str, str]  # a word, and what it means, which may be ""


def candidates(words: Sequence[str]) -> Iterator[Candidate]:
    """What may stand in place of the last word. They are those after the name of the program, as
    they stand in the shell.

    Nothing where a file or a free text is expected. A value after a `=` stands without what is
    before it for bash, which cuts words there; where it does not, with it.
    """
    *before, last = map(_unquoted, words)
    line = _Line(before)
    if line.open_option:
        prefix = last.removeprefix("=")
        found = line.values(line.open_option, prefix)
    elif last.startswith("-"):
        prefix = last
        flag, equals, value = last.partition("=")
        action = line.option(flag) if equals else None
        found = (
            ((f"{flag}={text}", about) for text, about in line.values(action, value))
            if equals
            else line.flags()
        )
    else:
        prefix = last
        found = line.positionals(last)
    return (
        candidate
        for candidate in found
        if candidate[0].startswith(prefix) and candidate[0] == harmless(candidate[0])
    )


class _Line:
    """The words before the last one: which parser they lead to, and what they have set."""

    def __init__(self, words: Iterable[str]) -> None:
        self._parser = main_parser()
        self._has_command = False
        self._options: dict[str, str] = {}
        self._positionals = 0  # so many stand after the command
        self.open_option: argparse.Action | None = None  # whose value is the next word
        for word in words:
            self._read(word)

    def _read(self, word: str) -> None:
        if self.open_option:
            if word != "=":  # which bash gives as a word of its own
                self._options[self.open_option.dest] = word
                self.open_option = None
        elif word.startswith("-"):
            flag, equals, value = word.partition("=")
            option = self.option(flag)
            if option and equals:
                self._options[option.dest] = value
            else:
                self.open_option = option
        elif not self._has_command and word in COMMANDS:
            self._parser = command_parser(word)
            self._has_command = True
        else:
            self._positionals += 1

    def option(self, flag: str) -> argparse.Action | None:
        """Return the option, if a value has to follow it."""
        for argument in self._parser.arguments:
            if flag in argument.option_strings and argument.nargs not in (0, "?"):
                return argument
        return None

    def flags(self) -> Iterator[Candidate]:
        for argument in self._parser.arguments:
            for flag in argument.option_strings:
                if flag.startswith("--"):
                    yield flag, argument.help or ""

    def positionals(self, prefix: str) -> Iterable[Candidate]:
        """Return the commands, or the values of the positional argument that is next."""
        if not self._has_command:
            return [(name, command.about) for name, command in COMMANDS.items()]
        arguments = [argument for argument in self._parser.arguments if not argument.option_strings]
        if self._positionals < len(arguments):
            return self.values(arguments[self._positionals], prefix)
        if arguments and arguments[-1].nargs in ("*", "+"):
            return self.values(arguments[-1], prefix)
        return []

    def values(self, action: argparse.Action | None, prefix: str) -> Iterable[Candidate]:
        if action is None:
            return []
        if action.choices:
            return [(str(choice), "") for choice in action.choices]
        if action.metavar == "KEY":
            return [(key, "") for key in config.DEFAULTS]
        with suppress(HybridMemoryError), self._store() as store:
            if action.metavar in ("TARGET", "NOTE", "ID"):
                return [
                    (text, "")
                    for text in _documents(
                        store.storage.catalog.ids(), prefix, action.metavar != "ID"
                    )
                ]
            if action.metavar == "TAG":
                return [
                    (row["tag"], f"{row['documents']:,} documents")
                    for row in store.storage.catalog.facets()["tags"]
                ]
            if action.dest == "collection":
                return [
                    (name, "")
                    for name in sorted(
                        {str(s.collection) for s in store.storage.sources.all() if s.collection}
                    )
                ]
        return []

    def _store(self) -> HybridStore:
        named = {
            key: self._options[option]
            for option, key in (("db", "db_path"), ("space", "space"))
            if option in self._options
        }
        settings = config.load(self._options.get("config"), named)
        return HybridStore(settings["db_path"], settings, create=False, read_only=True)


def _documents(ids: Iterable[str], prefix: str, may_be_ends: bool) -> list[str]:
    """The ids that begin so; if there are none, the ends of ids that do, where only one document
    has such an end.
    """
    ids = sorted(ids)
    found = [doc_id for doc_id in ids if doc_id.startswith(prefix)]
    if not found and may_be_ends:
        ends = [doc_id[at + 1 :] for doc_id in ids for at, sign in enumerate(doc_id) if sign == "/"]
        found = [
            end for end in dict.fromkeys(ends) if end.startswith(prefix) and ends.count(end) == 1
        ]
    if len(found) <= MOST:
        return found
    cut = (text[: text.find("/", len(prefix)) + 1] or text for text in found)
    return list(dict.fromkeys(cut))


def _unquoted(word: str) -> str:
    """What the shell would make of a word whose quotes may still be open."""
    for closed in (word, f"{word}'", f'{word}"', word.rstrip("\\")):
        with suppress(ValueError):
            return "".join(shlex.split(closed))
    return word


BASH = r"""# For ~/.bashrc: source <(hybrid-memory completion bash)
_hybrid_memory() {
    local line value
    COMPREPLY=()
    while IFS= read -r line; do
        value=${line%%$'\t'*}
        COMPREPLY+=("$value")
        case $value in
            */) compopt -o nospace ;;
            *[\ \&\;\(\)\<\>\|\'\"\$\`\*\?\[]*) compopt -o filenames ;;
        esac
    done < <("${COMP_WORDS[0]/#\~/$HOME}" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _hybrid_memory hybrid-memory
"""

ZSH = r"""#compdef hybrid-memory
# For ~/.zshrc, after compinit: source <(hybrid-memory completion zsh)
_hybrid_memory() {
    local line answer
    local -a values open shown
    answer=$("${${(Q)words[1]}/#\~/$HOME}" completion zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    [[ -n $answer ]] || { _files; return }
    for line in "${(@f)answer}"; do
        case ${line%%$'\t'*} in
            */) open+=("${line%%$'\t'*}") ;;
            *) values+=("${line%%$'\t'*}"); shown+=("${line/$'\t'/  -- }") ;;
        esac
    done
    compadd -S '' -a open
    compadd -l -d shown -a values
}
if [[ $funcstack[1] == _hybrid_memory ]]; then _hybrid_memory "$@"; else compdef _hybrid_memory hybrid-memory; fi
"""

FISH = r"""# hybrid-memory completion fish > ~/.config/fish/completions/hybrid-memory.fish
function __hybrid_memory_complete
    set -l words (commandline -opc)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -l current (commandline -ct)
    set -l answer ($program completion fish -- $words[2..-1] "$current" 2>/dev/null)
    if test (count $answer) -gt 0
        printf '%s\n' $answer
    else
        __fish_complete_path "$current"
    end
end
complete -c hybrid-memory -f -a '(__hybrid_memory_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def completion_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] SHELL"
    parser.add_argument("shell", choices=SCRIPTS, metavar="SHELL", help=f"{', '.join(SCRIPTS)}")
    parser.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="after --: print what may stand for the last of these words",
    )
    examples(
        parser,
        "completion bash >> ~/.bash_completion",
        "completion fish > ~/.config/fish/completions/hybrid-memory.fish",
    )


def run_completion(args: Namespace) -> int:
    with output() as stream:
        if not args.words:
            print(SCRIPTS[args.shell], end="", file=stream)
            return 0

        for word, about in candidates(args.words):
            print(f"{word}\t{about}" if about else word, file=stream)
    return 0
