"""The built-in embedder for many languages, with its real table, and which store gets it."""

import math
from pathlib import Path

import pytest

from hybrid_memory.embedding import multilingual
from hybrid_memory.embedding.builtin import FOLDED, BuiltinEmbedder, Table
from hybrid_memory.embedding.choice import builtin_for
from hybrid_memory.embedding.multilingual import MultilingualEmbedder
from tests.command import Run, answer

DATA = Path(multilingual.__file__).with_name("multilingual.bin")
GERMAN = "Der Server steht im Keller, und das Passwort ist nicht auf dem Zettel."
CHINESE = "服务器在地下室。密码不在纸条上。"


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    return MultilingualEmbedder()


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Über 大熊猫!", ["uber", "大", "熊", "猫", "熊猫"]),
        ("Linux内核", ["linux", "内", "核"]),
        ("ОБНОВЛЕНИЕ", ["об", "##нов", "##ление"]),
        ("", []),
        ("?! 😀", []),
    ],
)
def test_text_is_folded_and_cut_into_the_longest_tokens(
    embedder: MultilingualEmbedder, text: str, tokens: list[str]
) -> None:
    assert embedder.tokenize(text) == tokens


@pytest.mark.parametrize("text", [GERMAN, CHINESE, "Как сменить пароль? password パスワード ค้นหา"])
def test_vector_is_the_sum_of_its_tokens_rows(embedder: MultilingualEmbedder, text: str) -> None:
    """The test repeats the calculation with the bytes of the file."""
    table = Table(DATA, FOLDED)
    data = DATA.read_bytes()
    levels = [level - 256 if level > 127 else level for level in data[32:48]]
    sums = [0] * 256
    for token in embedder.tokenize(text):
        row = table.row_of[table.longest_prefix(token.encode())[1]]
        for place, byte in enumerate(
            data[len(data) - 128 * len(table.scales) :][128 * row :][:128]
        ):
            sums[place] += levels[byte & 15] * table.scales[row]
            sums[place + 128] += levels[byte >> 4] * table.scales[row]
    length = math.hypot(*sums)
    assert embedder.embed(text) == [component / length for component in sums]
    assert embedder.embed_batch([text] * 64) == [embedder.embed(text)] * 64


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("Where is the password?", "密码在哪里？", "今天下雨。"),
        ("how to delete a file", "Eine Datei löschen", "Das Wetter wird morgen schön."),
        ("open the window", "открыть окно", "цена билета"),
        ("print the document", "दस्तावेज़ छापें", "देश की राजधानी"),
        ("save the image", "حفظ الصورة", "عاصمة البلاد"),
    ],
)
def test_texts_that_mean_the_same_are_near_in_two_languages(
    embedder: MultilingualEmbedder, question: str, near: str, far: str
) -> None:
    asked = embedder.embed(question)
    assert cosine(asked, embedder.embed(near)) > cosine(asked, embedder.embed(far)) + 0.1


@pytest.mark.parametrize("text", ["", " \n", "😀", "ᚠᚢᚦᚨᚱᚲ", "\ud800"])
def test_text_that_the_table_does_not_know_has_no_vector(
    embedder: MultilingualEmbedder, text: str
) -> None:
    assert embedder.embed(text) == []


def test_the_longest_texts_cannot_overflow(embedder: MultilingualEmbedder) -> None:
    short = embedder.embed("密码 password")
    assert embedder.embed("密码 password " * 50_000) == pytest.approx(short, abs=1e-3)


def test_the_english_table_is_refused_and_refuses() -> None:
    english = str(DATA.with_name("builtin.bin"))
    with pytest.raises(ValueError, match="not a table"):
        MultilingualEmbedder(english).dims()
    with pytest.raises(ValueError, match="not a table"):
        BuiltinEmbedder(str(DATA)).dims()


