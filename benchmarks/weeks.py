"""An agent's three weeks: what each of its surfaces finds, costs and leaves unsaid.

    uv run benchmarks/weeks.py

The agent helps a made-up radio station: 21 daily notes with routine in each, pages of reference,
facts that change. For each surface: the questions with the answer in the *first* passage and among
the first *three* and *five*; the *characters* of a call; and of the questions that the notes do not
answer, one of each kind, how many get at most one line (*silent*). `recall` also gets prompts:
those that *need* the memory and get passages, and others that get some (*needless*).
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

import common

from hybrid_memory.extras.agent_text import OPTIONS

FIRST_DAY = date(2026, 11, 2)
PAGES = {
    "AGENTS.md": "# Agents\n\nYou help the radio station Freie Welle. Be brief.\n",
    "USER.md": "# User\n\nHanna Brecht runs the station. She prefers messages before ten and hates "
    "exclamation marks.\n",
    "TOOLS.md": "# Tools\n\n## Stream\n\nThe stream server is kestrel, port 8443, login by key "
    "only. Icecast listens on 8000.\n\n## Playout\n\nPlayout runs Rivendell 4 on the machine wren. "
    "Restart: `systemctl restart rivendell`.\n\n## Backups\n\nArchive recordings go to the NAS ibis "
    "every night at 03:30.\n",
    "MEMORY.md": "# Memory\n\n- Our frequency is 91.4 MHz.\n- The licence of the regulator ends on "
    "30 June 2027.\n- Studio key: with the porter, third hook.\n- Membership fee: 60 euros a year.\n"
    "- Jingles are kept in /srv/jingles on wren.\n",
    "notes/programme.md": "# Programme\n\n## Monday\n\n20:00 Nachtfahrt, jazz, by Tomasz Wilk.\n\n"
    "## Tuesday\n\n18:00 Bücherrunde, new books, by Ilse Amann.\n\n## Friday\n\n22:00 Tiefton, "
    "electronic music, by Kofi Mensah.\n\n## Sunday\n\n10:00 Kinderfunk, for children, by Leni "
    "Graf and pupils.\n",
    "notes/contacts.md": "# Contacts\n\n## Tomasz Wilk\n\nPhone 555-0142. Allergic to cats.\n\n"
    "## Ilse Amann\n\nilse@freiewelle.example. Away each August.\n\n## Kofi Mensah\n\nLives in "
    "Harburg. Brings his own mixer, a Xone 92.\n\n## Roofer\n\nDachdecker Lüders, mended the mast "
    "room in May, 1,240 euros.\n",
    "notes/emergency.md": "# Emergency\n\nIf the transmitter is silent: call Herr Odenthal at the "
    "tower, 555-0199, then play the tape loop. Fire assembly point: the chestnut in the yard.\n",
}
DAYS = (
    ("Studio", "The left microphone in studio 2 hums; Jo will bring a new XLR cable."),
    ("Accounts", "Paid the GEMA invoice, 412.50 euros."),
    ("Guests", "The mayor comes on 19 November for an interview, 25 minutes."),
    ("Studio", "The hum in studio 2 is gone with the new cable."),
    ("Ads", "Bakery Kröger books ten spots at 18 euros each."),
    ("Volunteers", "Mira Sato starts as a volunteer on Saturdays; she edits audio in Reaper."),
    ("Transmitter", "Power output lowered to 80 watts after the letter from the regulator."),
    ("Programme", "Tiefton moves from Friday to Saturday 23:00 from December on."),
    ("Kitchen", "The coffee machine was descaled; next time in February."),
    ("Accounts", "Membership fee will be 72 euros a year from January."),
    ("Guests", "The mayor's interview was moved to 26 November."),
    ("Network", "The new switch is a Mikrotik CRS326, address 10.7.0.2."),
    ("Archive", "ibis was full; deleted recordings from before 2019."),
    ("Volunteers", "Leni Graf is away from 1 December; Mira Sato takes over Kinderfunk."),
    ("Studio", "Bought two Shure SM7B from Just Music for 690 euros."),
    ("Transmitter", "Herr Odenthal retires; at the tower is now Frau Yilmaz, 555-0166."),
    ("Ads", "Kröger paid; the bookshop Lesbar wants a trade: books for spots."),
    ("Stream", "kestrel was moved to port 9443 because of a scan."),
    ("Party", "The summer party made 830 euros for the mast fund."),
    ("Keys", "The studio key is now in the key safe, code 4471."),
    ("Meeting", "Decided: no podcasts before the archive is sorted. Ilse Amann was against it."),
)
ANSWERED = (  # a question, and words of its answer
    ("which port does the stream server use?", "9443"),
    ("where is the studio key?", "4471"),
    ("how much is the membership fee next year?", "72 euros"),
    ("when does the mayor come?", "26 November"),
    ("who presents Kinderfunk from December?", "Mira Sato takes over"),
    ("when is Tiefton on air from December?", "Saturday 23:00"),
    ("whom do we call at the tower?", "Yilmaz"),
    ("what is our frequency?", "91.4"),
    ("when does our licence end?", "30 June 2027"),
    ("what did the roofer cost?", "1,240"),
    ("which microphones did we buy?", "SM7B"),
    ("how do I restart the playout?", "systemctl restart rivendell"),
    ("who does the jazz show?", "Tomasz Wilk"),
    ("what is Tomasz allergic to?", "cats"),
    ("address of the new switch", "10.7.0.2"),
    ("how many watts do we send with?", "80 watts"),
    ("what was decided about podcasts?", "no podcasts"),
    ("who pays for ads with books?", "Lesbar"),
    ("what did the bakery book?", "ten spots"),
    ("which mixer does Kofi bring?", "Xone 92"),
    ("where do the jingles live?", "/srv/jingles"),
    ("when are recordings backed up?", "03:30"),
    ("what happened to recordings before 2019?", "deleted recordings"),
    ("where do we meet if there is a fire?", "chestnut"),
    ("which software does Mira edit with?", "Reaper"),
    ("what hums in studio 2?", "hum"),
    ("how much was the GEMA bill?", "412.50"),
    ("how does Hanna want to be contacted?", "before ten"),
    ("when is the coffee machine due?", "February"),
    ("how much did the party raise?", "830"),
    ("who was against the decision at the meeting?", "Ilse Amann was against"),
    ("is Ilse reachable in August?", "Away each August"),
    ("555-0142", "555-0142"),
    ("CRS326", "CRS326"),
    ("where does Kofi live?", "Harburg"),
    ("what to do if the transmitter goes quiet?", "tape loop"),
)
NEVER_NOTED = (
    "zxqv blorp mantifle",
    "what is the capital of Peru?",
    "which vaccine does the dog need?",
    "what is our VAT number?",
    "when is Hanna's birthday?",
    "which spots did Carpenter Jensen book?",
    "and who is her holiday replacement?",
    "how many employees does Freie Welle have?",
    "who won the station's football match?",
)
NEED = (
    "Write Ilse a mail about the August break",
    "Draft an announcement of the Kinderfunk presenter from December",
    "Which port do I open in the firewall for our stream?",
    "Remind me where the studio key is",
    "Prepare the invoice for bakery Kröger",
    "Tell the volunteers how much membership will cost",
    "Call the tower, the transmitter is silent",
    "Plan the mayor's interview",
    "What is our frequency again?",
    "Put our jingles on the new machine",
    "Write to the bookshop Lesbar about the trade",
    "Tell our regulator how many watts we use",
)
NO_NEED = (
    "Write a function that reverses a linked list",
    "Fix the typo in this sentence",
    "Explain recursion",
    "Rename the variable x to count",
    "What does git rebase do?",
    "Translate hello to French",
    "Write a regex for dates",
    "Run the tests",
    "Create a Dockerfile for node",
    "Why is my CSS not centering?",
    "Convert this JSON to YAML",
    "Print hello world in Rust",
)
SURFACES = {
    "shell, JSON": ("search", "--json"),
    "shell, line of SKILL.md": ("search", *OPTIONS),
    "shell, budget of 4,000": (
        "search", "--refresh", "--format", "md", "--budget", "4000", "--floor", "0.25",
    ),
    "recall": ("recall", "--timeout", "0"),
}  # fmt: skip


def measure(args: argparse.Namespace) -> Iterator[common.Row]:
    step = 9 if args.small else 1
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        write(top / "station")
        variables = common.environ(DB_PATH=str(top / "m.db"), PROVIDER="builtin")
        variables["HOME"] = scratch

        def call(*words: str) -> str:
            done = subprocess.run(
                [*common.COMMAND, *words],
                env=variables,
                cwd=top / "station",
                capture_output=True,
                text=True,
                check=True,
            )
            return done.stdout

        call("init", "--yes")
        for surface, (command, *options) in SURFACES.items():

            def ask(question: str, words: tuple[str, ...] = (command, *options)) -> str:
                return call(*words, "--", question)

            row = {"surface": surface} | figures(ask, step)
            if command == "recall":
                row["need"] = sum(bool(ask(prompt)) for prompt in NEED[::step])
                row["needless"] = sum(bool(ask(prompt)) for prompt in NO_NEED[::step])
            yield row


def write(top: Path) -> None:
    """Write the notes of the agent's workspace."""
    for name, text in PAGES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text, "utf-8")
    (top / "memory").mkdir()
    for number, (heading, text) in enumerate(DAYS):
        day = FIRST_DAY + timedelta(number)
        team = ("morning", "evening")[number % 2]
        routine = f"Checked the levels at 9:00. Answered {3 + number % 5} mails. The {team} team "
        routine += "read the weather report."
        note = f"# {day:%A}, {day}\n\n## {heading}\n\n{text}\n\n## Routine\n\n{routine}\n"
        (top / f"memory/{day}.md").write_text(note, "utf-8")


def figures(ask: Callable[[str], str], step: int) -> common.Row:
    answered = ANSWERED[::step]
    depths = {"first": 1, "three": 3, "five": 5}
    row: common.Row = {"questions": len(answered), **dict.fromkeys(depths, 0)}
    characters = 0
    for question, words in answered:
        printed = ask(question)
        characters += len(printed)
        place = rank(printed, words)
        for name, depth in depths.items():
            row[name] += place <= depth
    row["characters"] = characters / len(answered)
    unanswered = NEVER_NOTED[::step]
    row["silent"] = sum(ask(question).strip().count("\n") == 0 for question in unanswered)
    return row


def rank(printed: str, words: str) -> float:
    """The place of the first passage with these words, counted from 1."""
    if printed.startswith("["):
        passages = [result["text"] for result in json.loads(printed)]
    else:
        passages = f"{os.linesep}{printed}".split("\n**")[1:]
    for place, passage in enumerate(passages, 1):
        if words.lower() in " ".join(passage.replace("\n>", " ").split()).lower():
            return place
    return float("inf")


if __name__ == "__main__":
    common.run(__doc__, "surface", measure)
