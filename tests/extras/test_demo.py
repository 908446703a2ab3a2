"""The command `demo`."""

from pathlib import Path

from hybrid_memory.extras.demo import QUERIES
from tests.command import Run, answer, in_terminal


def test_demo_finds_the_notes_and_the_session_and_recalls(
    run: Run, environ: dict[str, str], tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    environ["TMPDIR"] = str(tmp_path)
    shown = answer(run("demo", "--json"))
    first = [search["results"][0] for search in shown["searches"]]
    assert [search["query"] for search in shown["searches"]] == list(QUERIES)
    for result, expected in zip(
        first, ("Halvorsen", "Berg Mill", "rest for 90 minutes"), strict=True
    ):
        assert expected in result["text"]
    needed, not_needed = shown["recall"]
    assert any("Priya" in passage["text"] for passage in needed["added"])
    assert not_needed["added"] == []
    seen = in_terminal(environ, "demo")
    assert "Halvorsen" in seen
    assert "Priya" in seen
    assert str(tmp_path) not in seen
    assert sorted(tmp_path.rglob("*")) == before
