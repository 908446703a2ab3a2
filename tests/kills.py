"""Processes of ours that are killed."""

# Counts the statements of a command, FTS5's own too, and kills it before one of them.
COUNTED = """
import os, signal, sys
from hybrid_memory import cli
from hybrid_memory.storage.sqlite import connection

moment, counted = int(sys.argv.pop(1)), 0
connect = connection.connect

def count(statement):
    global counted
    counted += 1
    if counted == moment:
        os.kill(os.getpid(), signal.SIGKILL)

def traced(*args, **kwargs):
    connection = connect(*args, **kwargs)
    connection.set_trace_callback(count)
    return connection

connection.connect = traced
status = cli.main()
print(counted, file=sys.stderr)
sys.exit(status)
"""
