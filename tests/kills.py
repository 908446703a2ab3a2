"""Processes of ours that are killed."""

import signal
import subprocess
import sys
import time
from pathlib import Path

# Counts the statements of a command, FTS5's own too, and kills it before one of them.
COUNTED = """
import os, signal, sys
from hybrid_memory import cli
from hybrid_memory.storage.sqlite import engine

moment, counted = int(sys.argv.pop(1)), 0
connect = engine.connect

def count(statement):
    global counted
    counted += 1
    if counted == moment:
        os.kill(os.getpid(), signal.SIGKILL)

def traced(*args, **kwargs):
    connection = connect(*args, **kwargs)
    connection.set_trace_callback(count)
    return connection

engine.connect = traced
status = cli.main()
print(counted, file=sys.stderr)
sys.exit(status)
"""

OPENING = [sys.executable, "-c", "import sys; from hybrid_memory.storage.sqlite.connection import connect; connect(sys.argv[1])"]


def killed_while_it_opens(db_path: str, share: float) -> None:
    """Open a database, which upgrades it, and kill that after this share of the time that it takes for a copy."""
    copy = db_path + ".copy"
    Path(copy).write_bytes(Path(db_path).read_bytes())
    started = time.monotonic()
    subprocess.run([*OPENING, copy], check=True)
    process = subprocess.Popen([*OPENING, db_path])
    time.sleep(share * (time.monotonic() - started))
    process.send_signal(signal.SIGKILL)
    process.wait()
