"""A word with a sign at an end: the passages that have exactly this come first."""

from itertools import pairwise

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.text.equality import as_written
from hybrid_memory.text.query import Query

CASES = [  # (query, the text that has it, a text with the bare word twice)
    (".NET", "We target .NET on the build box.", "The net was torn, and the net profit fell."),
    (".env", "Put the key into .env next to compose.", "Each env has an env of its own."),
    ("$HOME", "Set $HOME first of all.", "My home has a home office."),
    ("@maria", "Ask @maria about it.", "Maria came, and Maria left."),
    ("__init__", "Edit __init__ then.", "The init calls init again."),
    ("~/bin", "Put it into ~/bin then.", "A bin, and bin day."),
    ("/etc", "Look into /etc then.", "Nails, screws, etc. and paint etc."),
    ("#42", "Fixed in #42.", "It is 42, and 42 again."),
    ("C++", "We learned C++ there.", "Vitamin C and C and C major."),
    ("C#", "We learned C# there.", "Vitamin C and C and C major."),
    ("--force", "Use --force here.", "The force of the force."),
    ("F#", "We use F# there.", "The key of F, and F again."),
    ("*.log", "Ignore *.log there.", "The log of the log."),
    ("::before", "Use ::before there.", "It was before, and before that."),
    ("what does --force do?", "It is --force that does it.", "What does it do? Force, force."),
]


@pytest.mark.parametrize(("query", "exact", "bare"), CASES)
def test_what_is_written_so_comes_first(
    store: HybridStore, query: str, exact: str, bare: str
) -> None:
    texts = {"exact": exact, "bare": bare}
    texts |= {f"n{n}": f"The garden plan {n} changed on Monday." for n in range(9)}
    with store.storage.transaction():
        for doc_id, text in texts.items():
            store.storage.documents.put(store.prepare(Document(doc_id, text, {})), {})
    store.embed()
    for mode in ("keyword", "hybrid"):
        hits = store.search(query, 2, mode=mode)
        assert hits[0]["doc_id"] == "exact", mode
        assert all(first["score"] >= second["score"] for first, second in pairwise(hits))


@pytest.mark.parametrize(
    "text",
    [
        'Is it "done"? (See notes.) Yes, (see notes). e.g. here: a-b, v2.0, don\'t!',
        "متى وصلت السفينة إلى إنجلترا؟ نعم، هنا؛ «هناك».",
        "¿Cuándo llegó? ¡Ya! “Sí”… —dijo— «bien».",
        "y. pestis इंग्लैंड कब पहुँचा? यह है।",
        "โลโก้ของเอบีซีในแคมเปญจ์ปี 2000 มีชื่อเล่นว่าอะไร ฯ",
        "《马斯特里赫特条约》是什么时候签署的？「对」。【注】、（好）！",
        "Τι σημαίνει· αυτό; Ναι.",
        "Pourquoi ? C’est « fini » … oui ; non !",
    ],
)
def test_a_sign_of_the_sentence_belongs_to_no_word(text: str) -> None:
    assert Query(text, is_literal=True).symbol_words == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("¿Qué es C++?", "c++"),
        ("ما هي C++؟", "c++"),
        ("【C#】 是什么？", "c#"),
        ("(Is it .NET).", ".net"),
        ("--force…", "--force"),
    ],
)
def test_the_sign_of_a_word_stays_beside_those_of_the_sentence(text: str, word: str) -> None:
    assert Query(text, is_literal=True).symbol_words == [word]


@pytest.mark.parametrize(
    ("word", "text", "is_there"),
    [
        (".env", "read .env now", True),
        (".env", "process.env now", False),
        ("c+", "c++ code", False),
        ("c++", "(c++)", True),
        ("--force", "---force", False),
        ("__init__", "pkg/__init__.py", True),
        ("/etc", "usr/etc", False),
    ],
)
def test_a_word_with_signs_in_a_text(word: str, text: str, is_there: bool) -> None:
    assert (as_written(word).search(text) is not None) is is_there
