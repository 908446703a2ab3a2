"""Which parts of a query filter or leave out in a real store, and which are searched as words."""

import json
from collections.abc import Iterator
from datetime import date
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.search.advice import IF_ABSENT
from hybrid_memory.search.answer import operator_lines
from hybrid_memory.search.request import Request
from hybrid_memory.text.operators import NEEDS_QUOTES
from tests.command import Run

COMMANDS = r"""
rsync -avz /srv nas:/backup
tar -xzf backup.tar.gz
find . -name notes.md -delete
java -jar app.jar -Xmx2g
grep -rni timeout logs
openssl x509 -in cert.pem -noout -dates
terraform apply -auto-approve
go test -run TestLogin -count=1
ffmpeg -i in.mov -vcodec libx264 out.mp4
ssh -vvv deploy@atlas
kubectl get pods -owide
curl -sSL https://get.example.org
psql -Upostgres -dmemory
ls -lah /var
sed -i.bak s/a/b/ hosts
gcc -Wall -Wextra main.c
docker pull app tag:latest
ps -aux
mvn package -DskipTests
python -mvenv env
xargs -0 -n1 rm
nmap -sV -Pn atlas
find / -type f -size +100M
pytest -xvs tests
make -j8 -Bnk
git log --oneline -n20
du -sch /home
chmod -Rv u+x bin
journalctl -fu nginx
netstat -tulpn
mount -oremount,rw /
unzip -qod out a.zip
cut -d: -f1 /etc/passwd
sort -nrk2 sizes.txt
bash -euxo pipefail run.sh
convert in.png -resize 50% out.png
tcpdump -nni eth0 -wout.pcap
redis-cli -hlocalhost -p6380
javac -cp lib -Xlint:all Main.java
helm upgrade web chart -fvalues.yaml
scp -rpC src host:/dst
wget -qO- https://example.org
aws s3 sync . s3://b -acl:private
icacls C:\Users -grant
""".strip().splitlines()
FORMS = ("{}", "how did I use {}", "what does {} do", "how did I use `{}`?")


@pytest.mark.parametrize(("mode", "provider"), [("keyword", "none"), ("hybrid", "builtin")])
def test_a_command_finds_the_note_that_has_it(mode: str, provider: str) -> None:
    """Also beside a note with the metadata that operators ask for."""
    asked = [(form.format(command), command) for command in COMMANDS for form in FORMS]
    with HybridStore(":memory:", {"provider": provider}) as store:
        for command in COMMANDS:
            store.store(command, f"# A command\n\nRun `{command}` and then check the log.\n")
        metadata = {"tags": ["ops"], "status": "open", "date": "2026-03-02"}
        store.store("other", "# Other\n\nThe log of the command was checked.", metadata)
        for query, command in asked:
            assert store.search(query, 1, mode)[0]["doc_id"] == command, query


@pytest.mark.parametrize(
    "text",
    [
        "```bash\n{}\n```\n",
        "# {}\n\nIt runs.\n",
        "- {} — it runs\n",
        "| `{}` | runs |\n",
        '$ {}\n\n("{}")\n',
        "---\ncommand: '{}'\n---\nIt runs.\n",
        "---\nrun:\n  - '{}'\n---\nIt runs.\n",
    ],
)
@pytest.mark.parametrize("command", ["kubectl get pods -owide", "terraform apply -auto-approve"])
def test_an_option_is_a_word_wherever_a_note_has_it(text: str, command: str) -> None:
    with HybridStore(":memory:", {"provider": "none"}) as store:
        store.store("it", text.replace("{}", command))
        assert [hit["doc_id"] for hit in store.search(command)] == ["it"]


NOTES: dict[str, tuple[str, dict[str, object]]] = {
    "daily/2026-03-02": ("Meeting notes: the budget draft.", {"tags": ["ops"], "status": "open"}),
    "daily/2026-04-02": ("Meeting notes: the page cache.", {"tags": ["ops", "gpu"]}),
    "work/plan": ("Notes on the cache of a page, secret.", {"tags": ["gpu"], "status": "done"}),
    "work/log": ("The log said: error: connection refused, status 500. See C:\\Users.", {}),
    "docker": ("Pull with docker pull app tag:latest, or with docker pull app tag:ops.", {}),
}
MARCH, APRIL, PLAN = "daily/2026-03-02", "daily/2026-04-02", "work/plan"


