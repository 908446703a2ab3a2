"""The agents that this program works with, in one table: where each keeps notes, transcripts and
settings, and which of its events call `recall`.

The forms were read in November 2026: in the programs of Claude Code 2.1, Codex 0.169, Gemini CLI
0.61 and opencode 1.18, in the documentation of Cursor, and in the plugin references of OpenClaw.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

MAIN = "main"  # the default agent of OpenClaw
PROJECT = "{project}"  # in a path: a host's name of a workspace

# What a hook asks of `recall`
PROMPT = "prompt"  # passages for a prompt
START = "start"  # a line about new notes
END = "end"  # nothing; the transcript is ingested


class HomePath(NamedTuple):
    """A path below the home. `variables` maps environment variables that move it to a path below
    their value.
    """

    path: str
    variables: Mapping[str, str] = {}

    def of(self, home: str, environ: Mapping[str, str]) -> str:
        """The absolute path, for a user's home and environment."""
        for variable, below in self.variables.items():
            if environ.get(variable):
                return os.path.join(os.path.expanduser(environ[variable]), below)
        return os.path.join(home, self.path)


class Files(NamedTuple):
    """The files of a host's settings, for the user and for one workspace: those below `folder` of
    the host, and those below the folder `project` of the workspace. "" without such a file.

    `servers` has the MCP servers, under the keys `servers_key`.
    """

    project: str
    hooks: str
    servers: HomePath
    servers_of_project: str  # relative to the workspace
    servers_key: str
    skills: str = "skills"


class Host(NamedTuple):
    """An agent.

    `memories` and `sessions` are the folders and files of its notes, and the folders of its
    transcripts. They are relative to `folder` or, for transcripts, to `sessions_below`; {project}
    is each name that `projects` returns for a workspace, and * any name. Without {project} or *,
    transcripts of all workspaces are together, and each records the folder in which its session
    began. `memory_key` is a setting in `settings` with another folder for its notes.
    """

    name: str
    title: str
    folder: HomePath
    events: Mapping[str, str] = {}  # event of a hook -> PROMPT, START or END
    memories: tuple[str, ...] = ()
    sessions: str = ""
    sessions_below: HomePath | None = None
    projects: Callable[[str, str], list[str]] = lambda folder, workspace: []
    memory_key: tuple[str, str] | None = None  # file of settings, key
    files: Files | None = None  # None: `connect` cannot write its settings
    trust: str = ""  # what the user must do before the host runs the hooks


def slug(path: str) -> str:
    """A path as the name of a folder: every character but ASCII letters and digits becomes "-"."""
    return re.sub("[^A-Za-z0-9]", "-", path)


def _repository(workspace: str) -> str:
    """The folder around a workspace that has a git repository; else the workspace."""
    folder = workspace
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return workspace
        folder = above
    return folder


def _claude_projects(folder: str, workspace: str) -> list[str]:
    return [slug(_repository(workspace))]


def _cursor_projects(folder: str, workspace: str) -> list[str]:
    return [slug(workspace).strip("-")]


def _gemini_projects(folder: str, workspace: str) -> list[str]:
    """The folders in `tmp` whose file .project_root names the workspace."""
    found = []
    top = os.path.join(folder, "tmp")
    with suppress(OSError):
        for name in sorted(os.listdir(top)):
            with suppress(OSError, ValueError):
                with open(os.path.join(top, name, ".project_root"), encoding="utf-8") as file:
                    root = file.read(4096).strip()
                if root and os.path.realpath(root) == workspace:
                    found.append(name)
    return found


