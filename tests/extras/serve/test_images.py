"""The images that notes show: from the folder that was ingested, and nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import Run
from tests.extras.serving import Client, served

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(64))
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


@pytest.fixture
def vault(folder: Path, run: Run) -> Path:
    """A folder with notes and images, and more of them outside and in hidden places."""
    vault = folder.parent / "vault"
    for name in (
        "img/rack.png",
        "deep/a/rack.png",
        "deep/photo one.JPG",
        ".obsidian/icon.png",
        "private/face.png",
        "deep/.hidden.png",
    ):
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_bytes(PNG + name.encode())
    (vault / "draw.svg").write_bytes(SVG)
    (vault / "secret.txt").write_text("a secret")
    (vault / "note.md").write_text("# Note\n\n![[rack.png]]\n")
    (vault / "deep/below.md").write_text("# Below\n\n![](a/rack.png)\n")
    (folder.parent / "outside.png").write_bytes(PNG + b"outside")
    os.symlink(folder.parent / "outside.png", vault / "link.png")
    os.symlink(folder.parent, vault / "away")
    assert run("ingest", "--path", str(vault), "--exclude", "private").returncode == 0
    return vault


@pytest.fixture
def images(vault: Path, environ: dict[str, str]) -> Iterator[Client]:
    with served(environ) as client:
        yield client


def address(doc_id: str, target: str) -> str:
    return f"/api/documents/{doc_id}/image?target={target}"


NAMED = [
    ("vault%2Fnote.md", "img/rack.png", "img/rack.png"),
    ("vault%2Fnote.md", "rack.png", "img/rack.png"),  # the nearest of that name
    ("vault%2Fnote.md", "a/rack.png", "deep/a/rack.png"),
    ("vault%2Fdeep%2Fbelow.md", "rack.png", "deep/a/rack.png"),
    ("vault%2Fdeep%2Fbelow.md", "../img/rack.png", "img/rack.png"),
    ("vault%2Fdeep%2Fbelow.md", "img/rack.png", "img/rack.png"),  # from the top of the folder
    ("vault%2Fdeep%2Fbelow.md", "photo%20one.JPG", "deep/photo one.JPG"),
]


def test_an_image_is_found_as_the_note_names_it(images: Client) -> None:
    for doc_id, target, name in NAMED:
        where = address(doc_id, target)
        answer = images.get(where)
        assert (answer.status_code, answer.content) == (200, PNG + name.encode()), target
        kind = "image/jpeg" if name.endswith("JPG") else "image/png"
        assert answer.headers["content-type"] == kind
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = images.get(where, headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304


ELSEWHERE = [
    "../outside.png",
    "/etc/passwd",
    "link.png",
    "away/outside.png",
    ".obsidian/icon.png",
    "deep/.hidden.png",
    "private/face.png",
    "secret.txt",
    "missing.png",
]


def test_nothing_else_is_given(images: Client) -> None:
    for target in ELSEWHERE:
        answer = images.get(address("vault%2Fnote.md", target))
        assert answer.status_code == 404, target
        assert b"PNG" not in answer.content and "/tmp" not in answer.text, target


def test_what_is_no_document_of_a_folder_has_no_images(images: Client, vault: Path) -> None:
    assert images.put_text("stored", "![](rack.png)").status_code == 201
    assert images.get(address("stored", "rack.png")).status_code == 404
    assert images.get(address("nobody", "rack.png")).status_code == 404
    assert images.get(address("vault%2Fnote.md", "a%00.png")).status_code == 422


def test_scripts_of_an_svg_cannot_run_wherever_it_is_opened(images: Client) -> None:
    answer = images.get(address("vault%2Fnote.md", "draw.svg"))
    assert (answer.status_code, answer.content) == (200, SVG)
    policy = answer.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy and "sandbox" in policy
    assert not any("script" in rule for rule in policy)
    page = images.get("/")
    assert "sandbox" not in page.headers["content-security-policy"]


def test_the_token_and_the_bounds_hold_for_images(vault: Path, environ: dict[str, str]) -> None:
    where = address("vault%2Fnote.md", "img/rack.png")
    token = "correct-horse-battery-staple"
    with served(environ, "--token", token) as client:
        assert client.get(where).status_code == 401
        assert client.get(where, headers={"Authorization": f"Bearer {token}"}).status_code == 200
        assert client.get(where, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    with served(environ, "--in", "vault/deep") as client:
        assert client.get(where).status_code == 404
        below = "vault%2Fdeep%2Fbelow.md"
        assert client.get(address(below, "a/rack.png")).status_code == 200
        assert client.get(address(below, "../img/rack.png")).status_code == 404
