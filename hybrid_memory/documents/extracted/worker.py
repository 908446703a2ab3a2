"""The process that extracts a text: a document on standard input, its format as the argument, JSON on standard output.

Documents come from anywhere, and what reads a PDF is a large library in C++. So it has a process of its own, with little memory
and time, and no more than that is lost to a document that breaks it.
"""

import json
import sys
from contextlib import suppress
from importlib import import_module

from .extract import ExtractError

MEMORY = 1 << 29  # bytes of address space
SECONDS = 60  # of CPU time


def main() -> None:
    """Print {"text", "pages", "metadata", "warning"}, or {"error", "kind"}."""
    with suppress(ImportError, ValueError, OSError):  # there is no such module, or no such limit, on this system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answer = {"error": f"reading it takes more than {MEMORY >> 20:,} MB of memory", "kind": "size"}
    try:
        extracted = import_module(f"{__package__}.{sys.argv[-1]}").extract(sys.stdin.buffer.read())
        answer = extracted._asdict()
    except ExtractError as error:
        answer = {"error": str(error), "kind": error.kind}
    except MemoryError:
        pass  # only behind this block, what was read is let go
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
