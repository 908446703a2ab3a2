"""Jupyter notebooks as markdown."""

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.passage import read
from hybrid_memory.extras.formats import notebook
from hybrid_memory.extras.formats.extracted import ExtractError
from hybrid_memory.extras.why.explain import explain
from hybrid_memory.sync.ingest import Ingest


def made(*cells: Any, **more: Any) -> bytes:
    return json.dumps(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **more}
    ).encode()


def note(source: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source: Any, *outputs: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "outputs": outputs}


BOILER = made(
    note(["# The boiler\n", "\n", "Pressure by day, ![gauge](attachment:gauge.png)."]),
    code(
        ["import bar\n", "bar.plot()"],
        {"output_type": "stream", "name": "stdout", "text": ["\x1b[31m1.4\x1b[0m bar\n", "falling\n"]},
        {"output_type": "execute_result", "data": {"text/plain": ["0.93"], "text/html": ["<b>0.93</b>"]}},
        {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=", "text/plain": ["<Figure>"]}},
        {"output_type": "error", "ename": "LeakError", "evalue": "valve 7", "traceback": ["\x1b[0;31m…"]},
    ),
    code("", {"output_type": "stream", "text": "\n"}),
    {"cell_type": "raw", "source": "as it is"},
    metadata={
        "title": "Pressure",
        "authors": [{"name": "Ann"}, {"name": "Ben"}],
        "language_info": {"name": "python"},
    },
)  # fmt: skip
TEXT = """\
# The boiler

Pressure by day, ![gauge](attachment:gauge.png).

```python
import bar
bar.plot()
```

```
1.4 bar
falling
```

```
0.93
```

```
LeakError: valve 7
```

as it is
"""


def test_a_notebook_is_its_notes_its_code_and_what_that_printed() -> None:
    found = notebook.extract(BOILER)
    assert found.text == TEXT
    assert found.metadata == {"title": "Pressure", "author": "Ann, Ben"}
    assert found.warnings == []


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ([], "\n"),
        ([code("print('''\n```\n# no heading''')")], "````\nprint('''\n```\n# no heading''')\n````\n"),
        ([7, None, note({}), note("a"), {"cell_type": "code"}, code(["b", 7], 7, {})], "a\n\n```\nb\n```\n"),
        ([code("x", {"output_type": "display_data", "data": []})], "```\nx\n```\n"),
    ],
)  # fmt: skip
def test_forms_of_cells(cells: list[Any], text: str) -> None:
    assert notebook.extract(made(*cells)).text == text


@pytest.mark.parametrize("language", ["a`b", "a\n# b", 7, None])
def test_a_language_that_is_not_a_word_is_left_out(language: Any) -> None:
    data = made(code("x"), metadata={"language_info": {"name": language}})
    assert notebook.extract(data).text == "```\nx\n```\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cannot be read as a notebook"),
        (b"[]", "no nbformat"),
        (b'{"cells": []}', "no nbformat"),
        (b"[" * 200_000, "cannot be read as a notebook"),
        (b'{"nbformat": 3, "worksheets": []}', "`jupyter nbconvert --to notebook --inplace`"),
    ],
)
def test_what_is_not_a_notebook_is_an_error_that_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(ExtractError, match=reason) as error:
        notebook.extract(data)
    assert error.value.kind == "damaged"


def test_a_notebook_is_found_and_cited_by_the_lines_of_its_text(
    store: HybridStore, tmp_path: Path
) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/boiler.ipynb").write_bytes(BOILER)
    (tmp_path / "lab/old.ipynb").write_text('{"nbformat": 3}')
    report = Ingest(store, patterns=["*.ipynb"]).run([str(tmp_path / "lab")])
    assert (report.files, [error["kind"] for error in report.errors]) == (1, ["damaged"])
    [hit] = store.search("LeakError valve", 1)
    assert hit["doc_id"] == "lab/boiler.ipynb"
    assert "LeakError: valve 7" in read(store, hit["citation"])["text"]
    assert explain(store, str(tmp_path / "lab/old.ipynb"))["rule"] == "damaged"
