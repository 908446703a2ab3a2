"""List the files below a folder that an ingest should read, with their times and sizes. No file is opened."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import translate
from functools import partial
from typing import NamedTuple

from ..documents.files import open_in_place

SKIPPED_FOLDERS = {"node_modules"}  # hidden folders are skipped as well


class Found(NamedTuple):
    """A regular file. `relative` is its path relative to the folder, `mtime` is in seconds, `size` in bytes."""

    relative: str
    path: str
    mtime: float
    size: int


class Walk:
    """The regular files below `top` whose name matches one of `patterns`, in order of name, folder by folder.

    `exclude` has globs for names or for paths relative to `top`; a folder that matches is not entered. Symbolic links are
    counted in `links_skipped`. With `follow_symlinks` they are followed after everything else, and no place is visited twice.
    What could not be listed is in `unread`, as (path, reason). Files that vanish meanwhile, FIFOs and devices are left out.
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
        for link in self._links:  # grows meanwhile; links come last, so that real files keep their own path
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
                with self._opened(folder) as opened:
                    yield from self._in_folder(folder, opened, folders)
            except OSError as error:
                if folder == self.top or not isinstance(error, FileNotFoundError):
                    self._cannot_list(folder, error)

    @contextmanager
    def _opened(self, folder: str) -> Iterator[str | int]:
        """What `os.scandir` takes: the open folder, which no link can replace, or its path if links are followed."""
        if self.follow_symlinks or os.scandir not in os.supports_fd or os.open not in os.supports_dir_fd:
            yield folder
            return
        descriptor = open_in_place(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _in_folder(self, folder: str, opened: str | int, folders: list[str]) -> Iterator[Found]:
        """The files in a folder. Its subfolders are appended to `folders`, the first one last."""
        with os.scandir(opened) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        subfolders = []
        above = os.path.join(folder, "")
        for entry in entries:
            path = above + entry.name
            if entry.is_symlink():
                if self._is_wanted(entry.name, path, _leads_to_folder(entry)):
                    self._links.append(path)
            elif entry.is_dir(follow_symlinks=False):
                if self._is_wanted(entry.name, path, True) and self._is_new(path):
                    subfolders.append(path)
            elif entry.is_file(follow_symlinks=False) and self._is_wanted(entry.name, path, False) and self._is_new(path):
                yield from self._found(path, partial(entry.stat, follow_symlinks=False))
        folders += reversed(subfolders)

    def file(self, path: str) -> Iterator[Found]:
        """The file at this path, if it is a regular file."""
        return self._found(path, partial(os.stat, path))

    def _found(self, path: str, look: Callable[[], os.stat_result]) -> Iterator[Found]:
        try:
            status = look()
        except FileNotFoundError:
            return
        except OSError as error:
            self._cannot_list(path, error)
            return
        if stat.S_ISREG(status.st_mode):
            yield Found(self.relative(path), path, status.st_mtime, status.st_size)

    def _is_wanted(self, name: str, path: str, is_folder: bool) -> bool:
        if is_folder:
            if name.startswith(".") or name in SKIPPED_FOLDERS:
                return False
        elif not self.matches(name):
            return False
        if self._exclude is None:
            return True
        relative = self.relative(path)
        return not any(self._exclude.match(candidate) for candidate in (name, relative, "/" + relative))

    def _is_new(self, path: str) -> bool:
        """Whether this place has not been visited by another path."""
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
