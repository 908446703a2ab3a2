"""Files that other programs and people write, too: an edit changes one thing, or nothing."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.errors import HybridMemoryError
from hybrid_memory.extras.edits import edit, edit_json
from hybrid_memory.extras.json_text import values_of, with_value, without_value
from tests.command import Run

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)
LAYOUTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(OBJECTS, st.text(max_size=3), VALUES, LAYOUTS)
def test_a_value_that_is_set_is_there_and_all_others_are_as_before(
    values: dict[str, Any], key: str, value: Any, indent: int | str | None
) -> None:
    text = json.dumps(values, indent=indent)
    changed = with_value(text, (key,), value)
    assert values_of(changed) == values | {key: value}
    assert list(values_of(changed)) == list(values | {key: value})
    kept = {other: values[other] for other in values if other != key}
    assert values_of(without_value(changed, (key,))) == kept
    if key not in values and values:
        assert without_value(changed, (key,)) == text


@given(st.lists(VALUES, max_size=3), VALUES, LAYOUTS)
def test_an_array_is_appended_to_and_its_elements_are_removed_by_index(
    elements: list[Any], value: Any, indent: int | str | None
) -> None:
    text = json.dumps({"a": {"b": elements}}, indent=indent)
    appended = with_value(text, ("a", "b", len(elements)), value)
    assert values_of(appended) == {"a": {"b": [*elements, value]}}
    for number in range(len(elements)):
        removed = without_value(appended, ("a", "b", number))
        assert (
            values_of(removed)["a"]["b"]
            == [*elements, value][:number] + [*elements, value][number + 1 :]
        )


@pytest.mark.parametrize(
    ("text", "path", "value", "changed"),
    [
        ("", ("a",), 1, '{\n  "a": 1\n}\n'),
        ("{}", ("a", "b", 0), 1, '{\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}'),
        ('{"x": 1.50, "y": 1E400}', ("a",), 1, '{"x": 1.50, "y": 1E400, "a": 1}'),
        ('{\n\t"x": [1, 2.0]\n}', ("x", 2), 3, '{\n\t"x": [1, 2.0, 3]\n}'),
        ('{\n    "x": {"y" : 1}\n}', ("x", "y"), 2, '{\n    "x": {"y" : 2}\n}'),
        ('{\r\n  "x": 1\r\n}\r\n', ("a",), 1, '{\r\n  "x": 1,\r\n  "a": 1\r\n}\r\n'),
        ('{"é": "\\u00e9"}', ("ü",), "ü", '{"é": "\\u00e9", "ü": "ü"}'),
    ],
)
def test_layout_order_and_numbers_stay(
    text: str, path: tuple[str | int, ...], value: Any, changed: str
) -> None:
    assert with_value(text, path, value) == changed


@pytest.mark.parametrize(
    "settings",
    [
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        "[]",
        '{"a": 1, "a": 2}',
        "{" * 100_000,
        "not json",
    ],
)
def test_settings_of_another_shape_are_refused_and_stay(tmp_path: Path, settings: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(settings)
    with pytest.raises(HybridMemoryError, match=r"cannot edit .*; nothing was changed"):
        edit_json(str(file), lambda text, values: with_value(text, ("hooks", "Stop", 0), "x"))
    assert (file.read_text(), os.listdir(tmp_path)) == (settings, [file.name])


def test_a_file_that_is_not_regular_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    for name in ("fifo", "folder"):
        with pytest.raises(HybridMemoryError, match="not a regular file|directory"):
            edit(str(tmp_path / name), lambda text: "x")
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)


def test_a_link_stays_a_link_and_a_file_keeps_its_mode_and_its_byte_order_mark(
    tmp_path: Path,
) -> None:
    real = tmp_path / "dotfiles" / "real.json"
    real.parent.mkdir()
    real.write_bytes(b"\xef\xbb\xbf{}")
    real.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    edit_json(str(link), lambda text, values: with_value(text, ("a",), 1))
    assert (link.is_symlink(), stat.S_IMODE(real.stat().st_mode)) == (True, 0o640)
    assert real.read_bytes() == b'\xef\xbb\xbf{\n  "a": 1\n}'
    assert os.listdir(real.parent) == ["real.json"]


@pytest.mark.parametrize(
    ("value", "mode"),
    [
        ("postgresql://ann:secret@db.example/memory", 0o600),
        ("host=db.example password=secret dbname=memory", 0o600),
        ("postgresql://ann@db.example/memory", 0o644),
        ("/home/ann/memory.db", 0o644),
    ],
)
def test_only_the_owner_reads_a_config_file_with_a_password(
    run: Run, tmp_path: Path, value: str, mode: int
) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new/config.json"
    old.write_text("{}")
    old.chmod(0o644)
    for file in (old, new):
        done = run("config", "set", "db_path", value, "--config", str(file))
        assert done.returncode == 0, done.stderr
        assert stat.S_IMODE(file.stat().st_mode) == mode
        assert "secret" not in done.stdout + done.stderr


def test_edits_at_the_same_time_all_take_effect(environ: dict[str, str], tmp_path: Path) -> None:
    settings = dict.fromkeys(
        ("limit", "rerank_limit", "cache_size", "query_cache_size", "per_doc"), 3
    ) | {"min_score": 0.5, "query_timeout": 3.5, "rerank_weight": 0.25}
    file = tmp_path / "new/config.json"

    command = [sys.executable, "-m", "hybrid_memory", "config", "--config", str(file), "set"]
    running = [
        subprocess.Popen([*command, key, str(value)], env=environ, stdout=subprocess.DEVNULL)
        for key, value in settings.items()
    ]
    assert [process.wait() for process in running] == [0] * 8
    assert json.loads(file.read_text()) == settings
    assert os.listdir(file.parent) == ["config.json"]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("as it was")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "from hybrid_memory.extras.edits import edit\nedit(sys.argv[1], lambda text: 'x' * 2000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=False
    )
    assert "File too large; nothing was changed" in done.stderr
    assert (file.read_text(), os.listdir(tmp_path)) == ("as it was", ["a.md"])
