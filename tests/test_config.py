import json
import os
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import ConfigError, addresses, config, paths
from hybrid_memory.addresses import without_password
from hybrid_memory.errors import UsageError
from tests.command import in_process


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation that is no checkout, with an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(paths, "CHECKOUT", str(tmp_path / "site-packages"))
    return tmp_path


def write(path: Path, values: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = values if isinstance(values, str | bytes) else json.dumps(values)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_each_layer_wins_over_the_one_before(home: Path) -> None:
    file = write(
        home / "c.json", {"chunk_size": 400, "model": "from-file", "ollama_url": "http://file:1"}
    )
    environ = {"HYBRID_MEMORY_MODEL": "from-env", "HYBRID_MEMORY_OLLAMA_URL": "http://env:1"}
    settings = config.load(file, {"ollama_url": "http://option:1"}, environ)
    assert (settings["cache_size"], settings["chunk_size"]) == (256, 400)
    assert (settings["model"], settings["ollama_url"]) == ("from-env", "http://option:1")


@pytest.mark.parametrize("layer", ["file", "environment", "options"])
def test_a_layer_that_names_a_model_without_dims_leaves_dims_to_the_model(
    home: Path, layer: str
) -> None:
    file = write(home / "c.json", {"model": "m"} if layer == "file" else {})
    environ = {"HYBRID_MEMORY_MODEL": "m"} if layer == "environment" else {}
    settings = config.load(file, {"model": "m"} if layer == "options" else {}, environ)
    assert settings["dims"] is None
    assert config.load(write(home / "d.json", {"model": "m", "dims": 12}), {}, {})["dims"] == 12


@pytest.mark.parametrize(
    ("word", "value"),
    [("true", True), ("1", True), ("YES", True), ("off", False), ("0", False), ("No", False)],
)
def test_a_switch_in_the_environment_is_a_word(home: Path, word: str, value: bool) -> None:
    file = write(home / "c.json", {"refresh": not value})
    assert config.load(file, {}, {"HYBRID_MEMORY_REFRESH": word})["refresh"] is value
    with pytest.raises(ConfigError, match="HYBRID_MEMORY_REFRESH='maybe' is not true or false"):
        config.load(file, {}, {"HYBRID_MEMORY_REFRESH": "maybe"})


def test_ollama_host_is_the_url_unless_ours_is_set(home: Path) -> None:
    assert config.load(None, {}, {"OLLAMA_HOST": "gpu:1"})["ollama_url"] == "gpu:1"
    file = write(home / "c.json", {"ollama_url": "http://file:1"})
    assert config.load(file, {}, {"OLLAMA_HOST": "gpu:1"})["ollama_url"] == "http://file:1"
    both = {"OLLAMA_HOST": "gpu:1", "HYBRID_MEMORY_OLLAMA_URL": "http://gpu:2"}
    assert config.load(None, {}, both)["ollama_url"] == "http://gpu:2"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"chunk_sise": 5}, "unknown key 'chunk_sise'"),
        ({"chunk_size": "512"}, "chunk_size in .* is '512', not a whole number"),
        ({"chunk_size": True}, "chunk_size in .* is True, not a whole number"),
        ({"keyword_weight": -1}, "must be at least 0"),
        ({"keyword_weight": 0, "vector_weight": 0}, "both 0"),
        (
            {"chunk_overlap": 512},
            r"chunk_overlap \(512, from .*\) must be less than chunk_size \(512, from the defaults\)",
        ),
        ({"query_prompt": "no place"}, "query_prompt in .* does not contain {text}"),
        ({"ollama_url": None}, "ollama_url in .* is None"),
        ({"provider": "cohere"}, "provider in .* is .cohere., not one of auto, "),
        ([1], "one JSON object"),
        ("{", "is not valid JSON: Expecting"),
        ('{"dims": 1, "dims": 2}', "the key 'dims' appears twice"),
        (b'{"model": "\xff"}', "is not UTF-8 at byte 11"),
        ({"model": "a\0b"}, "model in .* is .*; it contains an invalid character"),
        ({"ollama_url": "\ud800"}, "ollama_url in .* is .*; it contains an invalid character"),
        ({"db_path": "\ud800"}, "db_path in .* contains an invalid character"),
        ({"db_path": "a\0b"}, "db_path in .* contains an invalid character"),
        ({"chunk_size": 1.5}, "chunk_size in .* is 1.5, not a whole number"),
        ({"refresh": 1}, "refresh in .* is 1, not true or false"),
        ({"min_score": 1.5}, "min_score in .* must be at least 0 and at most 1$"),
        ({"per_doc": "2"}, "per_doc in .* is '2', not a whole number"),
        ({"date_keys": ["a", 1]}, "date_keys in .*, not a list of strings"),
        ({"provider": [[[[[1]]]]]}, "provider in .*, not a string"),
    ],
)
def test_a_bad_config_file_is_named_with_what_is_wrong(
    home: Path, values: Any, message: str
) -> None:
    file = write(home / "bad.json", values)
    with pytest.raises(ConfigError, match=message) as error:
        config.load(file, {}, {})
    assert "bad.json" in str(error.value) or "both 0" in message
    assert not isinstance(error.value, UsageError)