CLAUDE = Host(
    name="claude",
    title="Claude Code",
    folder=HomePath(".claude", {"CLAUDE_CONFIG_DIR": ""}),
    events={
        "SessionStart": START,
        "UserPromptSubmit": PROMPT,
        "PreCompact": END,
        "Stop": END,
        "SessionEnd": END,
    },
    memories=("projects/{project}/memory", "agent-memory"),
    sessions="projects",
    projects=_claude_projects,
    memory_key=("settings.json", "autoMemoryDirectory"),
    files=Files(
        project=".claude",
        hooks="settings.json",
        servers=HomePath(".claude.json", {"CLAUDE_CONFIG_DIR": ".claude.json"}),
        servers_of_project=".mcp.json",
        servers_key="mcpServers",
    ),
)
CODEX = Host(
    name="codex",
    title="Codex",
    folder=HomePath(".codex", {"CODEX_HOME": ""}),
    events={"SessionStart": START, "UserPromptSubmit": PROMPT, "PreCompact": END, "Stop": END},
    memories=("memories",),
    sessions="sessions",
    files=Files(
        project=".codex",
        hooks="hooks.json",
        servers=HomePath(".codex/config.toml", {"CODEX_HOME": "config.toml"}),
        servers_of_project=".codex/config.toml",
        servers_key="mcp_servers",
    ),
    trust=(
        "Codex runs the hooks only after you trust them (/hooks), asks again if their text changes, "
        "and skips them in `codex exec`"
    ),
)
OPENCLAW = Host(
    name="openclaw",
    title="OpenClaw",
    folder=HomePath(".openclaw", {"OPENCLAW_STATE_DIR": "", "OPENCLAW_HOME": ".openclaw"}),
    events={"before_prompt_build": PROMPT},
    sessions="agents/*/sessions",
    files=Files(
        project="",
        hooks="",
        servers=HomePath(
            ".openclaw/openclaw.json",
            {
                "OPENCLAW_CONFIG_PATH": "",
                "OPENCLAW_STATE_DIR": "openclaw.json",
                "OPENCLAW_HOME": ".openclaw/openclaw.json",
            },
        ),
        servers_of_project="",
        servers_key="plugins",
        skills="",
    ),
    trust="restart the gateway: `openclaw gateway restart`",
)
CURSOR = Host(
    name="cursor",
    title="Cursor",
    folder=HomePath(".cursor"),
    events={
        "sessionStart": START,
        "beforeSubmitPrompt": PROMPT,
        "preCompact": END,
        "stop": END,
        "sessionEnd": END,
    },
    sessions="projects/{project}/agent-transcripts",
    projects=_cursor_projects,
    files=Files(
        project=".cursor",
        hooks="hooks.json",
        servers=HomePath(".cursor/mcp.json"),
        servers_of_project=".cursor/mcp.json",
        servers_key="mcpServers",
    ),
)
GEMINI = Host(
    name="gemini",
    title="Gemini CLI",
    folder=HomePath(".gemini", {"GEMINI_CLI_HOME": ".gemini"}),
    events={
        "SessionStart": START,
        "BeforeAgent": PROMPT,
        "PreCompress": END,
        "AfterAgent": END,
        "SessionEnd": END,
    },
    memories=("tmp/{project}/memory", "GEMINI.md"),
    sessions="tmp/{project}/chats",
    projects=_gemini_projects,
    files=Files(
        project=".gemini",
        hooks="settings.json",
        servers=HomePath(".gemini/settings.json", {"GEMINI_CLI_HOME": ".gemini/settings.json"}),
        servers_of_project=".gemini/settings.json",
        servers_key="mcpServers",
    ),
    trust="Gemini CLI shows new hooks once, and runs those of a project only in a trusted folder",
)
OPENCODE = Host(
    name="opencode",
    title="opencode",
    folder=HomePath(".config/opencode", {"XDG_CONFIG_HOME": "opencode"}),
    events={"chat.message": PROMPT, "session.idle": END, "experimental.session.compacting": END},
    sessions="opencode",  # written by our plugin; opencode itself has a database
    sessions_below=HomePath(
        ".local/state/hybrid-memory/transcripts", {"XDG_STATE_HOME": "hybrid-memory/transcripts"}
    ),
    files=Files(
        project=".opencode",
        hooks="plugins/hybrid-memory.js",
        servers=HomePath(
            ".config/opencode/opencode.json", {"XDG_CONFIG_HOME": "opencode/opencode.json"}
        ),
        servers_of_project="opencode.json",
        servers_key="mcp",
    ),
)
PI = Host(
    name="pi",
    title="pi",
    folder=HomePath(".pi/agent", {"PI_CODING_AGENT_DIR": ""}),
    sessions="sessions",
)
HOSTS = {host.name: host for host in (CLAUDE, CODEX, OPENCLAW, CURSOR, GEMINI, OPENCODE, PI)}


