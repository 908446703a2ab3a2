"""List the files below a folder that an ingest should read, with their times and sizes. No file is opened."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from .files import open_in_place
from .wanted import LINK, SPECIAL, Wanted


class Found(NamedTuple):
    """A regular file. `relative` is its path relative to the folder, `mtime` is in seconds, `size` in bytes."""

    relative: str
    path: str
    mtime: float
    size: int


class Walk:
    """The regular files below `top` whose name matches one of `patterns`, in order of name, folder by folder.

    `exclude` has globs for names or for paths relative to `top`. What is not wanted is in `left_out`, as path -> rule of
    wanted.py; of a folder that is not entered, only the folder. Symbolic links are left out, too. With `follow_symlinks` they
    are followed after everything else, and no place is visited twice. What could not be listed is in `unread`, as (path, reason).
    """

    def __init__(self, top: str, patterns: Sequence[str], exclude: Sequence[str] = (), follow_symlinks: bool = False) -> None:
        self.top, self.follow_symlinks = top, follow_symlinks
        self.left_out: dict[str, str] = {}
        self.unread: list[tuple[str, str]] = []
        self.wanted = Wanted(top, patterns, exclude)
        self._visited: set[str] = set()
        self._links: list[str] = []

    def __iter__(self) -> Iterator[Found]:
        if self._is_new(self.top):
            yield from self._below(self.top)
        if not self.follow_symlinks:
            self.left_out.update(dict.fromkeys(self._links, LINK))
            return
        for link in self._links:  # grows meanwhile; links come last, so that real files keep their own path
            is_folder = os.path.isdir(link)
            if not (is_folder or os.path.isfile(link)) or not self._is_new(link):
                self.left_out[link] = LINK
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
            is_link = entry.is_symlink()
            is_folder = _leads_to_folder(entry) if is_link else entry.is_dir(follow_symlinks=False)
            if rule := self.wanted.refusal(entry.name, path, is_folder):
                self.left_out[path] = rule
            elif is_link:
                self._links.append(path)
            elif not is_folder and not entry.is_file(follow_symlinks=False):
                self.left_out[path] = SPECIAL
            elif self._is_new(path):
                if is_folder:
                    subfolders.append(path)
                else:
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
            yield Found(self.wanted.relative(path), path, status.st_mtime, status.st_size)

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


def _leads_to_folder(link: "os.DirEntry[str]") -> bool:
    try:
        return link.is_dir()
    except OSError:  # a loop
        return False
