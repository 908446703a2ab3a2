"""Check that a file named by a hook is the transcript of an agent's session.

The name is untrusted input and could be that of any file. A file is accepted only if it is below a
folder in which an agent keeps transcripts and has the format of one.
"""

import os
from itertools import chain
from typing import NamedTuple

from ...documents.files import BadFileError, open_regular
from ...documents.formats import format_of
from ...documents.workspaces import SEARCHED_BYTES, session_folder
from ...paths import is_in
from ..formats import transcripts
from ..hosts import SessionFolder, session_folders


class RefusedError(Exception):
    """Why a file is not ingested."""


class SessionTranscript(NamedTuple):
    """A transcript, the folder in which its session began, if it records that, and the folder in
    which the agent keeps it.
    """

    path: str
    workspace: str | None
    folder: SessionFolder


def transcript(named: object) -> SessionTranscript | None:
    """Return the transcript that a hook names; None if the file is missing or empty.

    Raises RefusedError for any other file.
    """
    path = os.path.realpath(os.path.expanduser(str(named)))
    folders = [folder for folder in _folders() if is_in(path, folder.path)]
    if not folders:
        raise RefusedError("it is not in a folder in which an agent keeps transcripts")
    if not os.path.lexists(path):
        return None
    if not os.path.isfile(path):
        raise RefusedError("it is not a regular file")
    if format_of(path) is not transcripts.FORMAT:
        raise RefusedError("its name does not end with .jsonl")
    try:
        with open_regular(path, follow_symlinks=False) as stream:
            if not os.fstat(stream.fileno()).st_size:
                return None
            if not transcripts.Transcript(stream, SEARCHED_BYTES).has_known_form():
                raise RefusedError(
                    f"it has no line in the format of a transcript of {transcripts.KNOWN_FORMS}"
                )
            stream.seek(0)
            return SessionTranscript(path, session_folder(stream), folders[0])
    except (OSError, BadFileError) as error:
        raise RefusedError(f"it cannot be read: {error}") from error


def _folders() -> list[SessionFolder]:
    """Return the transcript folders of all agents: those set by environment variables, and the
    default ones, because the agent may have been started with other variables.
    """
    folders = chain(session_folders(), session_folders({}))
    return [folder._replace(path=os.path.realpath(folder.path)) for folder in folders]
