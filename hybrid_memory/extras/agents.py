"""Where agents keep the transcripts of their sessions."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

MAIN = "main"  # the agent of OpenClaw that is there from the beginning


class Agent(NamedTuple):
    """An agent whose transcripts can be read. `folder` is its folder, below the home; `variables` are
    those of the environment that name another one, each with the path below its value.
    """

    name: str
    folder: str
    variables: Mapping[str, str]
    sessions: str  # the folder of transcripts, below its folder

    def session_folder(self, home: str, environ: Mapping[str, str]) -> str:
        """Return the folder with the transcripts of this user."""
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
OF_ALL_WORKSPACES = (CLAUDE, CODEX, PI)  # they keep the sessions of all workspaces in one folder


class SessionFolder(NamedTuple):
    """A folder with transcripts, and the collection that they get."""

    path: str
    collection: str
    has_all_workspaces: bool


def session_folders(home: str, environ: Mapping[str, str] = os.environ) -> Iterator[SessionFolder]:
    """Yield the folders in which the agents of a user keep transcripts, as far as they exist."""
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