@pytest.fixture
def memory(db_path: str) -> Iterator[HybridStore]:
    with HybridStore(db_path, {"provider": "none"}) as store:
        for name, (text, metadata) in NOTES.items():
            day = name[6:] if name.startswith("daily/") else "2025-12-01"
            store.store(name, text, metadata | {"date": day})
        yield store


def found(store: HybridStore, query: str) -> list[str]:
    return sorted(hit["doc_id"] for hit in store.search(query))


@pytest.mark.parametrize(
    ("query", "expected", "line"),
    [
        ('notes -"draft"', [APRIL, PLAN], 'left out by -"draft"'),
        ('-"draft" notes -"secret"', [APRIL], 'left out by -"draft", -"secret"'),
        ('"meeting notes" -"draft"', [APRIL, PLAN], 'left out by -"draft"'),
        ("notes -“page cache” on", [MARCH, PLAN], 'left out by -"page cache"'),
        ("tag:ops notes", [MARCH, APRIL], "filtered by tag:ops"),
        ('notes tag:"ops"', [MARCH, APRIL], 'filtered by tag:"ops"'),
        ("tag:#OPS tag:gpu notes", [APRIL], "filtered by tag:#OPS, tag:gpu"),
        ("tag:ops OR tag:gpu notes", [APRIL], "filtered by tag:ops, tag:gpu"),
        ("-tag:ops notes", [PLAN], "left out by -tag:ops"),
        ("in:daily notes", [MARCH, APRIL], "filtered by in:daily"),
        ("path:work notes", [PLAN], "filtered by path:work"),
        ("-in:daily notes", [PLAN], "left out by -in:daily"),
        ("where:status=open notes", [MARCH], "filtered by where:status=open"),
        ("where:Status=DONE notes", [PLAN], "filtered by where:Status=DONE"),
        ("-where:status=open notes", [APRIL, PLAN], "left out by -where:status=open"),
        ("before:2026-04 notes", [MARCH, PLAN], "filtered by before:2026-04"),
        ("after:2026-04 notes", [APRIL], "filtered by after:2026-04"),
        ("date:2026-04 notes", [APRIL], "filtered by date:2026-04"),
        ('in:daily notes -"draft"', [APRIL], 'filtered by in:daily; left out by -"draft"'),
    ],
)
def test_an_operator_acts_and_is_reported(
    memory: HybridStore, query: str, expected: list[str], line: str
) -> None:
    assert found(memory, query) == expected
    assert memory.warnings == [line]
    answer = memory.answer(query, Request())
    assert operator_lines(answer.operators) == [line]
    assert all(result["operators"] == answer.operators for result in answer.results)


@pytest.mark.parametrize(
    ("query", "first", "reason"),
    [
        ("error:connection refused", "work/log", None),
        ("status:500 connection", "work/log", None),
        (
            "docker pull app tag:latest",
            "docker",
            "'tag:latest' is a filter only before the words, or as tag:\"latest\"",
        ),
        ("before:lunch meeting", MARCH, "'before:lunch' has no date after the colon"),
        ("secret -secret", PLAN, NEEDS_QUOTES),
    ],
)
def test_what_only_looks_like_an_operator_is_words_and_is_reported(
    memory: HybridStore, query: str, first: str, reason: str | None
) -> None:
    answer = memory.answer(query, Request())
    assert answer.results[0]["doc_id"] == first
    assert memory.warnings == ([f"{reason}: searched for the words"] if reason else [])
    assert answer.operators["filters"] == answer.operators["without"] == []


def test_a_filter_that_no_document_matches_finds_nothing_and_names_what_there_is(
    memory: HybridStore,
) -> None:
    for query, options in (
        ("tag:latest docker", {}),
        ("docker", {"tags": ["latest"]}),
    ):
        memory.warnings.clear()
        assert memory.search(query, **options) == []
        assert "no document has the tag 'latest'; there are gpu, ops" in memory.warnings
    assert memory.search("where:status=500 refused") == []
    assert "no document has '500' as its 'status'" in memory.warnings
    assert memory.search("after:2026-04 before:2026-04 notes") == []
    assert memory.warnings[-2:] == [
        "since (2026-04) is after until (2026-03-31)",
        "filtered by after:2026-04, before:2026-04",
    ]


