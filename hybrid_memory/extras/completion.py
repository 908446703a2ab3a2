"""The command `completion`: prints a script for a shell, which asks the program at each Tab what could
stand for the last word of the command line.

The answer comes from the parser and from the store, which is only read; errors are not told. Where
there is no answer, the shell offers files.
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
    """Yield what may stand in place of the last of the words after the name of the program, given as
    they stand in the shell.

    Nothing is offered where a file or a free text is expected. A value after a `=` stands without what
    is before it for bash, which cuts words there; where it does not, with it.
    """
    *before, last = map(_unquoted, words)
    line = _Line(before)
    prefix = last
    if line.open_option:
        prefix = last.removeprefix("=")
        offered = line.values(line.open_option, prefix)
    elif not last.startswith("-"):
        offered = line.positionals(last)
    elif "=" not in last:
        offered = line.flags()
    else:
        flag, _, value = last.partition("=")
        values = line.values(line.option(flag), value)
        offered = [(f"{flag}={word}", about) for word, about in values]
    for word, about in offered:
        if word.startswith(prefix) and word == harmless(word):
            yield word, about


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
        """Yield the long options."""
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

    def values(self, argument: argparse.Action | None, prefix: str) -> Iterable[Candidate]:
        """Return the values of an argument; those of documents begin with the prefix."""
        if argument is None:
            return []
        if argument.choices:
            return [(str(choice), "") for choice in argument.choices]
        if argument.metavar == "KEY":
            return [(key, "") for key in config.DEFAULTS]
        with suppress(HybridMemoryError), self._store() as store:
            return _values_in(store, argument, prefix)
        return []

    def _store(self) -> HybridStore:
        named = {}
        for option, key in (("db", "db_path"), ("space", "space")):
            if option in self._options:
                named[key] = self._options[option]
        settings = config.load(self._options.get("config"), named)
        return HybridStore(settings["db_path"], settings, create=False, read_only=True)


def _values_in(store: HybridStore, argument: argparse.Action, prefix: str) -> list[Candidate]:
    """Return the documents, tags or collections of a store, whichever the argument takes."""
    if argument.metavar in ("TARGET", "NOTE", "ID"):
        may_be_ends = argument.metavar != "ID"
        names = _documents(store.storage.catalog.ids(), prefix, may_be_ends)
        return [(name, "") for name in names]
    if argument.metavar == "TAG":
        tags = store.storage.catalog.facets()["tags"]
        return [(row["tag"], f"{row['documents']:,} documents") for row in tags]
    if argument.dest == "collection":
        collections = {source.collection for source in store.storage.sources.all()}
        return [(name, "") for name in sorted(filter(None, collections))]
    return []


def _documents(ids: Iterable[str], prefix: str, may_be_ends: bool) -> list[str]:
    """Return the ids that begin so; if there are none, the ends of ids that do, where only one
    document has such an end.
    """
    ids = sorted(ids)
    names = [doc_id for doc_id in ids if doc_id.startswith(prefix)]
    if not names and may_be_ends:
        ends = [doc_id[at + 1 :] for doc_id in ids for at, sign in enumerate(doc_id) if sign == "/"]
        matching = dict.fromkeys(end for end in ends if end.startswith(prefix))
        names = [end for end in matching if ends.count(end) == 1]
    if len(names) <= MOST:
        return names
    folders = (name[: name.find("/", len(prefix)) + 1] or name for name in names)
    return list(dict.fromkeys(folders))


def _unquoted(word: str) -> str:
    """Return what the shell would make of a word whose quotes may still be open."""
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
if [[ $funcstack[1] == _hybrid_memory ]]; then
    _hybrid_memory "$@"
else
    compdef _hybrid_memory hybrid-memory
fi
"""

FISH = r"""# mkdir -p ~/.config/fish/completions
# hybrid-memory completion fish > ~/.config/fish/completions/hybrid-memory.fish
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
        "completion fish | source",
    )


def run_completion(args: Namespace) -> int:
    with output() as stream:
        if not args.words:
            print(SCRIPTS[args.shell], end="", file=stream)
            return 0

        for word, about in candidates(args.words):
            print(f"{word}\t{about}" if about else word, file=stream)
    return 0
