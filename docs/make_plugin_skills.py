"""Write SKILL.md as the plugins for agents have it, where the command is installed.

    uv run docs/make_plugin_skills.py

Due when SKILL.md changes. A test compares.
"""

from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGETS = [
    ROOT / "plugins" / agent / "skills" / "hybrid-memory" / "SKILL.md"
    for agent in ("claude-code", "codex")
]
CHANGES = {
    "uv run -q --project {baseDir} hybrid-memory": "hybrid-memory",
    "compatibility: Needs uv.": "compatibility: Needs the command hybrid-memory.",
    "requires-bin: uv": "requires-bin: hybrid-memory",
    "`{baseDir}/config.json`": "`hybrid-memory config`",
}


def skill() -> str:
    """Return the text of SKILL.md for an installed command."""
    text = (ROOT / "SKILL.md").read_text("utf-8")
    for before, after in CHANGES.items():
        text = text.replace(before, after)
    return text


if __name__ == "__main__":
    for target in TARGETS:
        target.write_text(skill(), "utf-8")