def test_recall_and_fts_syntax_have_no_operators(memory: HybridStore) -> None:
    answer = memory.answer('tag:ops notes -"draft"', Request(literal=True))
    assert {hit["doc_id"] for hit in answer.results} >= {MARCH, APRIL, PLAN}
    assert memory.answer("notes NOT draft", Request(fts_syntax=True)).operators == answer.operators
    assert not any(answer.operators.values())


def test_ages_are_counted_from_the_day_of_the_search(memory: HybridStore) -> None:
    found = memory.search("after:7d notes", today=date(2026, 4, 3))
    assert [hit["doc_id"] for hit in found] == [APRIL]


def test_a_long_list_of_operators_is_a_short_line(memory: HybridStore) -> None:
    memory.search("notes " + " ".join(f'-"word{number}"' for number in range(30)))
    [line] = memory.warnings
    assert line.endswith('-"word7" and 22 more')
    memory.warnings.clear()
    memory.search("notes " + " ".join(f"tag:x{number}" for number in range(30)))
    assert len(memory.warnings) == 4


WORDS = ("rsync", "draft", "notes", "owide", "cats")
OPTIONS = ("-draft", "-owide", "-notes", "-la", "--draft", "-rsync", "-ca", "-")


@settings(max_examples=30)
@given(
    notes=st.lists(st.lists(st.sampled_from(WORDS + OPTIONS), min_size=1), min_size=1, max_size=4),
    query=st.lists(st.sampled_from(WORDS + OPTIONS), min_size=1, max_size=5),
)
def test_words_and_options_have_an_answer_where_a_note_has_one_of_them(
    notes: list[list[str]], query: list[str]
) -> None:
    bare = {word.strip("-") for word in query} - {""}
    known = {word.strip("-") for word in chain.from_iterable(notes)}
    with HybridStore(":memory:", {"provider": "none"}) as store:
        for number, words in enumerate(notes):
            store.store(f"n{number}", " ".join(words))
        if bare & known:
            assert store.search(" ".join(query))


def test_the_command_reports_operators_in_a_line_and_with_full_in_a_key(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.md").write_text("---\ntags: ops\n---\nserver of cats\n")
    (tmp_path / "v" / "b.md").write_text("server of dogs\n")
    run("ingest", "--path", "v", "--provider", "none")

    def search(*arguments: str) -> tuple[list[dict[str, object]], str]:
        done = run("search", *arguments, "--provider", "none")
        assert done.returncode == 0
        assert run("search", *arguments, "--provider", "none", "--quiet").stderr == ""
        lines = done.stderr.splitlines(keepends=True)
        told = [line for line in lines if IF_ABSENT not in line and "only faint" not in line]
        return json.loads(done.stdout), "".join(told)

    reason = "'tag:b' is a filter only before the words, or as tag:\"b\""
    results, told = search("tag:ops server tag:b", "--full")
    assert told.splitlines() == [
        "hybrid-memory: filtered by tag:ops",
        f"hybrid-memory: {reason}: searched for the words",
    ]
    assert [result["operators"] for result in results] == [
        {"filters": ["tag:ops"], "without": [], "words": {"tag:b": reason}}
    ]
    results, told = search('server -"cats"')
    assert told == 'hybrid-memory: left out by -"cats"\n'
    assert "operators" not in results[0]
    results, told = search("server", "--full")
    assert told == ""
    assert all("operators" not in result for result in results)


def test_a_budget_counts_the_key(run: Run) -> None:
    for name in "abc":
        run("store", "--doc-id", name, "--text", f"server {name}", "--provider", "none")
    usual = [
        "search",
        'server -"nosuch" -"nothing"',
        "--full",
        "--format",
        "json",
        "--provider",
        "none",
    ]
    whole = len(run(*usual).stdout)
    assert len(run(*usual, "--budget", str(whole - 1)).stdout) < whole
    assert len(json.loads(run(*usual, "--budget", str(whole)).stdout)) == 3
