"""Find out which entries of a folder are left out by lists that people keep there for other
programs: `.gitignore` by git's rules (gitignore(5)), `.ignore` in the same form, and the "Excluded
files" in the settings of an Obsidian vault. Reads no file itself.

Git's ignore files say what is not published, so they do not apply to the usual places of an agent's
notes, such as `memory/`, which many people keep out of their repository.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .workspaces import is_workspace_name

GITIGNORE, IGNORE = ".gitignore", ".ignore"
OBSIDIAN = "excluded in Obsidian"
LISTS = (OBSIDIAN, IGNORE, GITIGNORE)  # the names of the rules; an earlier one prevails

CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t-\\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
GLOB_PART = re.compile(
    r"(?P<any_folders>(?:(?<=/)|\A)\*\*+/)|(?P<everything_below>(?:(?<=/)|\A)\*\*+\Z)|(?P<star>\*+)|(?P<one>\?)"
    r"|\[(?P<negated>[!^]?)(?P<set>(?:\]|\[:\w+:\]|\\.|[^\]\\])(?:\[:\w+:\]|\\.|[^\]\\])*)\]"
    r"|\\(?P<escaped>.)|(?P<unfinished>[\\\[])|(?P<other>.)",
    re.DOTALL,
)
SET_MEMBER = re.compile(r"\[:(\w+):\]|(?:\\(?=.))?(.)(?:-(?:\\(?=.))?(.))?", re.DOTALL)


class IgnoreLine(NamedTuple):
    """A line of a list. `pattern` matches paths relative to its folder; those of folders end in a
    slash.
    """

    number: int  # from 1
    text: str
    pattern: re.Pattern[str]
    is_exception: bool = False  # a line that takes in what an earlier line leaves out


class Ignored(NamedTuple):
    """What leaves out an entry: the `rule`, one of LISTS, and the line of a list, as a citation."""

    rule: str
    line: str


class Ignores:
    """The lists in a folder `top` and in the folders below it. `read` returns the lines of a list,
    by the path of the folder and the rule; [] if there is none.
    """

    def __init__(self, top: str, read: Callable[[str, str], Sequence[str]]) -> None:
        self._top = top
        self._read = read
        self._around = cache(self._lists_around)

    def ignored(self, path: str, is_folder: bool) -> Ignored | None:
        """The line that leaves out an entry below `top`; None if it is wanted."""
        folder, _, name = path.rpartition("/")
        for rule in LISTS:
            lists = self._around(folder, rule)
            if lists and rule == GITIGNORE and is_workspace_name(name):
                continue
            for above, lines in lists:
                relative = path[len(above) + 1 :] + "/" * is_folder
                for line in reversed(lines):
                    if line.pattern.match(relative):
                        if line.is_exception:
                            return None
                        return Ignored(rule, self._citation(above, rule, line))
        return None

    def _lists_around(self, folder: str, rule: str) -> list[tuple[str, list[IgnoreLine]]]:
        """The lists that apply in a folder, the innermost first, each with its own folder."""
        read = vault_lines if rule == OBSIDIAN else git_lines
        lines = list(read(self._read(folder, rule)))
        found = [(folder, lines)] if lines else []
        above, _, name = folder.rpartition("/")
        is_of_agent = rule == GITIGNORE and is_workspace_name(name)
        if len(folder) <= len(self._top) or is_of_agent:
            return found
        return found + self._around(above, rule)

    def _citation(self, folder: str, rule: str, line: IgnoreLine) -> str:
        """A line as people find it: 'drafts/.gitignore:3: *.tmp'"""
        if rule == OBSIDIAN:
            return f"Obsidian's excluded files: {line.text}"
        place = os.path.join(os.path.relpath(folder, self._top), rule).removeprefix("./")
        return f"{place}:{line.number}: {line.text}"


def git_lines(texts: Sequence[str]) -> Iterator[IgnoreLine]:
    """The lines of a `.gitignore` that have a pattern."""
    for number, text in enumerate(texts, 1):
        glob = _without_trailing_spaces(text)
        is_exception = glob.startswith("!")
        glob = glob[is_exception:]
        if not glob.strip("/") or text.startswith("#"):
            continue
        is_for_folders = glob.endswith("/")
        pattern = _pattern_of_glob(glob.removesuffix("/"))
        if pattern is not None:
            # A folder is written with a slash; a star at the end does not match its name as ""
            end = r"(?<!/)/\Z" if is_for_folders else r"(?<!/)/?\Z"
            yield IgnoreLine(number, text, re.compile(pattern + end, re.DOTALL), is_exception)


def vault_lines(texts: Sequence[str]) -> Iterator[IgnoreLine]:
    """Obsidian's filters: `/a regular expression/`, or the beginning of paths, with `*` for any
    text.
    """
    for number, text in enumerate(texts, 1):
        is_expression = len(text) > 2 and text.startswith("/") and text.endswith("/")
        expression = re.escape(text).replace(r"\*", ".*")
        if is_expression:
            expression = f".*?(?:{text[1:-1]})"
        try:
            yield IgnoreLine(number, text, re.compile(expression, re.DOTALL))
        except re.error:  # JavaScript's regular expressions have a few other signs
            continue


def _without_trailing_spaces(text: str) -> str:
    r"""Remove the spaces at the end, except an escaped one: 'a\  ' -> 'a\ '"""
    bare = text.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if escapes % 2 and bare != text else bare


def _pattern_of_glob(glob: str) -> str | None:
    """The regular expression of a glob; None if git matches nothing by it."""
    pieces = ["" if "/" in glob else "(?:.*/)?"]
    for token in GLOB_PART.finditer(glob.removeprefix("/")):
        match token.lastgroup:
            case "unfinished":
                return None
            case "any_folders":
                pieces.append("(?:.*/)?")
            case "everything_below":
                pieces.append(".+")
            case "star":
                pieces.append("[^/]*")
            case "one":
                pieces.append("[^/]")
            case "set":
                pieces.append(_pattern_of_set(token["set"], token["negated"]))
            case _:
                pieces.append(re.escape(token["escaped"] or token["other"]))
    return "".join(pieces)


def _pattern_of_set(text: str, negated: str) -> str:
    """The regular expression of one of these characters, or of none of them if `negated`."""
    parts = []
    for kind, first, last in SET_MEMBER.findall(text):
        if kind:
            parts.append(CLASSES.get(kind, ""))
        elif not last:
            parts.append(re.escape(first))
        elif first <= last:  # a range from z to a is empty
            parts.append(f"{re.escape(first)}-{re.escape(last)}")
    if not any(parts):
        return "[^/]" if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{''.join(parts)}]"
