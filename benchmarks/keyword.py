"""`uv run benchmarks/keyword.py DOCS` runs keyword_search.py, which says what it measures.

By this name it would be the standard library's `keyword` to every script of this folder, which begins most programs' imports:
so it holds nothing of its own, and gives way to that.
"""

import sys
from os.path import abspath, dirname

FOLDER = dirname(abspath(__file__))

sys.path.remove(FOLDER)
if __name__ == "__main__":
    import runpy

    runpy.run_path(f"{FOLDER}/keyword_search.py", run_name="__main__")
else:
    del sys.modules[__name__]
    import keyword  # noqa: F401

    sys.path.insert(0, FOLDER)
