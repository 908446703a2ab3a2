"""List the files below a folder and read them, while other programs may change or replace them.

`Walk` lists the files that an ingest should read, with times and sizes, and opens none of them.
`Wanted` alone has the rules by which entries of a folder are included or left out. `read` returns a
consistent state of a file.
"""

import errno
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from fnmatch import translate
from typing import Any, BinaryIO, NamedTuple

from ..text.characters import marked_encoding
from ..text.equality import spelled
from .copies import is_conflict_copy
from .ignores import LISTS, OBSIDIAN, Ignored, Ignores
from .workspaces import Workspace, session_folder

TEMPLATER = "plugins/templater-obsidian/data.json"
LARGEST_SETTINGS = 1_000_000  # bytes
SNIFF = 8192  # a file with a NUL among its first bytes is binary
TICK = 0.01  # seconds; two changes within one tick of the kernel's clock leave the same time
READS = 3  # attempts to read a file that changes while it is read

NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # open a FIFO without waiting for a writer

# The rules that leave out an entry of a folder
HIDDEN = "hidden"  # a folder whose name begins with a dot; a file, unless a pattern begins with one
PATTERN = "pattern"  # no pattern matches the name of the file
EXCLUDED = "excluded"
LINK = "symbolic link"
SPECIAL = "special"  # neither a file nor a folder
TEMPLATES = "templates"  # the template folder in the vault's settings
OTHER_WORKSPACE = "other workspace"  # the transcript of a session that began elsewhere
UNKNOWN_WORKSPACE = "unknown workspace"  # a transcript without the folder of its session
EVICTED = "not downloaded"  # the placeholder of a note that only iCloud has
SKILL = "skill"  # a folder with the instructions and references of a skill of agents
CONFLICT = "conflict copy"  # of a file that a sync program found changed in two places
GENERATED = "generated"  # a folder that a tool made, or OpenClaw's trace of a session beside it
TRACE = ".trajectory.jsonl"
# Rules that a note can come under later, because another file says so
BY_OTHERS = (*LISTS, SKILL, CONFLICT)
SKILLS = "skills"  # the usual name of a folder of skills
SKIPPED_FOLDERS = {"node_modules", "site-packages"}  # the name of the folder is also the rule
# Folders that are generated if a file with one of these names is beside them
GENERATED_BESIDE = {
    "vendor": ("go.mod", "composer.json", "Gemfile"),
    "target": ("Cargo.toml", "pom.xml"),
    "dist": ("package.json", "pyproject.toml"),
}
LOGSEQ_BACKUPS = ("logseq/bak", "logseq/version-files")
VIRTUAL_ENVIRONMENT = "pyvenv.cfg"  # in the top folder of a Python environment
SKILL_FILE = "SKILL.md"  # in the top folder of a skill
NOTHING = r"(?!)"  # matches no name
PLACEHOLDER = re.compile(r"\.(.+)\.icloud")  # .note.md.icloud


class BadFileError(Exception):
    """A file that cannot be indexed. It is reported; other files are not affected.

    `kind` is the reason in a word: "size", "encoding", "changing" (while it is read), "special"
    (not a regular file), and for documents that are not text "damaged", "encrypted", "package" (one
    is missing) or "late" (see ExtractionBudget).
    """

    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason)
        self.kind = kind


class ExtractionBudget:
    """The seconds left for extracting texts, shared by all files of a refresh."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds


# None: an extraction has only its own limits.
time_left: ContextVar[ExtractionBudget | None] = ContextVar("extraction budget", default=None)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit the total time of extractions inside this block; None: no limit."""
    token = time_left.set(None if seconds is None else ExtractionBudget(seconds))
    try:
        yield
    finally:
        time_left.reset(token)


def refuse_links(path: str) -> None:
    """Raise OSError if any part of a path is a symbolic link."""
    if os.path.realpath(path) != os.path.abspath(path):
        raise OSError(errno.ELOOP, "a part of its path is a symbolic link", path)


def open_regular(path: str, follow_symlinks: bool) -> BinaryIO:
    """Open a regular file for reading, without waiting. Without `follow_symlinks`, no part of the
    path may be a link.

    Raises BadFileError or OSError if something else has replaced the file since it was listed.
    """
    if not follow_symlinks:
        refuse_links(path)
    stream = open(path, "rb", opener=lambda path, flags: os.open(path, flags | NONBLOCK))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise BadFileError("no longer a regular file", "special")
    return stream


