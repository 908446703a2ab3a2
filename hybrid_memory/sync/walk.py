"""List the files under a folder that an ingest is to read, with their times. Opens no file."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from typing import NamedTuple

SKIPPED_FOLDERS = {"node_modules"}  # and hidden ones


class Found(NamedTuple):
    """A regular file: `relative` to the folder, `mtime` in seconds, `size` in bytes."""

    relative: str
    path: str
    mtime: float
    size: int


class Walk:
    """The regular files under `top` whose name matches one of `patterns`, in order of name, folder by folder.

    `exclude` are globs on a name or on a path relative to `top`; they also prune folders. Symbolic links are counted in
    `links_skipped`, or with `follow_symlinks` followed after everything else, without visiting a place twice. What could not
    be listed is in `unread`, as (path, reason). What vanishes meanwhile, FIFOs and devices are left out.
    """

    def __init__(self, top: str, patterns: Sequence[str], exclude: Sequence[str] = (), follow_symlinks: bool = False) -> None:
        self.top, self.follow_symlinks = top, follow_symlinks
        self.links_skipped = 0
        self.unread: list[tuple[str, str]] = []
        self._patterns = _any_of(pattern.removeprefix("**/") for pattern in patterns)
        self._exclude = _any_of(pattern.rstrip("/") for pattern in exclude) if exclude else None
        self._above = os.path.join(top, "")
        self._visited: set[str] = set()
        self._links: list[str] = []

    def __iter__(self) -> Iterator[Found]:
        if self._is_new(self.top):
            yield from self._below(self.top)
        if not self.follow_symlinks:
            self.links_skipped = len(self._links)
            return
        for link in self._links:  # grows meanwhile; last, so that real files keep their own path
            is_folder = os.path.isdir(link)
            if not (is_folder or os.path.isfile(link)) or not self._is_new(link):
                self.links_skipped += 1
            elif is_folder:
                yield from self._below(link)
            else:
                yield from self.file(link)

    def _below(self, top: str) -> Iterator[Found]:
        folders = [top]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                if folder == self.top or not isinstance(error, FileNotFoundError):
                    self._cannot_list(folder, error)
                continue
            subfolders = []
            for entry in entries:
                if entry.is_symlink():
                    if self._is_wanted(entry, _leads_to_folder(entry)):
                        self._links.append(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    if self._is_wanted(entry, True) and self._is_new(entry.path):
                        subfolders.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and self._is_wanted(entry, False) and self._is_new(entry.path):
                    yield from self.file(entry.path)
            folders += reversed(subfolders)

    def file(self, path: str) -> Iterator[Found]:
        """The file at this path, if it is a regular one."""
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return
        except OSError as error:
            self._cannot_list(path, error)
            return
        if stat.S_ISREG(status.st_mode):
            yield Found(self.relative(path), path, status.st_mtime, status.st_size)

    def _is_wanted(self, entry: "os.DirEntry[str]", is_folder: bool) -> bool:
        if is_folder:
            if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
                return False
        elif not self.matches(entry.name):
            return False
        if self._exclude is None:
            return True
        relative = self.relative(entry.path)
        return not any(self._exclude.match(name) for name in (entry.name, relative, "/" + relative))

    def _is_new(self, path: str) -> bool:
        """Whether this place was not yet visited by another path."""
        if not self.follow_symlinks:
            return True
        place = os.path.realpath(path)
        new = place not in self._visited
        self._visited.add(place)
        return new

    def _cannot_list(self, path: str, error: OSError) -> None:
        self.unread.append((path, error.strerror or str(error)))

    def matches(self, name: str) -> bool:
        """Whether a file name matches one of the patterns."""
        return self._patterns.match(name) is not None

    def relative(self, path: str) -> str:
        """A path below `top`, relative to it."""
        return path[len(self._above) :]


def _any_of(globs: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, globs)))


def _leads_to_folder(link: "os.DirEntry[str]") -> bool:
    try:
        return link.is_dir()
    except OSError:  # a loop
        return False
