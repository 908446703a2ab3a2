"""Which parts of a query filter or leave out in a real store, and which are searched as words."""

import json
from collections.abc import Iterator
from datetime import date
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.errors import QueryError
from hybrid_memory.search.answer import operator_lines
from hybrid_memory.search.request import Request
from hybrid_memory.storage.filters import Filters
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


@pytest.fixture(scope="module", params=["keyword", "hybrid"])
def cheat_sheets(request: pytest.FixtureRequest) -> Iterator[tuple[HybridStore, str]]:
    """A note for each command, and one with the metadata that operators ask for."""
    provider = "none" if request.param == "keyword" else "builtin"
    with HybridStore(":memory:", {"provider": provider}) as store:
        for command in COMMANDS:
            store.store(command, f"# A command\n\nRun `{command}` and then check the log.\n")
        metadata = {"tags": ["ops"], "status": "open", "date": "2026-03-02"}
        store.store("other", "# Other\n\nThe log of the command was checked.", metadata)
        yield store, request.param


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_finds_the_note_that_has_it(
    cheat_sheets: tuple[HybridStore, str], command: str
) -> None:
    store, mode = cheat_sheets
    for form in FORMS:
        results = store.search(form.format(command), mode=mode)
        assert results[0]["doc_id"] == command


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


@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("query", "expected", "line"),
    [
        ("notes -draft", [APRIL, PLAN], "left out by -draft"),
        ("-draft notes", [APRIL, PLAN], "left out by -draft"),
        ("-draft notes -secret", [APRIL], "left out by -draft, -secret"),
        ("notes -draft -secret", [APRIL], "left out by -draft, -secret"),
        ('"meeting notes" -draft', [APRIL, PLAN], "left out by -draft"),
        ('notes -"page cache"', [MARCH, PLAN], 'left out by -"page cache"'),
        ('-"page cache" notes', [MARCH, PLAN], 'left out by -"page cache"'),
        ("notes -“page cache” on", [MARCH, PLAN], 'left out by -"page cache"'),
        ("notes tag:ops", [MARCH, APRIL], "filtered by tag:ops"),
        ("notes tag:#OPS tag:gpu", [APRIL], "filtered by tag:#OPS, tag:gpu"),
        ("notes tag:ops OR tag:gpu", [APRIL], "filtered by tag:ops, tag:gpu"),
        ("notes -tag:ops", [PLAN], "left out by -tag:ops"),
        ("-tag:ops notes", [PLAN], "left out by -tag:ops"),
        ("notes in:daily", [MARCH, APRIL], "filtered by in:daily"),
        ("notes path:work", [PLAN], "filtered by path:work"),
        ("notes -in:daily", [PLAN], "left out by -in:daily"),
        ("notes status:open", [MARCH], "filtered by status:open"),
        ("notes Status:DONE", [PLAN], "filtered by Status:DONE"),
        ("notes -status:open", [APRIL, PLAN], "left out by -status:open"),
        ("notes before:2026-04", [MARCH, PLAN], "filtered by before:2026-04"),
        ("notes after:2026-04", [APRIL], "filtered by after:2026-04"),
        ("notes date:2026-04", [APRIL], "filtered by date:2026-04"),
        ("notes in:daily -draft", [APRIL], "filtered by in:daily; left out by -draft"),
        ("notes -draft tag:gpu", [APRIL, PLAN], "filtered by tag:gpu; left out by -draft"),
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


@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("query", "first", "reason"),
    [
        ("error:connection refused", "work/log", "no document has 'error' in its metadata"),
        ("status:500 connection", "work/log", "no document has '500' as its 'status'"),
        (
            "path:C:\\Users",
            "work/log",
            "no id is like 'C:\\\\Users' (there are daily, work, docker)",
        ),
        (
            "docker pull app tag:latest",
            "docker",
            "no document has the tag 'latest' (there are gpu, ops)",
        ),
        ("docker pull app tag:ops", "docker", "a passage contains 'tag:ops' and the other words"),
        ("meeting date:2020-01", MARCH, "no document matches 'date:2020-01'"),
        ("meeting before:lunch", MARCH, "'before:lunch' is not a date"),
        ("secret -secret", PLAN, "'-secret' would leave no result"),
    ],
)
def test_what_only_looks_like_an_operator_is_words_and_is_reported(
    memory: HybridStore, query: str, first: str, reason: str
) -> None:
    assert found(memory, query)
    assert memory.warnings == [f"{reason}: searched for the words"]
    answer = memory.answer(query, Request())
    assert answer.results[0]["doc_id"] == first
    assert answer.operators["filters"] == answer.operators["without"] == []
    assert list(answer.operators["words"].values()) == [reason]


def test_words_that_nobody_takes_for_operators_are_not_reported(memory: HybridStore) -> None:
    for query in ("docker pull", "notes -draft about cats", "docker -a --rm app", "see http://a.b"):
        memory.search(query)
    assert all("operators" not in hit for hit in memory.search("notes -draft about cats"))
    assert memory.warnings == []


