"""The table of languages: what it must hold, and that another language needs nothing but an entry."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hybrid_memory
from hybrid_memory.text.languages import (
    FILE,
    folded,
    full_names,
    function_words,
    languages,
    numbered,
)

LENGTHS = {"months": 12, "weekdays": 7, "numbers": 10}
PARTS = {"ago": ("{number}", "{unit}"), "weekday": ("{day}",)}
POLISH = {
    "months": [
        *("styczeń stycznia", "luty lutego", "marzec marca", "kwiecień kwietnia", "maj maja"),
        *("czerwiec czerwca", "lipiec lipca", "sierpień sierpnia", "wrzesień września"),
        *("październik października", "listopad listopada", "grudzień grudnia"),
    ],
    "weekdays": [
        *("poniedziałek", "wtorek", "środa środę", "czwartek", "piątek", "sobota sobotę"),
        "niedziela niedzielę",
    ],
    "ordinals": ["."],
    "of": ["roku"],
    "numbers": [
        *("jeden", "dwa dwie", "trzy", "cztery", "pięć", "sześć", "siedem", "osiem", "dziewięć"),
        "dziesięć",
    ],
    "units": {
        "day": "dzień dni",
        "week": "tydzień tygodnie",
        "month": "miesiąc",
        "year": "rok lat",
    },
    "ago": ["{number} {unit} temu"],
    "relative": {"day": {"1": ["wczoraj"]}, "week": {"1": ["zeszłym tygodniu"]}},
    "weekday": {"on": ["w {day}"], "last": ["w zeszły {day}"], "next": ["w przyszły {day}"]},
    "beside": {"-1": ["dzień przed"]},
    "date_labels": ["data"],
    "since": ["od"],
    "between": ["między"],
    "and": ["a", "do"],
    "function_words": ["co był była było jak kiedy na o się w z"],
    "abbreviations": ["np"],
    "abbreviations_before_numbers": ["rys"],
    "speakers": {"user": ["użytkownik"], "assistant": ["asystent"]},
}
# What a program says that reads texts with every kind of words
PROGRAM = """
import json
from datetime import date
from hybrid_memory import HybridStore
from hybrid_memory.documents.conversations import conversation
from hybrid_memory.text.sentences import ends_sentence
from hybrid_memory.text.characters import fold
from hybrid_memory.text.dates import document_date
from hybrid_memory.text.languages import full_names
from hybrid_memory.text.periods import mentions, periods
from hybrid_memory.text.query import Query

TODAY = date(2026, 4, 15)  # a Wednesday
QUERIES = [
    "8 marca 2026", "8. marca roku 2026", "3 do 5 maja 2025", "trzy dni temu", "wczoraj", "w piątek", "w zeszły piątek",
    "w zeszłym tygodniu", "od 2 stycznia 2026", "dzień przed 8 marca 2026", "między 2 marca 2026 a 4 marca 2026",
]
told = {
    query: [(found.first, found.last) for found in periods(fold(query).lower(), TODAY)]
    for query in QUERIES
}
told["plan"] = [found.first for found in mentions(fold("w przyszły piątek").lower(), TODAY)]
told["words"] = [term.tokens[0] for term in Query("kiedy było o koncercie").words]
told["ends"] = [
    ends_sentence(f"{first} {second}", len(first))
    for first, second in (("Kup owoce np.", "Jabłka"), ("Zobacz rys.", "5"), ("Koniec.", "Potem"))
]
told["roles"] = [turn.role for turn in conversation("Użytkownik: Gdzie?\\n\\nAsystent: Tam.")]
told["date"] = document_date("a.md", {}, text="**Data:** 8 marca 2026")
told["names"] = full_names("months", "pl")[2:4]
with HybridStore(":memory:", {"provider": "none"}) as store:
    store.store("a", "Dnia 8 marca 2026 był koncert")
    store.store("b", "Dnia 9 marca 2026 była zima")
    told["found"] = [hit["doc_id"] for hit in store.search("2026-03-08")]
print(json.dumps(told))
"""


def test_another_language_is_an_entry_of_the_table(tmp_path: Path) -> None:
    package = tmp_path / "hybrid_memory"
    left_out = shutil.ignore_patterns("page", "__pycache__")
    shutil.copytree(Path(hybrid_memory.__file__).parent, package, ignore=left_out)
    table = json.loads(Path(FILE).read_text(encoding="utf-8"))
    table["pl"] |= POLISH
    (package / "text" / "languages.json").write_text(json.dumps(table), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "8 marca 2026": [["2026-03-08", "2026-03-08"]],
        "8. marca roku 2026": [["2026-03-08", "2026-03-08"]],
        "3 do 5 maja 2025": [["2025-05-03", "2025-05-05"]],
        "trzy dni temu": [["2026-04-12", "2026-04-12"]],
        "wczoraj": [["2026-04-14", "2026-04-14"]],
        "w piątek": [["2026-04-10", "2026-04-10"]],
        "w zeszły piątek": [["2026-04-10", "2026-04-10"]],
        "w zeszłym tygodniu": [["2026-04-06", "2026-04-12"]],
        "od 2 stycznia 2026": [["2026-01-02", "2026-04-15"]],
        "dzień przed 8 marca 2026": [["2026-03-07", "2026-03-07"]],
        "między 2 marca 2026 a 4 marca 2026": [["2026-03-02", "2026-03-04"]],
        "plan": ["2026-04-17"],
        "words": ["koncercie"],
        "ends": [False, False, True],
        "roles": ["user", "assistant"],
        "date": "2026-03-08",
        "names": ["marzec", "kwiecień"],
        "found": ["a"],
    }


@pytest.mark.parametrize("code", languages())
def test_an_entry_is_whole(code: str) -> None:
    language = languages()[code]
    for kind, length in LENGTHS.items():
        assert len(language.get(kind, ["x"] * length)) == length, kind
    for kind, parts in PARTS.items():
        templates = language.get(kind, [])
        if isinstance(templates, dict):
            templates = [template for written in templates.values() for template in written]
        for template in templates:
            assert all(part in template for part in parts), template
    assert "ago" not in language or "units" in language
    assert set(language) <= set().union(*(languages()[code] for code in ("en", "fr", "zh"))), (
        "another kind of words needs code that reads it"
    )


@pytest.mark.parametrize("kind", LENGTHS)
def test_no_word_is_two_numbers(kind: str) -> None:
    for code, language in languages().items():
        for number, forms in enumerate(language.get(kind, []), 1):
            for word in folded(forms).split():
                assert numbered(kind)[word] == number, (code, word)


def test_names_are_as_they_are_written() -> None:
    assert full_names("months", "de")[2] == "März"
    assert full_names("weekdays", "pt")[0] == "segunda-feira"


@pytest.mark.parametrize("code", ["en", "de", "fr", "es", "it", "nl", "pt"])
def test_function_words_are_single_words(code: str) -> None:
    assert len(function_words()[code]) >= 10
    assert all(word.isalpha() or "'" in word for word in function_words()[code])