NUMBERS = [key.name for key in config.KEYS.values() if key.type in (int, float)]


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("value", ["1e400", "-1" + "0" * 400, str(2**64 + 1), str(10**9 + 1)])
def test_a_number_that_is_too_large_is_named_with_its_bounds(
    home: Path, key: str, value: str
) -> None:
    with pytest.raises(
        ConfigError, match=f"{key} in .* must be at least [01] and at most (1|1,000,000,000)$"
    ):
        config.load(write(home / "c.json", f'{{"{key}": {value}}}'), {}, {})
    with pytest.raises(ConfigError, match=f"(?i){key}"):
        config.load(None, {}, {f"HYBRID_MEMORY_{key.upper()}": value})
    with pytest.raises(UsageError, match=key):
        config.load(None, {key: json.loads(value)}, {})


@pytest.mark.parametrize("key", NUMBERS)
def test_a_number_that_is_none_is_named(home: Path, key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} in .* is nan, not a"):
        config.load(write(home / "c.json", f'{{"{key}": NaN}}'), {}, {})
    with pytest.raises(ConfigError, match="Exceeds the limit"):
        config.load(write(home / "c.json", f'{{"{key}": {"1" * 5000}}}'), {}, {})


def test_a_path_that_is_not_unicode_is_a_path(home: Path) -> None:
    path = os.fsdecode(b"/tmp/\xff.db")
    assert config.load(None, {}, {"HYBRID_MEMORY_DB_PATH": path})["db_path"] == path