def test_filters_that_are_given_as_options_stay_filters(memory: HybridStore) -> None:
    assert memory.search("docker pull", tags=["latest"]) == []
    assert memory.search("connection refused", where={"status": "500"}) == []
    assert memory.warnings == [
        "no document has the tag 'latest'; there are gpu, ops",
        "no document has '500' as its 'status'",
    ]
    # The query's own filter is clear, although no document fulfils both
    assert memory.search("notes tag:gpu", tags=["nosuch"]) == []


def test_filters_that_exclude_each_other_stay_filters(memory: HybridStore) -> None:
    assert memory.search("notes after:2026-04 before:2026-04") == []
    assert memory.warnings == [
        "nothing can be since 2026-04 and until 2026-03-31: the first is later",
        "filtered by after:2026-04, before:2026-04",
    ]


def test_recall_and_fts_syntax_have_no_operators(memory: HybridStore) -> None:
    answer = memory.answer("notes -draft tag:ops", Request(literal=True))
    assert {hit["doc_id"] for hit in answer.results} >= {MARCH, APRIL, PLAN}
    assert memory.answer("notes NOT draft", Request(fts_syntax=True)).operators == answer.operators
    assert not any(answer.operators.values())


def test_ages_are_counted_from_the_day_of_the_search(memory: HybridStore) -> None:
    found = memory.search("notes after:7d", today=date(2026, 4, 3))
    assert [hit["doc_id"] for hit in found] == [APRIL]


@pytest.mark.both_engines
def test_nothing_beyond_a_servers_bounds_decides(memory: HybridStore) -> None:
    memory.store("daily/x", "the meeting about kubectl")
    memory.store("work/kubectl", "kubectl get -owide", {"tags": ["k8s"], "cluster": "a"})
    bounds = Filters(within="daily")
    for query in ("kubectl tag:k8s", "kubectl cluster:a", "kubectl -owide"):
        assert [hit["doc_id"] for hit in memory.search(query, filters=bounds)] == ["daily/x"]
    assert memory.warnings == [
        "no document has the tag 'k8s': searched for the words",
        "no document has 'cluster' in its metadata: searched for the words",
        "left out by -owide",
    ]


def test_a_long_list_of_operators_is_a_short_line(memory: HybridStore) -> None:
    memory.search("notes " + " ".join(f"-word{number}" for number in range(30)))
    [line] = memory.warnings
    assert line.endswith("-word7 and 22 more")
    memory.warnings.clear()
    memory.search("notes " + " ".join(f"key{number}:x" for number in range(30)))
    assert len(memory.warnings) == 4
    with pytest.raises(QueryError, match="more than 200 filters with a minus"):
        memory.search("notes " + " ".join(f"-tag:t{number}" for number in range(201)))


WORDS = ("rsync", "draft", "notes", "owide", "cats")
OPTIONS = ("-draft", "-owide", "-notes", "-la", "--draft", "-rsync", "-ca", "-")


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@given(
    notes=st.lists(st.lists(st.sampled_from(WORDS + OPTIONS), min_size=1), min_size=1, max_size=4),
    query=st.lists(st.sampled_from(WORDS + OPTIONS), min_size=1, max_size=5),
)
def test_words_and_options_have_an_answer_where_a_note_has_one_of_them(
    mode: str, notes: list[list[str]], query: list[str]
) -> None:
    bare = {word.strip("-") for word in query} - {""}
    known = {word.strip("-") for word in chain.from_iterable(notes)}
    with HybridStore(":memory:", {"provider": "none"}) as store:
        for number, words in enumerate(notes):
            store.store(f"n{number}", " ".join(words))
        if bare & known:
            assert store.search(" ".join(query), mode=mode)


def test_the_command_reports_operators_in_a_line_and_with_full_in_a_key(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.md").write_text("---\ntags: ops\n---\nserver of cats\n")
    (tmp_path / "v" / "b.md").write_text("server of dogs\n")
    run("ingest", "--path", "v", "--provider", "none")

    def search(*arguments: str) -> tuple[list[dict[str, object]], str]:
        done = run("search", *arguments, "--provider", "none", "--quiet")
        assert done.returncode == 0
        return json.loads(done.stdout), done.stderr

    results, told = search("server tag:ops tag:nosuch", "--full")
    assert told.splitlines() == [
        "hybrid-memory: filtered by tag:ops",
        "hybrid-memory: no document has the tag 'nosuch' (there are ops): searched for the words",
    ]
    assert [result["operators"] for result in results] == [
        {
            "filters": ["tag:ops"],
            "without": [],
            "words": {"tag:nosuch": "no document has the tag 'nosuch' (there are ops)"},
        }
    ]
    results, told = search("server -cats")
    assert told == "hybrid-memory: left out by -cats\n"
    assert "operators" not in results[0]
    results, told = search("server", "--full")
    assert told == ""
    assert all("operators" not in result for result in results)


def test_a_budget_counts_the_key(run: Run) -> None:
    for name in "abc":
        run("store", "--doc-id", name, "--text", f"server {name}", "--provider", "none")
    usual = [
        "search",
        "server -nosuch -nothing",
        "--full",
        "--format",
        "json",
        "--provider",
        "none",
    ]
    whole = len(run(*usual).stdout)
    assert len(run(*usual, "--budget", str(whole - 1)).stdout) < whole
    assert len(json.loads(run(*usual, "--budget", str(whole)).stdout)) == 3