class SessionFolder(NamedTuple):
    """A folder of transcripts, and the collection to ingest them into."""

    path: str
    collection: str
    has_all_workspaces: bool


class MemoryPlace(NamedTuple):
    """A folder or file with notes that a host's agents wrote, and the collection for them."""

    path: str
    collection: str


def session_folders(
    home: str, environ: Mapping[str, str] = os.environ, workspace: str | None = None
) -> Iterator[SessionFolder]:
    """Yield the existing folders in which a user's agents keep transcripts: those of all
    workspaces together, those of a host's agents, and those of this workspace. Without a
    `workspace`, those of every workspace.
    """
    for host in HOSTS.values():
        folder = host.folder.of(home, environ)
        top = host.sessions_below.of(home, environ) if host.sessions_below else folder
        has_all = "*" not in host.sessions and PROJECT not in host.sessions
        for path in _existing(top, _of_projects(host, host.sessions, folder, workspace)):
            if not os.path.isdir(path):
                continue
            collection = f"sessions-{host.name}"
            if host is OPENCLAW:
                agent = os.path.basename(os.path.dirname(path))
                collection = "sessions" if agent == MAIN else f"sessions-{agent}"
            yield SessionFolder(path, collection, has_all)


def memory_places(
    home: str, workspace: str, environ: Mapping[str, str] = os.environ
) -> Iterator[MemoryPlace]:
    """Yield the existing folders and files in which hosts keep notes for this workspace, or for all
    workspaces of the user.
    """
    for host in HOSTS.values():
        folder = host.folder.of(home, environ)
        patterns = list(host.memories)
        moved = _moved_memory(host, folder)
        if moved:
            patterns[0] = moved  # an absolute path replaces the host's folder
        for number, pattern in enumerate(patterns):
            collection = f"memory-{host.name}"
            if number:
                collection += f"-{number + 1}"
            for path in _existing(folder, _of_projects(host, pattern, folder, workspace)):
                yield MemoryPlace(path, collection)


def _of_projects(host: Host, pattern: str, folder: str, workspace: str | None) -> list[str]:
    """The pattern for each of the host's names of a workspace, or for any workspace."""
    if PROJECT not in pattern:
        return [pattern]
    names = ["*"] if workspace is None else host.projects(folder, workspace)
    return [pattern.replace(PROJECT, name) for name in names]


def _existing(top: str, patterns: Iterable[str]) -> Iterator[str]:
    """Yield the existing paths below `top` that match a pattern with at most one * for a name."""
    for pattern in filter(None, patterns):
        above, star, below = pattern.partition("*")
        names = [""]
        if star:
            names = []
            with suppress(OSError):
                names = sorted(os.listdir(os.path.join(top, above)))
        for name in names:
            path = os.path.join(top, above + name + below)
            if os.path.exists(path):
                yield path


def _moved_memory(host: Host, folder: str) -> str | None:
    """The folder that a host's setting names for its notes; None without one."""
    if host.memory_key is None:
        return None
    file, key = host.memory_key
    with suppress(OSError, ValueError, RecursionError):
        with open(os.path.join(folder, file), encoding="utf-8") as stream:
            settings = json.load(stream)
        path = settings.get(key) if isinstance(settings, dict) else None
        if isinstance(path, str) and os.path.isabs(path := os.path.expanduser(path)):
            return path
    return None
