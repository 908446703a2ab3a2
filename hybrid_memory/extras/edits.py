"""Edit a text file that other programs and people also write: config.json, the settings of agents,
AGENTS.md.

The file is either replaced as a whole or left as it was. Two edits of this program at the same time
both take effect.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..errors import HybridMemoryError
from ..paths import locked
from .json_text import values_of

BOM = "\ufeff"


def edit(
    path: str,
    change: Callable[[str], str],
    *,
    is_private: Callable[[str], bool] = lambda text: False,
) -> None:
    """Replace the text of a file by what `change` makes of it.

    A missing file is created; its text is "". A symbolic link stays a link, and the file behind it
    keeps its mode and owner. Only its owner may read a file whose new text `is_private`. Raises
    HybridMemoryError, with the file unchanged, if it is not a regular UTF-8 file, cannot be read or
    written, or if `change` raises ValueError.
    """
    path = os.path.realpath(os.path.expanduser(path))
    folder = os.path.dirname(path)
    with _unchanged_on_error(path):
        os.makedirs(folder, exist_ok=True)
        with locked(folder):
            before, status = _read(path)
            after = before[: before.startswith(BOM)] + change(before.removeprefix(BOM))
            if after != before:
                _replace(path, after, status, is_private(after))


def append(path: str, addition: Callable[[str], str]) -> str:
    """Append to a file what `addition` makes of its present text, and return that text.

    Unlike `edit`, this loses nothing that another program appends at the same moment. A missing
    file is created. Raises HybridMemoryError as `edit` does; a file on a full disk is as before.
    """
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    with _unchanged_on_error(path):
        os.makedirs(folder, exist_ok=True)
        with locked(folder):
            before, status = _read(path)
            added = addition(before).encode()
            with open(path, "ab", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                try:
                    while added:
                        added = added[file.write(added) :]
                except BaseException:
                    file.truncate(size)
                    if status is None:
                        os.unlink(path)
                    raise
            return before


@contextmanager
def _unchanged_on_error(path: str) -> Iterator[None]:
    """Report an error inside as HybridMemoryError. The code inside leaves the file as it was."""
    try:
        yield
    except OSError as error:
        problem = f"cannot write {path}: {error.strerror}"
        raise HybridMemoryError(f"{problem}; nothing was changed") from error
    except ValueError as error:
        problem = f"cannot edit {path}: {error}"
        raise HybridMemoryError(f"{problem}; nothing was changed") from error


def edit_json(path: str, change: Callable[[str, dict[str, Any]], str], **options: Any) -> None:
    """As `edit`, for a file with one JSON object. `change` receives the text and its values."""
    edit(path, lambda text: change(text, values_of(text)), **options)


def _read(path: str) -> tuple[str, os.stat_result | None]:
    """The text and status of a file; "" and None if it does not exist."""
    if not os.path.exists(path):
        return "", None
    if not os.path.isfile(path):
        raise ValueError("it is not a regular file")
    with open(path, encoding="utf-8", newline="") as file:
        return file.read(), os.fstat(file.fileno())


def _replace(path: str, text: str, status: os.stat_result | None, is_private: bool) -> None:
    new = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.new"
    mode = 0o666 if status is None and not is_private else 0o600
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(descriptor)
        if status is not None:
            with suppress(PermissionError):  # only root may give a file away
                os.chown(new, status.st_uid, status.st_gid)
            os.chmod(new, stat.S_IMODE(status.st_mode) & (0o700 if is_private else 0o777))
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise
