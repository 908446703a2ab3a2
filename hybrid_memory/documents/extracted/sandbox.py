"""Extract the text of a document in a process of its own, with the limits of worker.py."""

import json
import signal
import subprocess
import sys

from ...environment import CHECKOUT, missing_package
from ..files import BadFileError
from .extract import Extract
from .worker import SECONDS

# Without the working directory on the path, where a module may lie that is none of ours.
RUN = "import sys; sys.path.insert(0, sys.argv[1]); from hybrid_memory.documents.extracted.worker import main; main()"
OUT_OF_TIME = getattr(signal, "SIGXCPU", 0)
PATIENCE = 3  # times the limit of CPU time, on a busy machine


def extracted(data: bytes, kind: str, package: str | None) -> Extract:
    """The text of a document of the kind "pdf" or "docx". Raises BadFileError if it cannot be had, or the package is missing."""
    from importlib.util import find_spec

    if package and find_spec(package) is None:
        raise BadFileError(missing_package(f"a .{kind} file", "documents"), "package")
    command = [sys.executable, "-P", "-c", RUN, CHECKOUT, kind]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=PATIENCE * SECONDS, check=False)
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise BadFileError(f"reading it takes more than {PATIENCE * SECONDS} seconds", "size") from error
    except ValueError as error:  # no answer
        if done.returncode == -OUT_OF_TIME:
            raise BadFileError(f"reading it takes more than {SECONDS} seconds of computing", "size") from error
        raise BadFileError(f"it breaks the program that reads it (status {done.returncode})", "damaged") from error
    if "error" in answer:
        raise BadFileError(answer["error"], answer["kind"])
    return Extract(**answer)
