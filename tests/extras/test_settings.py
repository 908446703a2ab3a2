"""The command `config`: what it shows, and how it changes the file that is in force."""

from pathlib import Path

import pytest

from hybrid_memory import config, paths
from tests.command import Run, answer, in_process, in_terminal


@pytest.fixture
def file(tmp_path: Path, environ: dict[str, str]) -> Path:
    """The config file in force."""
    return Path(environ["HYBRID_MEMORY_CONFIG"])


def test_every_setting_is_shown_with_its_value_and_what_decided_it(
    run: Run, environ: dict[str, str], file: Path
) -> None:
    file.write_text('{"limit": 7, "provider": "openai"}')
    found = answer(run("config", "--model", "m", env={"HYBRID_MEMORY_CHUNK_SIZE": "400"}))
    assert (found["file"], found["exists"], list(found["settings"])) == (
        str(file),
        True,
        list(config.DEFAULTS),
    )
    settings = {key: (shown["value"], shown["from"]) for key, shown in found["settings"].items()}
    assert settings["limit"] == (7, str(file))
    assert settings["chunk_size"] == (400, "HYBRID_MEMORY_CHUNK_SIZE")
    assert settings["model"] == ("m", "--model")
    assert settings["dims"] == (None, "--model")  # which leaves them to the model
    assert settings["ollama_url"] == (
        environ["HYBRID_MEMORY_OLLAMA_URL"],
        "HYBRID_MEMORY_OLLAMA_URL",
    )
    assert settings["min_score"] == (0.0, "default")


def test_a_provider_decides_its_model_and_a_model_its_provider(run: Run, file: Path) -> None:
    file.write_text('{"provider": "voyage"}')
    unset = {"HYBRID_MEMORY_OLLAMA_URL": ""}
    settings = answer(run("config", env=unset))["settings"]
    assert settings["model"] == {"value": None, "from": str(file)}
    file.write_text("{}")
    settings = answer(run("config", env=unset | {"OLLAMA_HOST": "http://127.0.0.1:9"}))["settings"]
    assert settings["provider"] == {"value": "auto", "from": "default"}
    assert settings["ollama_url"] == {"value": "http://127.0.0.1:9", "from": "OLLAMA_HOST"}
    settings = answer(run("config", env={"HYBRID_MEMORY_OLLAMA_URL": "http://127.0.0.1:9"}))[
        "settings"
    ]
    assert settings["provider"] == {"value": "ollama", "from": "HYBRID_MEMORY_OLLAMA_URL"}


def test_a_terminal_gets_a_line_for_each_setting_that_fits(
    environ: dict[str, str], file: Path
) -> None:
    file.write_text('{"limit": 7}')
    short = {"NO_COLOR": "1", "HYBRID_MEMORY_OLLAMA_URL": "", "HYBRID_MEMORY_DB_PATH": "m.db"}
    first, _, *lines = in_terminal(environ, "config", env=short).splitlines()
    assert first == str(file)
    rows = {line.split()[0]: line.split()[1:] for line in lines}
    assert (rows["limit"], rows["min_score"]) == (["7", "config", "file"], ["0.0", "default"])
    assert {line.split()[0] for line in lines if len(line) > 80} == {
        "date_keys"
    }  # whose value alone is as long


def test_set_and_unset_change_one_key_and_keep_order_and_indent(run: Run, file: Path) -> None:
    text = '{\n\t"limit": 5,\n\t"db_path": "x.db",\n\t"min_score": 0.1\n}\n'
    file.write_text(text)
    told = {"file": str(file), "key": "limit"}
    assert answer(run("config", "set", "limit", "7")) == told | {"value": 7, "before": 5}
    assert file.read_text() == text.replace("5", "7")
    assert answer(run("config", "unset", "limit")) == told | {"before": 7}
    assert file.read_text() == '{\n\t"db_path": "x.db",\n\t"min_score": 0.1\n}\n'


def test_a_value_or_a_key_that_is_wrong_is_refused_and_changes_nothing(
    run: Run, file: Path
) -> None:
    for command, told in (
        (("set", "modl", "x"), "there is no setting 'modl'; did you mean model?"),
        (("set", "limit", "x"), "limit='x' is not a whole number"),
        (("set", "limit", "0"), "limit in the command line must be at least 1"),
        (
            ("set", "chunk_overlap", "600"),
            "chunk_overlap (600, from the command line) must be less than chunk_size (512",
        ),
        (("set", "limit"), "usage: `config`, `config KEY`, `config set KEY VALUE` or"),
    ):
        done = run("config", *command)
        assert (done.returncode, done.stdout) == (2, ""), command
        assert told in done.stderr
        assert file.read_text() == "{}"


def test_wrong_keys_can_be_taken_out_and_nothing_else_is_written_before(
    run: Run, file: Path
) -> None:
    file.write_text('{"modl": "x", "lmit": 3}')
    done = run("config", "set", "limit", "3")
    assert (done.returncode, "unknown key 'modl'" in done.stderr) == (1, True)
    assert answer(run("config", "unset", "modl"))["before"] == "x"
    assert file.read_text() == '{"lmit": 3}'


def test_what_is_not_in_the_file_is_told_and_makes_no_file(run: Run, file: Path) -> None:
    file.unlink()
    done = run("config", "unset", "limit")
    assert (done.returncode, file.exists()) == (0, False)
    assert "does not set limit" in done.stderr


def test_a_variable_that_wins_over_the_file_is_told(run: Run) -> None:
    done = run("config", "set", "limit", "3", env={"HYBRID_MEMORY_LIMIT": "5"})
    assert (
        done.stderr
        == "hybrid-memory: the environment variable HYBRID_MEMORY_LIMIT='5' overrides the file\n"
    )


def test_a_relative_database_is_the_one_that_the_shell_would_mean(
    run: Run, file: Path, tmp_path: Path
) -> None:
    assert answer(run("config", "set", "db_path", "sub/m.db"))["value"] == f"{tmp_path}/sub/m.db"
    assert answer(run("config", "set", "db_path", "~/m.db"))["value"] == "~/m.db"


def test_where_there_is_no_file_the_one_of_the_user_is_made(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CHECKOUT", str(tmp_path / "site-packages"))
    env = {name: value for name, value in environ.items() if name != "HYBRID_MEMORY_CONFIG"} | {
        "XDG_CONFIG_HOME": f"{tmp_path}/xdg"
    }
    made = tmp_path / "xdg/hybrid-memory/config.json"
    assert answer(in_process(("config",), env, tmp_path))["exists"] is False
    assert answer(in_process(("config", "set", "per_doc", "null"), env, tmp_path))["file"] == str(
        made
    )
    assert made.read_text() == '{\n  "per_doc": null\n}\n'
    assert answer(in_process(("config",), env, tmp_path))["settings"]["per_doc"] == {
        "value": None,
        "from": str(made),
    }


def test_one_setting_is_printed_by_its_key(run: Run, environ: dict[str, str], file: Path) -> None:
    file.write_text('{"limit": 7}')
    for words in (("limit",), ("get", "limit")):
        assert answer(run("config", *words)) == {"key": "limit", "value": 7, "from": str(file)}
    assert in_terminal(environ, "config", "limit") == "7\r\n"
    assert in_terminal(environ, "config", "mode") == "hybrid\r\n"
    for words in (("limt",), ("get", "limt")):
        done = run("config", *words)
        assert (done.returncode, "did you mean limit?" in done.stderr) == (2, True)
    assert run("config", "limit", "3").returncode == 2
