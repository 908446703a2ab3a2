"""The files under a folder that an ingest is to read. Lists names and times; opens nothing."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
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

    `exclude` are globs on a name or on a path relative to `top`; they prune folders, too. Symbolic links are counted in
    `links_skipped`, or with `follow_symlinks` followed, no place being visited twice. What could not be listed is in
    `unread`, as (path, reason); a FIFO or a device is no file.
    """

    def __init__(self, top: str, patterns: Sequence[str], exclude: Sequence[str] = (), follow_symlinks: bool = False) -> None:
        self.top, self.patterns, self.exclude, self.follow_symlinks = top, patterns, exclude, follow_symlinks
        self.links_skipped = 0
        self.unread: list[tuple[str, str]] = []
        self._visited = {os.path.realpath(top)}

    def __iter__(self) -> Iterator[Found]:
        folders = [self.top]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                self.unread.append((folder, error.strerror or str(error)))
                continue
            below = []
            for entry in entries:
                if not self._is_wanted(entry):
                    continue
                if entry.is_dir():
                    below.append(entry.path)
                    continue
                try:
                    status = entry.stat()
                except OSError as error:
                    self.unread.append((entry.path, error.strerror or str(error)))
                    continue
                yield Found(self._relative(entry), entry.path, status.st_mtime, status.st_size)
            folders += reversed(below)

    def _is_wanted(self, entry: "os.DirEntry[str]") -> bool:
        is_folder = entry.is_dir()
        if is_folder and (entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS):
            return False
        if not is_folder and not (self.matches(entry.name) and (entry.is_file() or entry.is_symlink())):
            return False
        if self.exclude and any(fnmatch(entry.name, g) or fnmatch(self._relative(entry), g) for g in self.exclude):
            return False
        if self.follow_symlinks:
            target = os.path.realpath(entry.path)
            new = target not in self._visited and os.path.exists(target)
            self._visited.add(target)
        else:
            new = not entry.is_symlink()
        self.links_skipped += not new
        return new

    def matches(self, name: str) -> bool:
        return any(fnmatch(name, pattern) for pattern in self.patterns)

    def _relative(self, entry: "os.DirEntry[str]") -> str:
        return entry.path[len(self.top.rstrip(os.sep)) + 1 :]