@pytest.mark.parametrize(
    ("text", "provider"),
    [
        ("", "builtin"),
        ("The kettle is green.", "builtin"),
        ("- call Bob\n- GPU: 4x A100\n- deploy v2.1.0", "builtin"),
        ("We moved to São Paulo with the team from Köln; Müller & Söhne pays for it.", "builtin"),
        (GERMAN, "builtin-multilingual"),
        ("La clave del servidor no está en el sótano.", "builtin-multilingual"),
        ("Mật khẩu của máy chủ không ở trong các ghi chú.", "builtin-multilingual"),
        (CHINESE, "builtin-multilingual"),
        ("Сервер стоит в подвале. Log: `ssh gpu-1`", "builtin-multilingual"),
        ("서버는 지하실에 있다", "builtin-multilingual"),
    ],
)
def test_the_table_is_chosen_by_script_and_frequent_words(text: str, provider: str) -> None:
    assert builtin_for([text]) == provider


ENGLISH = "The crane is booked by telephone, and it is on the board in the shed."
POLISH = "Dźwig jest zamawiany telefonicznie i nie ma go na tablicy, ale to jest w szopie."


@pytest.mark.parametrize(
    ("texts", "provider"),
    [
        ([ENGLISH] * 17 + [POLISH] * 3, "builtin"),
        ([ENGLISH] * 16 + [POLISH] * 4, "builtin-multilingual"),
        ([ENGLISH * 100] * 8 + [POLISH] * 2, "builtin-multilingual"),
        (["- GPU: 4x A100"] * 100 + [ENGLISH, POLISH], "builtin-multilingual"),
        (["备份脚本在 NAS 上运行 with the cron job backup.sh every night"], "builtin"),
        (["备份脚本在每天晚上三点运行到存储服务器 cron backup.sh"], "builtin-multilingual"),
    ],
)
def test_documents_are_judged_alone_and_a_sixth_of_them_is_enough(
    texts: list[str], provider: str
) -> None:
    assert builtin_for(texts) == provider


@pytest.mark.parametrize(
    ("text", "provider"),
    [("The password is not here.", "builtin"), (CHINESE, "builtin-multilingual")],
)
@pytest.mark.parametrize("chosen", ["auto", "builtin"])
def test_the_first_ingest_chooses_the_table_and_the_store_keeps_it(
    run: Run, tmp_path: Path, text: str, provider: str, chosen: str
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text(text)
    first = run("ingest", "--path", str(tmp_path / "notes"), "--provider", chosen)
    if chosen == "auto":
        assert ("built-in multilingual model" in first.stderr) == (text == CHINESE)
    for number in range(30):
        (tmp_path / f"notes/{number}.md").write_text(f"Note {number}: the other language. {GERMAN}")
    run("update", "--provider", chosen)
    stats = answer(run("stats", "--provider", chosen))
    assert stats["embeddings"]["provider"] == provider
    assert stats["pending_count"] == 0


def test_unchanged_notes_choose_the_table_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for number in range(8):
        (tmp_path / f"notes/{number}.md").write_text(CHINESE)
    run("ingest", "--path", str(tmp_path / "notes"), "--provider", "none")
    (tmp_path / "notes/new.md").write_text("The password is not here.")
    run("update", "--provider", "auto")
    stats = answer(run("stats", "--provider", "auto"))
    assert stats["embeddings"]["provider"] == "builtin-multilingual"


def test_a_stored_text_chooses_the_table(run: Run) -> None:
    run("store", "--doc-id", "note", "--text", CHINESE, "--provider", "auto")
    run("update", "--provider", "auto")
    stats = answer(run("stats", "--provider", "auto"))
    assert stats["embeddings"]["provider"] == "builtin-multilingual"


def test_settings_change_the_table(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(CHINESE)
    run("ingest", "--path", str(tmp_path / "a.md"), "--provider", "builtin-multilingual")
    found = answer(run("search", "Where is the password?", "--provider", "builtin-multilingual"))
    assert [result["source"] for result in found] == ["vector"]
    run("update", "--provider", "builtin")  # keeps what the store has
    assert answer(run("search", "Where is the password?", "--provider", "builtin")) != []
    run("update", "--provider", "builtin-english")
    english = ("--provider", "builtin-english")
    assert answer(run("search", "Where is the password?", *english)) == []
