"""Write the text for agents into SKILL.md and the plugins.

    uv run docs/make_agent_texts.py

Due when SKILL.md or hybrid_memory/extras/agent_text.py changes. A test compares.
"""

import json
import re
from pathlib import Path

from hybrid_memory.extras import agent_text

ROOT = Path(__file__).parent.parent
SKILL = ROOT / "SKILL.md"
OPENCLAW = ROOT / "plugins/openclaw/index.js"
PLUGIN_SKILLS = [
    ROOT / "plugins" / agent / "skills" / "hybrid-memory" / "SKILL.md"
    for agent in ("claude-code", "codex", "cursor", "gemini", "agent-plugin")
]


def skill(text: str) -> str:
    """Return the text of SKILL.md with the shared text in place."""
    options = " ".join(agent_text.OPTIONS)
    text = re.sub(r'(?<=root login" )--.*', options, text)
    block = f"## For AGENTS.md\n\n```markdown\n{agent_text.paragraph(agent_text.PROGRAM)}\n```"
    return re.sub(r"## For AGENTS\.md\n\n```markdown\n.*?\n```", lambda _: block, text, flags=re.S)


def openclaw(text: str) -> str:
    """Return the plugin of OpenClaw with the shared text in place."""
    rules = " ".join((agent_text.CITE, agent_text.CONFLICTS, agent_text.DATA))
    before = agent_text.BEFORE_COMPACTION
    values = {
        "BEFORE_COMPACTION": before,
        "OPTIONS": agent_text.OPTIONS,
        "SUBJECTS": agent_text.SUBJECTS,
        "RULES": rules,
        "PHRASINGS": agent_text.PHRASINGS,
    }
    for name, value in values.items():
        line = f"const {name} = {json.dumps(value)};"
        text = re.sub(rf"^const {name} = .*;$", lambda _, line=line: line, text, flags=re.M)
    return text


def texts() -> dict[Path, str]:
    """Return the text of each file that has text for agents."""
    whole_skill = skill(SKILL.read_text("utf-8"))
    return {
        SKILL: whole_skill,
        **dict.fromkeys(PLUGIN_SKILLS, agent_text.skill_for(whole_skill)),
        OPENCLAW: openclaw(OPENCLAW.read_text("utf-8")),
    }


if __name__ == "__main__":
    for target, text in texts().items():
        target.write_text(text, "utf-8")
