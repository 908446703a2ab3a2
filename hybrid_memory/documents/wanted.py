"""Which entries of a folder are taken in, and by which rule the others are left out. Nothing else decides that."""

import os
import re
from collections.abc import Iterable, Sequence
from fnmatch import translate

HIDDEN = "hidden"  # a folder whose name begins with a dot
PATTERN = "pattern"  # no pattern matches the name of the file
EXCLUDED = "excluded"
LINK = "symbolic link"
SPECIAL = "special"  # neither a file nor a folder
SKIPPED_FOLDERS = {"node_modules"}  # the rule has the name of the folder


class Wanted:
    """The rules for what is below `top`: `patterns` for the names of files, `exclude` for names or paths relative to `top`."""

    def __init__(self, top: str, patterns: Sequence[str], exclude: Sequence[str] = ()) -> None:
        self._patterns = _any_of(pattern.removeprefix("**/") for pattern in patterns)
        self._exclude = _any_of(pattern.rstrip("/") for pattern in exclude) if exclude else None
        self._above = os.path.join(top, "")

    def refusal(self, name: str, path: str, is_folder: bool) -> str | None:
        """The rule by which an entry is left out, whatever it may be a link to; None if it is wanted."""
        if is_folder:
            if name.startswith("."):
                return HIDDEN
            if name in SKIPPED_FOLDERS:
                return name
        elif not self.matches(name):
            return PATTERN
        if self._exclude is None:
            return None
        relative = self.relative(path)
        return EXCLUDED if any(map(self._exclude.match, (name, relative, "/" + relative))) else None

    def matches(self, name: str) -> bool:
        """Whether a file name matches one of the patterns."""
        return self._patterns.match(name) is not None

    def relative(self, path: str) -> str:
        """A path below `top`, relative to it."""
        return path[len(self._above) :]


def _any_of(globs: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, globs)))