def test_a_config_file_that_cannot_be_read_is_named(home: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the config file .*none.json: No such file"):
        config.load(str(home / "none.json"), {}, {})
    with pytest.raises(ConfigError, match="also-none.json"):
        config.load(None, {}, {"HYBRID_MEMORY_CONFIG": str(home / "also-none.json")})


def test_a_list_in_the_environment_has_commas(home: Path) -> None:
    assert config.load(None, {}, {"HYBRID_MEMORY_DATE_KEYS": "begun, date"})["date_keys"] == [
        "begun",
        "date",
    ]


def test_a_bad_variable_is_named(home: Path) -> None:
    with pytest.raises(ConfigError, match="HYBRID_MEMORY_CHUNK_SIZE='big' is not a whole number"):
        config.load(None, {}, {"HYBRID_MEMORY_CHUNK_SIZE": "big"})


def test_a_conflict_that_an_option_takes_part_in_is_a_usage_error(home: Path) -> None:
    with pytest.raises(UsageError, match="chunk_overlap"):
        config.load(None, {"chunk_size": 10}, {})
    assert (
        config.load(
            None, {"chunk_size": 10, "chunk_overlap": 0}, {"HYBRID_MEMORY_CHUNK_OVERLAP": "600"}
        )["chunk_size"]
        == 10
    )


def test_relative_database_in_a_config_file_is_relative_to_that_file(home: Path) -> None:
    assert config.load(write(home / "sub/c.json", {"db_path": "x.db"}), {}, {})["db_path"] == str(
        home / "sub/x.db"
    )
    assert config.load(None, {"db_path": "x.db"}, {})["db_path"] == "x.db"


def test_installed_package_keeps_its_files_where_xdg_says(home: Path) -> None:
    assert config.load(None, {}, {})["db_path"] == str(
        home / ".local/share/hybrid-memory/hybrid_search.db"
    )
    assert (
        config.load(None, {}, {"XDG_DATA_HOME": "/d"})["db_path"]
        == "/d/hybrid-memory/hybrid_search.db"
    )
    assert config.load(None, {}, {"XDG_DATA_HOME": "relative"})["db_path"].startswith(str(home))
    write(home / ".config/hybrid-memory/config.json", {"model": "mine"})
    assert config.load(None, {}, {})["model"] == "mine"


def test_checkout_has_its_database_and_config_beside_the_project_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CHECKOUT", str(tmp_path))
    write(tmp_path / "pyproject.toml", "")
    assert config.load(None, {}, {})["db_path"] == str(tmp_path / "data/hybrid_search.db")
    write(tmp_path / "config.json", {"model": "checkout", "db_path": "data/other.db"})
    assert config.load(None, {}, {})["model"] == "checkout"
    assert config.load(None, {}, {})["db_path"] == str(tmp_path / "data/other.db")


def test_config_file_of_the_working_directory_is_never_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = home / "work"
    write(work / "config.json", {"model": "planted"})
    monkeypatch.chdir(work)
    assert config.load(None, {}, {})["model"] == config.DEFAULTS["model"]
    assert os.getcwd() not in config.load(None, {}, {})["db_path"]


def test_a_layer_that_names_a_provider_leaves_model_and_dims_to_it(home: Path) -> None:
    file = write(home / "c.json", {"model": "m", "dims": 5})
    settings = config.load(file, {"provider": "voyage"}, {})
    assert (settings["model"], settings["dims"]) == (None, None)
    assert (
        config.load(file, {"provider": "voyage", "model": "voyage-4-lite"}, {})["model"]
        == "voyage-4-lite"
    )


@pytest.mark.parametrize(
    ("file", "environ", "options", "provider"),
    [
        ({}, {}, {}, "auto"),
        ({"provider": "auto", "model": "m"}, {}, {}, "auto"),
        ({"provider": "auto"}, {"HYBRID_MEMORY_OLLAMA_URL": "gpu"}, {}, "auto"),
        ({"provider": "builtin"}, {"OLLAMA_HOST": "gpu"}, {}, "builtin"),
        (
            {"ollama_url": "http://localhost:11434", "model": "nomic-embed-text", "dims": 768},
            {},
            {},
            "auto",
        ),
        ({"model": "m"}, {}, {"provider": "auto"}, "auto"),
        ({"provider": "ollama"}, {}, {}, "ollama"),
        ({}, {"HYBRID_MEMORY_MODEL": "m"}, {}, "ollama"),
        ({}, {"OLLAMA_HOST": "gpu"}, {}, "auto"),
        ({}, {}, {"ollama_url": "http://gpu:1"}, "ollama"),
        ({}, {}, {"model": "m"}, "ollama"),
        ({"provider": "openai"}, {}, {"model": "m"}, "openai"),
        ({}, {"HYBRID_MEMORY_MODEL": "m"}, {"provider": "builtin"}, "builtin"),
    ],
)
def test_to_name_a_model_or_a_server_is_to_choose_ollama(
    home: Path,
    file: dict[str, str],
    environ: dict[str, str],
    options: dict[str, str],
    provider: str,
) -> None:
    assert config.load(write(home / "c.json", file), options, environ)["provider"] == provider


def test_chosen_is_what_somebody_names_even_if_it_is_the_default(home: Path) -> None:
    file = write(home / "c.json", {"chunk_overlap": 50})
    keys = {"chunk_overlap", "chunk_size", "cache_size"}
    assert config.load(file, {"cache_size": 256}, {}).chosen & keys == {
        "chunk_overlap",
        "cache_size",
    }


PLAN = json.loads((Path(__file__).parent.parent / "config.json").read_text())
ORDINARY = {
    "environ": {},
    "ollama": {"OLLAMA_HOST": "http://10.0.0.1:11434"},
    "provider": {"HYBRID_MEMORY_PROVIDER": "openai"},
    "model": {"HYBRID_MEMORY_MODEL": "bge-m3"},
    "weight": {"HYBRID_MEMORY_KEYWORD_WEIGHT": "0.6"},
}


def test_the_config_file_of_the_checkout_has_the_nine_keys_of_the_plan_with_their_defaults() -> (
    None
):
    assert list(PLAN) == [
        "db_path", "ollama_url", "model", "chunk_size", "chunk_overlap",
        "keyword_weight", "vector_weight", "cache_size", "dims",
    ]  # fmt: skip
    assert {key: config.DEFAULTS[key] for key in PLAN} == PLAN


@pytest.mark.parametrize("keys", [[key] for key in PLAN] + [list(PLAN)], ids=str)
@pytest.mark.parametrize("environ", ORDINARY.values(), ids=ORDINARY)
def test_a_key_of_the_plan_with_its_default_changes_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], keys: list[str]
) -> None:
    monkeypatch.setattr(config, "standard_database", lambda environ: str(home / PLAN["db_path"]))
    without = config.load(write(home / "without.json", {}), {}, environ)
    with_keys = config.load(write(home / "c.json", {key: PLAN[key] for key in keys}), {}, environ)
    assert with_keys == without
    assert with_keys.origins["db_path"] == without.origins["db_path"]


