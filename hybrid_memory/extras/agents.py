"""The folders in which agents keep session transcripts."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

MAIN = "main"  # the default agent of OpenClaw


class Agent(NamedTuple):
    """An agent whose transcripts can be read.

    `folder` is the agent's folder, relative to the home. `variables` maps environment variables
    that override it to a path below their value.
    """

    name: str
    folder: str
    variables: Mapping[str, str]
    sessions: str  # the folder of transcripts, relative to the agent's folder

    def session_folder(self, home: str, environ: Mapping[str, str]) -> str:
        """Return the folder of the transcripts, for a user's home and environment."""
        top = os.path.join(home, self.folder)
        for variable, below in self.variables.items():
            if environ.get(variable):
                top = os.path.join(os.path.expanduser(environ[variable]), below)
                break
        return os.path.join(top, self.sessions)


OPENCLAW = Agent(
    name="openclaw",
    folder=".openclaw",
    variables={"OPENCLAW_STATE_DIR": "", "OPENCLAW_HOME": ".openclaw"},
    sessions="agents",
)
CLAUDE = Agent("claude", ".claude", {"CLAUDE_CONFIG_DIR": ""}, "projects")
CODEX = Agent("codex", ".codex", {"CODEX_HOME": ""}, "sessions")
PI = Agent("pi", os.path.join(".pi", "agent"), {"PI_CODING_AGENT_DIR": ""}, "sessions")
OF_ALL_WORKSPACES = (CLAUDE, CODEX, PI)  # agents with one folder for the sessions of all workspaces


class SessionFolder(NamedTuple):
    """A folder of transcripts, and the collection to ingest them into."""

    path: str
    collection: str
    has_all_workspaces: bool


def session_folders(home: str, environ: Mapping[str, str] = os.environ) -> Iterator[SessionFolder]:
    """Yield the existing folders in which a user's agents keep transcripts."""
    agents = OPENCLAW.session_folder(home, environ)
    with suppress(OSError):
        for name in sorted(os.listdir(agents)):
            path = os.path.join(agents, name, "sessions")
            if os.path.isdir(path):
                collection = "sessions" if name == MAIN else f"sessions-{name}"
                yield SessionFolder(path, collection, has_all_workspaces=False)
    for agent in OF_ALL_WORKSPACES:
        path = agent.session_folder(home, environ)
        if os.path.isdir(path):
            yield SessionFolder(path, f"sessions-{agent.name}", has_all_workspaces=True)