def vault_settings(vault: str, name: str) -> dict[str, Any]:
    """Read a file of Obsidian's settings in a vault; {} for any other folder, or if it is
    unreadable.
    """
    path = os.path.join(vault, ".obsidian", name)
    if not os.path.isfile(path):
        return {}
    try:
        with open_regular(path, follow_symlinks=False) as file:
            return dict(json.loads(file.read(LARGEST_SETTINGS)))
    except (OSError, ValueError, TypeError, RecursionError, BadFileError):
        return {}


def _ignore_lines(folder: str, rule: str) -> list[str]:
    """The lines of a list of `ignores.LISTS` in a folder; [] if there is none or it is unreadable."""
    if rule == OBSIDIAN:
        filters = vault_settings(folder, "app.json").get("userIgnoreFilters")
        written = filters if isinstance(filters, list) else []
        return [text for text in written if isinstance(text, str) and text]
    path = os.path.join(folder, rule)
    if not os.path.isfile(path):
        return []
    with suppress(OSError, BadFileError):
        return os.fsdecode(_beginning(path, LARGEST_SETTINGS)).removeprefix("\ufeff").splitlines()
    return []


def _beginning(path: str, size: int) -> bytes:
    """The first bytes of a file that is no link. Raises OSError and BadFileError."""
    with open_regular(path, follow_symlinks=False) as file:
        return file.read(size)


class FileBytes(NamedTuple):
    """The content of a file, with its modification time (seconds since 1970) and size (bytes)."""

    data: bytes
    mtime: float
    size: int


def read(path: str, max_bytes: int, follow_symlinks: bool, binary: bool = False) -> FileBytes:
    """Read a file in a consistent state.

    Raises OSError, or BadFileError if the file is too large or changing, or binary unless `binary`
    allows it.
    """
    with open_regular(path, follow_symlinks) as stream:
        for _ in range(READS):
            before = settled(stream, max_bytes)
            stream.seek(0)
            data = stream.read(before.st_size + 1)
            if is_unchanged(stream, before) and len(data) == before.st_size:
                break
        else:
            raise changing()
    if not binary:
        check_text(data)
    return FileBytes(data, before.st_mtime, before.st_size)


def settled(stream: BinaryIO, max_bytes: int) -> os.stat_result:
    """Look at an open file; a change from now on will change its time or size. Raises BadFileError if
    it is too large.
    """
    status = os.fstat(stream.fileno())
    if status.st_size > max_bytes:
        raise BadFileError(f"{status.st_size:,} bytes, over max_file_bytes ({max_bytes:,})", "size")
    if 0 <= time.time() - status.st_mtime < TICK:
        time.sleep(TICK)
    return status


def is_unchanged(stream: BinaryIO, before: os.stat_result) -> bool:
    """Whether an open file still has the same time and size."""
    after = os.fstat(stream.fileno())
    return before.st_mtime == after.st_mtime and before.st_size == after.st_size


def changing() -> BadFileError:
    """The error for a file that changed while it was read."""
    return BadFileError("changed while it was read; the next ingest reads it", "changing")


def check_text(beginning: bytes) -> None:
    """Raise BadFileError if a file that begins with these bytes is binary."""
    if b"\0" in beginning[:SNIFF] and not marked_encoding(beginning):
        raise BadFileError("binary: it contains NUL bytes", "encoding")


class FoundFile(NamedTuple):
    """A regular file: `relative` to the top folder, `mtime` in seconds, `size` in bytes."""

    relative: str
    path: str
    mtime: float
    size: int


