"""Recognise the copies that programs which sync folders make when a file was changed in two places.

Most of them say so in the name of the copy. iCloud only adds a number, as people do; its copy also
has to have nearly the text of the original.
"""

import os
import re
from collections.abc import Callable
from itertools import pairwise

# Around `name`, the name of the original without its ending
BY_NAME = re.compile(
    r"(?P<name>.+?)(?:"
    r"\.sync-conflict-\d{8}-\d{6}(?:-\w{7})?"  # Syncthing
    r"|_conflict-\d{8}-\d{6}"  # ownCloud, and Nextcloud before 2019
    r"|\ \((?:"
    r"[^()]*\bconflicted\ copy\b[^()]*"  # Dropbox, Nextcloud, Obsidian Sync
    r"|conflict\ \d{4}-\d\d-\d\d[^()]*"
    r"|case\ conflict(?:\ \d+)?"  # Dropbox, as the next ones
    r"|in\ konflikt\ stehende\ kopie\b[^()]*"
    r"|copie\ en\ conflit\b[^()]*"
    r"|copia\ (?:en\ conflicto|in\ conflitto)\b[^()]*"
    r"|c[oó]pia\ em\ conflito\b[^()]*"
    r")\)(?:\ \(\d+\))?"
    r")",
    re.IGNORECASE | re.VERBOSE,
)
BY_NUMBER = re.compile(r"(?P<name>.+) [2-9]")  # iCloud
COMPARED = 100_000  # bytes of each file
ALIKE = 0.75  # share of the copy's pairs of words that the original has
WORD_OF_COPY = re.compile(r"\w+")


def is_conflict_copy(path: str, read: Callable[[str, int], bytes]) -> bool:
    """Whether a file is a copy of another one in its folder. `read` returns the beginning of a file,
    up to a number of bytes; it may raise OSError.
    """
    folder, _, name = path.rpartition("/")
    name, ending = os.path.splitext(name)
    found = BY_NAME.fullmatch(name) or BY_NUMBER.fullmatch(name)
    if found is None:
        return False
    original = os.path.join(folder, found["name"] + ending)
    if not os.path.isfile(original):
        return False
    if found.re is BY_NAME:
        return True
    try:
        copied, kept = _pairs(read(path, COMPARED)), _pairs(read(original, COMPARED))
    except OSError:
        return False
    return len(copied & kept) >= ALIKE * max(len(copied), 1)


def _pairs(text: bytes) -> set[tuple[str, str]]:
    """Each two words that follow each other."""
    return set(pairwise(WORD_OF_COPY.findall(text.decode("utf-8", "replace"))))