@pytest.mark.parametrize("keys", [[key] for key in PLAN] + [list(PLAN)], ids=str)
def test_a_default_given_by_a_program_changes_nothing(keys: list[str]) -> None:
    given = config.merge_layers((config.LIBRARY, {key: PLAN[key] for key in keys}))
    assert given == config.merge_layers()


SECRET = "S3cr3t"
UNREADABLE = [
    "POSTGRESQL://ta:S3cr3t@h/m1",
    "postgresql+psycopg://ta:S3cr3t@h/m1",
    "postgresql:S3cr3t",
    "postgresql://S3cr3t%zz@x/y",
    "mysql://ta:S3cr3t@h/m1",
    "jdbc:postgresql://h/d?user=ta&password=S3cr3t",
    "HOST=h PASSWORD=S3cr3t",
    "host=h password=two S3cr3t",
    "dbname=postgresql://u:S3cr3t@h/d host=h",
]


COMMANDS = [
    *(
        "search gpu",
        "ingest --path .",
        "update",
        "list",
        "get x",
        "why x",
        "init . --yes",
        "config",
    ),
    *("doctor", "reindex", "delete x", "store --doc-id x --text y", "links x", "tags"),
]


@pytest.mark.parametrize(
    ("address", "command"),
    [
        *((address, "stats") for address in UNREADABLE),
        *((UNREADABLE[0], command) for command in COMMANDS),
    ],
)
def test_what_only_looks_like_an_address_is_refused_without_its_text(
    environ: dict[str, str], tmp_path: Path, address: str, command: str
) -> None:
    (tmp_path / "n.md").write_text("gpu")
    before = sorted(path.name for path in tmp_path.iterdir())
    done = in_process((*command.split(), "--db", address), environ, tmp_path)
    assert done.returncode == 2
    assert "db_path in the command line" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("address", UNREADABLE)
def test_an_address_in_a_file_or_variable_is_refused_without_its_text(
    environ: dict[str, str], tmp_path: Path, address: str
) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"db_path": address}))
    for done in (
        in_process(("stats", "--config", str(file)), environ, tmp_path),
        in_process(("stats",), environ | {"HYBRID_MEMORY_DB_PATH": address}, tmp_path),
        in_process(("config", "set", "db_path", address, "--config", str(file)), environ, tmp_path),
        in_process(("config", "unset", "db_path", "--config", str(file)), environ, tmp_path),
        in_process(("copy", address, "x.db"), environ, tmp_path),
        in_process(("copy", "x.db", address), environ, tmp_path),
    ):
        assert SECRET not in done.stdout + done.stderr, done.args
    assert not (tmp_path / "x.db").exists()