class Walk:
    """The regular files below `top` whose names match one of `patterns`, by name, folder by folder.

    `exclude` has globs for names or for paths relative to `top`. `left_out` maps the paths of
    unwanted entries to a rule of `Wanted`; for a folder that is not entered, only the folder.
    Symbolic links are left out, too. With `follow_symlinks` they are followed after everything
    else, and no place is visited twice. With `no_ignore`, `.gitignore` and the like leave nothing
    out. With a `workspace`, all files are transcripts, and only those of its sessions are wanted.
    `unread` has the entries that could not be listed, as (path, reason), `evicted` the paths of
    files that only iCloud has.
    """

    def __init__(
        self,
        top: str,
        patterns: Sequence[str],
        exclude: Sequence[str] = (),
        follow_symlinks: bool = False,
        workspace: str | None = None,
        no_ignore: bool = False,
    ) -> None:
        self.top = top
        self.follow_symlinks = follow_symlinks
        self.left_out: dict[str, str] = {}
        self.unread: list[tuple[str, str]] = []
        self.evicted: set[str] = set()
        self.wanted = Wanted(top, patterns, exclude, workspace, no_ignore)
        self._visited: set[str] = set()
        self._links: list[str] = []

    def __iter__(self) -> Iterator[FoundFile]:
        if self._is_new(self.top):
            yield from self._below(self.top)
        if not self.follow_symlinks:
            self.left_out.update(dict.fromkeys(self._links, LINK))
            return
        # The list grows during this loop. Links come last, so that real files keep their own path.
        for link in self._links:
            is_folder = os.path.isdir(link)
            if not (is_folder or os.path.isfile(link)) or not self._is_new(link):
                self.left_out[link] = LINK
            elif is_folder:
                yield from self._below(link)
            else:
                yield from self.file(link)

    def _below(self, top: str) -> Iterator[FoundFile]:
        folders = [top]
        while folders:
            folder = folders.pop()
            try:
                if not self.follow_symlinks:
                    refuse_links(folder)
                yield from self._in_folder(folder, folders)
            except OSError as error:
                if folder == self.top or not isinstance(error, FileNotFoundError):
                    self._cannot_list(folder, error)

    def _in_folder(self, folder: str, folders: list[str]) -> Iterator[FoundFile]:
        """Yield the files in a folder. Append its subfolders to `folders`, the first one last."""
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        subfolders = []
        above = os.path.join(folder, "")
        for entry in entries:
            path = above + entry.name
            is_link = entry.is_symlink()
            is_folder = _leads_to_folder(entry)
            if rule := self.wanted.refusal(entry.name, path, is_folder):
                self.left_out[path] = rule
                if rule == EVICTED:
                    self.evicted.add(above + original_name(entry.name))
            elif is_link:
                self._links.append(path)
            elif self._is_new(path):
                if is_folder:
                    subfolders.append(path)
                else:
                    yield from self.file(path)
        folders += reversed(subfolders)

    def file(self, path: str) -> Iterator[FoundFile]:
        """Yield the file at this path if it is wanted, whatever its name."""
        rule: str | None = SPECIAL
        try:
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode):
                rule = self.wanted.refusal_of_session(path)
        except FileNotFoundError:
            return
        except (OSError, BadFileError) as error:
            self._cannot_list(path, error)
            return
        if rule:
            self.left_out[path] = rule
        else:
            yield FoundFile(self.wanted.relative(path), path, status.st_mtime, status.st_size)

    def _is_new(self, path: str) -> bool:
        """Whether no other path has led to this place."""
        if not self.follow_symlinks:
            return True
        place = os.path.realpath(path)
        new = place not in self._visited
        self._visited.add(place)
        return new

    def _cannot_list(self, path: str, error: OSError | BadFileError) -> None:
        self.unread.append((path, getattr(error, "strerror", None) or str(error)))


def _leads_to_folder(entry: "os.DirEntry[str]") -> bool:
    """Whether an entry is a folder, or a link to one."""
    try:
        return entry.is_dir()
    except OSError:  # a loop
        return False


