"""The command `hybrid-memory`, for those who call it by a path in a checkout."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from hybrid_memory.cli import entry_point

entry_point()