def test_the_words_of_libpq_are_a_server_and_shown_without_their_password(
    environ: dict[str, str], tmp_path: Path
) -> None:
    address = "host=127.0.0.1 port=1 user=ta password='S3cr3t 2' dbname=m sslmode=disable"
    assert addresses.public_name(address) == "host=127.0.0.1 port=1 user=ta dbname=m"
    assert without_password(address).endswith("user=ta dbname=m sslmode=disable")
    assert addresses.public_name("password=S3cr3t") == "the usual PostgreSQL server"
    assert addresses.public_name("service=team password=S3cr3t") == "service=team"
    assert not addresses.is_server("a=b.db")
    assert not addresses.is_server("notes/x://y.db")
    for command in ("stats", "search gpu", "ingest --path .", "config", "init . --yes"):
        done = in_process((*command.split(), "--db", address), environ, tmp_path)
        assert "host=127.0.0.1 port=1 user=ta dbname=m" in done.stdout + done.stderr, command
        assert SECRET not in done.stdout + done.stderr, command
    assert [path.name for path in tmp_path.iterdir() if SECRET in path.name] == []


def test_a_changed_address_is_answered_without_its_password(
    environ: dict[str, str], tmp_path: Path
) -> None:
    environ = environ | {"HYBRID_MEMORY_CONFIG": str(tmp_path / "c.json")}
    address = "postgresql://ann:S3cr3t@h/m"
    seen = ""
    for words in (
        ["set", "db_path", address],
        ["set", "db_path", "x.db"],
        ["set", "db_path", address],
        ["unset", "db_path"],
    ):
        done = in_process(
            ["config", *words], environ | {"HYBRID_MEMORY_DB_PATH": address}, tmp_path
        )
        assert done.returncode == 0
        seen += done.stdout + done.stderr
    assert "postgresql://ann@h/m" in seen
    assert SECRET not in seen


def test_a_list_is_taken_as_config_prints_it_and_as_names_with_commas(
    environ: dict[str, str], tmp_path: Path
) -> None:
    environ = environ | {"HYBRID_MEMORY_CONFIG": str(tmp_path / "c.json")}
    for text in ('["date", "created"]', "date, created"):
        assert in_process(("config", "set", "date_keys", text), environ, tmp_path).returncode == 0
        assert json.loads((tmp_path / "c.json").read_text())["date_keys"] == ["date", "created"]
        shown = in_process(("config", "--json"), environ, tmp_path).stdout
        assert json.loads(shown)["settings"]["date_keys"]["value"] == ["date", "created"]


@pytest.mark.parametrize("text", ["[]", '{"a":1}', "", "date,,created", "[1]", '["date"', '[""]'])
def test_a_list_that_is_none_is_refused(environ: dict[str, str], tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.json"
    done = in_process(
        ["config", "set", "date_keys", text, "--config", str(file)], environ, tmp_path
    )
    assert (done.returncode, file.exists()) == (2, False)
    assert "not a list of strings" in done.stderr


def test_a_variable_of_no_setting_is_told_with_the_near_one(
    environ: dict[str, str], tmp_path: Path
) -> None:
    done = in_process(("stats",), environ | {"HYBRID_MEMORY_LIMT": "3"}, tmp_path)
    assert done.returncode == 1
    assert "HYBRID_MEMORY_LIMT; did you mean HYBRID_MEMORY_LIMIT?" in done.stderr
    far = in_process(("stats",), environ | {"HYBRID_MEMORY_XYZZY": "3"}, tmp_path)
    assert "HYBRID_MEMORY_XYZZY; `hybrid-memory config` lists the settings" in far.stderr


def test_config_shows_the_weights_that_somebody_set(
    environ: dict[str, str], tmp_path: Path
) -> None:
    def weights(*options: str) -> list[float | None]:
        done = in_process(("config", "--json", *options), environ, tmp_path)
        settings = json.loads(done.stdout)["settings"]
        return [settings[f"{leg}_weight"]["value"] for leg in ("keyword", "vector")]

    assert weights() == [None, None]
    assert weights("--keyword-weight", "0.6") == [0.6, None]