class Wanted:
    """The rules for entries below `top`: `patterns` for file names, `exclude` for names or paths
    relative to `top`, and the `workspace` in which sessions began. `no_ignore` turns off the lists
    of `ignores.LISTS`.
    """

    def __init__(
        self,
        top: str,
        patterns: Sequence[str],
        exclude: Sequence[str] = (),
        workspace: str | None = None,
        no_ignore: bool = False,
    ) -> None:
        self._workspace = Workspace(workspace) if workspace else None
        names = [pattern.removeprefix("**/") for pattern in patterns]
        self._patterns = _any_of(names)
        self._hidden = _any_of(name for name in names if name.startswith("."))
        self._exclude = _any_of(pattern.rstrip("/") for pattern in exclude) if exclude else None
        self._above = os.path.join(top, "")
        self._ignores = None if no_ignore or workspace else Ignores(top, _ignore_lines)
        self._skills = top if os.path.basename(top).lower() == SKILLS else None
        own = vault_settings(top, "templates.json").get("folder")
        templater = vault_settings(top, TEMPLATER).get("templates_folder")
        self._templates = {str(folder).strip("/") for folder in (own, templater) if folder}

    def refusal(self, name: str, path: str, is_folder: bool) -> str | None:
        """The rule that leaves out an entry or the target of a link; None if it is wanted."""
        if is_folder:
            if name.startswith("."):
                return HIDDEN
            if name in SKIPPED_FOLDERS:
                return name
            if _is_generated(name, path):
                return GENERATED
            if self.relative(path) in self._templates:
                return TEMPLATES
            if self._is_skill(path):
                return SKILL
        elif not self.matches(name):
            is_evicted = name.endswith(".icloud") and self.matches(original_name(name))
            return EVICTED if is_evicted else PATTERN
        elif name.endswith(TRACE):
            return GENERATED
        elif name.startswith(".") and not self._hidden.match(spelled(name)):
            return HIDDEN
        if self._exclude is not None:
            relative = self.relative(path)
            if any(self._exclude.match(spelled(text)) for text in (name, relative, "/" + relative)):
                return EXCLUDED
        ignored = self.ignored(path, is_folder)
        if ignored:
            return ignored.rule
        return CONFLICT if not is_folder and is_conflict_copy(path, _beginning) else None

    def ignored(self, path: str, is_folder: bool) -> Ignored | None:
        """The line of a list, such as `.gitignore`, that leaves out an entry."""
        return self._ignores.ignored(path, is_folder) if self._ignores else None

    def _is_skill(self, folder: str) -> bool:
        """Whether a folder is a skill of agents. In a folder of skills that a user named, none is."""
        if os.path.dirname(folder) == self._skills:
            return False
        return os.path.isfile(os.path.join(folder, SKILL_FILE))

    def takes(self, path: str) -> bool:
        """Whether a file below `top` is wanted, by its name, the names of its folders and its
        workspace.
        """
        place = self._above.rstrip(os.sep)
        *folders, name = self.relative(path).split(os.sep)
        for folder in folders:
            place = os.path.join(place, folder)
            if self.refusal(folder, place, True):
                return False
        if self.refusal(name, path, False):
            return False
        with suppress(OSError, BadFileError):  # one that cannot be read counts as wanted
            return self.refusal_of_session(path) is None
        return True

    def refusal_of_session(self, path: str) -> str | None:
        """The rule that leaves out the transcript at this path; None if it is wanted.

        Reads the file if there is a workspace. Raises OSError and BadFileError.
        """
        if self._workspace is None:
            return None
        # The ingest refuses links when it reads the file; checking here would double the walk's time.
        with open_regular(path, follow_symlinks=True) as transcript:
            folder = session_folder(transcript)
        if folder is None:
            return UNKNOWN_WORKSPACE
        return None if self._workspace.has(folder) else OTHER_WORKSPACE

    def matches(self, name: str) -> bool:
        """Whether a pattern matches a name. `*.md` is markdown, with either ending."""
        name = spelled(name)
        stem = name.removesuffix(".markdown")
        return bool(self._patterns.match(name)) or (
            stem != name and bool(self._patterns.match(f"{stem}.md"))
        )

    def relative(self, path: str) -> str:
        """Make a path below `top` relative to it."""
        return path[len(self._above) :]


def _any_of(globs: Iterable[str]) -> re.Pattern[str]:
    """A pattern for `spelled` names that match any of these globs."""
    return re.compile("|".join(translate(spelled(glob)) for glob in globs) or NOTHING)


def _is_generated(name: str, path: str) -> bool:
    """Whether a folder has the signs of one that a tool made."""
    if os.path.isfile(os.path.join(path, VIRTUAL_ENVIRONMENT)) or path.endswith(LOGSEQ_BACKUPS):
        return True
    beside = os.path.dirname(path)
    signs = GENERATED_BESIDE.get(name, ())
    return any(os.path.isfile(os.path.join(beside, sign)) for sign in signs)


def original_name(name: str) -> str:
    """The name of the file that a placeholder of iCloud stands for; another name as it is."""
    placeholder = PLACEHOLDER.fullmatch(name)
    return placeholder[1] if placeholder else name
