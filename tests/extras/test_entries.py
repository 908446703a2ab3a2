"""Our entries in the settings of agents: whatever a host or user writes around them stays."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.extras.entries import MARKS, with_json, with_toml, without_json, without_toml
from hybrid_memory.extras.toml_text import with_table, without_table

BEGIN, END = MARKS
HOOK = "/opt/bin/hybrid-memory recall --host claude 2>/dev/null || true"
SERVER = {"command": "/opt/bin/hybrid-memory", "args": ["mcp"]}
TOML_TREE = {"mcp_servers": {"hybrid-memory": SERVER}}
OURS = '[mcp_servers.hybrid-memory]\ncommand = "/opt/bin/hybrid-memory"\nargs = ["mcp"]\n'
# Our table as this and earlier versions wrote it, and as other programs write it again
TABLES = [
    f"\n{OURS}",
    f"\n{BEGIN}\n{OURS}{END}\n",
    f"\n{OURS}{END}\n",
    f"\n{BEGIN}\n{OURS}",
    f"\n{OURS}\n[mcp_servers.hybrid-memory.tools.search]\napproval_mode = 'approve'\n",
    '\n[ mcp_servers . "hybrid-memory" ]  # memory\nargs = [\n  "mcp", # so\n]\ncommand = "x"\n',
    "\n[mcp_servers]\nhybrid-memory = { command = 'x', args = [] }\n",
    '\n[mcp_servers.hybrid-memory]\r\ncommand = "x"\r\nenv.A = """\n[tui]\n"""\r\n',
]
# Tables of others: some look like ours inside of a value or a comment
OTHERS = [
    '[projects."/home/ann/work"]\ntrust_level = "trusted"\n',
    "\n[tui]\nscreen_reader_detection_done = true\n",
    '[mcp_servers.tickets]\ncommand = "ticketd"  # theirs\nargs = [\n\t"--stdio",\n]\n\n\n',
    f'[notes]\ntext = """\n{OURS}{BEGIN}\n"""\n',
    "[notes2]\nmatrix = [\n[1, 2],\n[3, nan]\n]\n",
    "[[profiles]]\nname = 'a'\n",
    "[[profiles]]\nname = 'b'\n# [mcp_servers.hybrid-memory]\n",
    "[hooks.state.'x:stop:0:0']\r\ntrusted_hash = \"sha256:1\"\r\n",
    "[mcp_servers.hybrid-memory2]\ncommand = 'y'\n",
]
HEAD = 'model = "m" # mine\nprofile.a = 1.50\n'


@given(st.permutations(OTHERS), st.integers(0, len(OTHERS)), st.sampled_from(TABLES), st.booleans())
def test_only_our_table_leaves_a_toml_file(
    others: list[str], place: int, table: str, has_head: bool
) -> None:
    before = [HEAD, *others] if has_head else others
    place = min(place + has_head, len(before))
    text = "".join([*before[:place], table, *before[place:]])
    rest = "".join(before)
    left = without_toml(text, TOML_TREE, "")
    header = "\n[mcp_servers]\n"  # is of the user
    assert left == (
        text.replace("hybrid-memory = { command = 'x', args = [] }\n", "")
        if header in text
        else rest
    )
    assert without_toml(left, TOML_TREE, "") == left


@given(st.permutations(OTHERS), st.booleans())
def test_a_table_is_added_once_and_removed_without_a_trace(
    others: list[str], has_end: bool
) -> None:
    text = HEAD + "".join(others)
    connected = with_toml(text, TOML_TREE, {})
    assert tomllib.loads(connected)["mcp_servers"]["hybrid-memory"] == SERVER
    assert connected.startswith(text)
    assert with_toml(connected, TOML_TREE, {}) == connected
    assert without_toml(connected, TOML_TREE, "") == text


def test_tables_that_the_host_wrote_between_our_comments_stay() -> None:
    theirs = f"\n{OTHERS[0]}{OTHERS[1]}"
    text = f"{HEAD}\n{BEGIN}\n{OURS}{theirs}{END}\n"
    assert without_toml(text, TOML_TREE, "") == HEAD + theirs
    assert with_toml(text, TOML_TREE, {}) == text


@pytest.mark.parametrize("table", [table for table in TABLES if "\n[mcp_servers]\n" not in table])
def test_a_new_command_replaces_only_the_old_one(table: str) -> None:
    text = f"{HEAD}{table}{OTHERS[0]}"
    new = with_toml(
        text, {"mcp_servers": {"hybrid-memory": {"command": "new", "args": ["a b"]}}}, {}
    )
    before, after = tomllib.loads(text), tomllib.loads(new)
    ours = before["mcp_servers"]["hybrid-memory"]
    assert after["mcp_servers"].pop("hybrid-memory") == ours | {"command": "new", "args": ["a b"]}
    del before["mcp_servers"]["hybrid-memory"]
    assert after == before
    assert OTHERS[0] in new


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { hybrid-memory = { command = "x" }, other = { command = "y" } }\n',
        "mcp_servers = 3\n# hybrid-memory connect: end\n",
        "[mcp_servers\n",
    ],
)
def test_a_table_that_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a table|not TOML"):
        without_table(text, ("mcp_servers", "hybrid-memory"), MARKS)
    with pytest.raises(ValueError, match="not a table|not TOML"):
        with_table(text, ("mcp_servers", "hybrid-memory"), {"command": "z"})


def hook(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


JSON_TREE = {
    "hooks": {
        event: [{"hooks": [hook(HOOK, timeout=5)]}] for event in ("SessionStart", "Prompt", "Stop")
    },
    "mcpServers": {"hybrid-memory": SERVER},
    "plugins": {"slots": {"memory": "hybrid-memory"}},
}
OLD_HOOKS = [
    HOOK,
    "/usr/bin/python -m hybrid_memory --db '/a b.db' recall --host claude --floor 0.7 2>/dev/null || true",
    "hybrid-memory recall 2>/dev/null || true",  # by earlier versions
]
commands = st.sampled_from(
    ["date", "hybrid-memory update", "echo recall", "hybrid-memory recall x", f"{HOOK}; date"]
)
theirs = st.builds(hook, commands, timeout=st.integers(1, 9))
groups = st.fixed_dictionaries(
    {"hooks": st.lists(theirs, min_size=1, max_size=3)}, optional={"matcher": st.just("Bash")}
)
events = st.dictionaries(
    st.sampled_from(["SessionStart", "Prompt", "Stop", "PreToolUse"]),
    st.lists(groups | theirs, min_size=1, max_size=3),
    min_size=1,
)
values = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(),
        "hooks": events,
        "mcpServers": st.just({"other": {"command": "x"}}),
        "plugins": st.just({"load": {"paths": ["/theirs"]}, "more": 1.5}),
        "permissions": st.lists(st.integers(), min_size=1),
    },
)
layouts = st.sampled_from([{"indent": 2}, {"indent": "\t"}, {}, {"separators": (",", ":")}])


def is_left_of(rest: str, text: str) -> bool:
    """Whether `rest` is `text` with some characters removed."""
    remaining = iter(text)
    return all(character in remaining for character in rest)


@given(values, layouts, st.data())
def test_only_our_entries_leave_a_json_file(
    settings: dict[str, Any], layout: dict[str, Any], data: st.DataObject
) -> None:
    """The host writes all again, and has other hooks before, behind and in the groups of ours."""
    mixed = json.loads(json.dumps(settings))
    for event in data.draw(
        st.sets(st.sampled_from(["SessionStart", "Prompt", "Stop"]), min_size=1)
    ):
        ours = hook(data.draw(st.sampled_from(OLD_HOOKS)), timeout=data.draw(st.integers(1, 9)))
        entries = mixed.setdefault("hooks", {}).setdefault(event, [])
        with_group = [entry["hooks"] for entry in entries if "hooks" in entry]
        if with_group and data.draw(st.booleans()):
            group = data.draw(st.sampled_from(with_group))
            group.insert(data.draw(st.integers(0, len(group))), ours)
        else:
            entry = data.draw(
                st.sampled_from([ours, {"hooks": [ours]}, {"matcher": "", "hooks": [ours]}])
            )
            entries.insert(data.draw(st.integers(0, len(entries))), entry)
    if data.draw(st.booleans()):
        servers = mixed.setdefault("mcpServers", {})
        servers["hybrid-memory"] = SERVER | {"disabled": True}
    if data.draw(st.booleans()):
        mixed.setdefault("plugins", {})["slots"] = {"memory": "hybrid-memory"}
    keys = data.draw(st.permutations(list(mixed)))
    text = json.dumps({key: mixed[key] for key in keys}, ensure_ascii=False, **layout)
    rest = without_json(text, JSON_TREE, "")
    assert json.loads(rest) == settings
    assert is_left_of(rest, text)
    again = with_json(text, JSON_TREE, {})
    assert json.loads(without_json(again, JSON_TREE, "")) == settings
    assert with_json(again, JSON_TREE, {}) == again


@given(values, layouts)
def test_entries_are_added_once_and_removed_without_a_trace(
    settings: dict[str, Any], layout: dict[str, Any]
) -> None:
    text = json.dumps(settings, ensure_ascii=False, **layout)
    connected = with_json(text, JSON_TREE, {"version": 1})
    assert with_json(connected, JSON_TREE, {"version": 1}) == connected
    left = without_json(connected, JSON_TREE, text)
    assert json.loads(left) == settings | {"version": 1}
    assert without_json(left, JSON_TREE, text) == left


def test_without_other_entries_a_value_like_ours_is_theirs() -> None:
    text = '{"plugins": {"slots": {"memory": "hybrid-memory"}}}'
    assert without_json(text, JSON_TREE, "") == text


def test_what_was_replaced_or_empty_returns() -> None:
    text = '{"hooks": {"Stop": [], "Prompt": []}, "plugins": {"slots": {"memory": "core"}}}'
    connected = with_json(text, JSON_TREE, {})
    later = json.dumps(json.loads(connected) | {"later": 1})
    assert json.loads(without_json(later, JSON_TREE, text)) == json.loads(text) | {"later": 1}


def test_hooks_of_events_that_are_gone_leave_with_the_next_connect() -> None:
    values = json.loads(with_json("{}", JSON_TREE, {}))
    values["hooks"]["Older"] = [hook(OLD_HOOKS[2])]
    again = json.loads(with_json(json.dumps(values), JSON_TREE, {}))
    assert again["hooks"].keys() == JSON_TREE["hooks"].keys()
