"""The command `recall`, which agent hooks call on every prompt and at a few other events.

For a prompt it prints the few relevant passages of the memory, or nothing. It must not fail, wait
or intrude: after an error or a timeout it prints nothing and exits with status 0. It does not rank;
it prints the results of a search under a budget. At the start of a session it lists new notes; at
the end and before a compaction it ingests the transcript. The table of hosts has their names of
these events; without `--host`, all those names are known.

No passage is printed twice in a session; a line says which one was shown before. From the session's
own transcript, only passages that a compaction removed from the context are printed.
"""

import _thread
import json
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

from ...errors import HybridMemoryError, NoWorkspaceError
from ...options import NUMBER, Option
from ...search.request import OPTIONS, filters_of
from ...storage.filters import FILTERS
from ...surface import arguments
from ...surface.arguments import Parser, add_options, examples, given
from ...surface.streams import output, print_message
from ..formats.inserted import HEADING
from ..hosts import END, PROMPT, filled, hosts
from ..hosts import START as START_OF_SESSION
from .conversation import with_transcript
from .prompts import CHARACTERS, FLOOR
from .runs import ANSWERED, FAILED, LATE, NO_MEMORY, SILENT, note_run
from .state import Begun, RecallSession, begun, end_turn, note_begun, note_turn

SECONDS = 0.3  # of CPU time
READING_SECONDS = 10.0  # for standard input: a host may be slow, or never close it
# Of the real time that is left, for the query's vector: then keywords answer in the rest
QUERY_SHARE = 0.5
WALL_SECONDS = 2.0  # least limit of real time: machines that compile and test are busy


def recall_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [PROMPT ...]"
    parser.add_argument(
        "words",
        nargs="*",
        metavar="PROMPT",
        help="default: read standard input, a text or the JSON of an agent hook",
    )
    parser.add_argument(
        "--session",
        default="",
        metavar="ID",
        help="do not repeat passages already shown in this session",
    )
    parser.add_argument(
        "--budget",
        type=arguments.word(OPTIONS["budget"]),
        default=CHARACTERS,
        metavar="N",
        help="print at most N characters (default: %(default)s)",
    )
    parser.add_argument(
        "--floor",
        "--min-confidence",
        dest="floor",
        type=arguments.word(OPTIONS["floor"]),
        default=FLOOR,
        metavar="C",
        help="minimum relevance of the passages, 0 to 1 (default: %(default)s)",
    )
    parser.add_argument(
        "--timeout",
        type=arguments.word(Option(NUMBER, "")),
        default=SECONDS,
        metavar="SECONDS",
        help="print nothing for a prompt if it takes more CPU time, or at least 2 seconds and "
        "this many of real time; 0 for no limit (default: %(default)s)",
    )
    parser.add_argument(
        "--host",
        choices=list(hosts()),
        metavar="NAME",
        help=f"the agent that calls ({', '.join(hosts())}): print in its format, and log the run",
    )
    parser.add_argument(
        "--explain", action="store_true", help="explain on standard error why nothing is printed"
    )
    add_options(parser, FILTERS)
    examples(parser, 'recall "which port does SSH on atlas use?"', "recall < prompt.txt")


class Deadline:
    """Ends the process after a limit of CPU time or of real time, both in seconds, unless `met` was
    called before. Calls `at_end` before.
    """

    def __init__(self, cpu: float, wall: float, at_end: Callable[[], None]) -> None:
        self._cpu = time.process_time() + cpu
        self._wall = time.monotonic() + wall
        self._at_end = at_end
        self._answer = _thread.allocate_lock()  # `threading` would take a millisecond to import
        _thread.start_new_thread(self._wait, ())

    def _wait(self) -> None:
        while (left := self._left()) > 0:
            time.sleep(left)
        if self._answer.acquire(blocking=False):
            self._at_end()
            os._exit(0)

    def _left(self) -> float:
        """Seconds in which the limit cannot be reached: CPU time is not faster than real time."""
        return min(self._cpu - time.process_time(), self.wall_left())

    def wall_left(self) -> float:
        """Seconds of real time until the limit, at least 0."""
        return max(self._wall - time.monotonic(), 0.0)

    def met(self) -> None:
        """Cancel the time limit: the answer is ready."""
        self._answer.acquire()


def run_recall(args: Namespace) -> int:
    args.quiet = True  # nobody reads progress messages
    args.workspace_only = True
    try:
        _run(args)
    except Exception as error:  # a hook that fails would block the user
        _explain(args, f"{type(error).__name__}: {error}")
        _note(args, FAILED)
    return 0


def _run(args: Namespace) -> None:
    hook = with_transcript(args.host, _hook(args))
    event = str(hook.get("hook_event_name", ""))
    kind = _kind(args, event)
    if kind is None:
        return
    args.workspace = _workspace(hook)
    transcript = hook.get("transcript_path")
    if kind == END and transcript:
        end_turn(transcript)
        _in_background(args, [note_begun(args.workspace, transcript)])
        return
    if kind == PROMPT and transcript:
        note_turn(hook.get("session_id") or "", transcript)
    if kind == START_OF_SESSION and (interrupted := begun()):
        _in_background(args, interrupted)
    answer, outcome = _outcome(args, kind, lambda: _text(args, hook, kind))
    if answer:
        with output() as stream:
            print(_reply(args.host, event, kind, answer.rstrip()), file=stream)
    _note(args, outcome)


def _text(args: Namespace, hook: Mapping[str, Any], kind: str) -> str:
    """What a hook tells the agent."""
    if kind == PROMPT:
        return _answer(args, hook)
    if kind == START_OF_SESSION:
        from .events import start

        return start(args, hook)
    return ""


def _outcome(args: Namespace, kind: str, run: Callable[[], str]) -> tuple[str, str]:
    """The answer and the outcome of a run. At the start of a session, an error is the answer."""
    try:
        answer = run()
    except HybridMemoryError as error:
        _explain(args, str(error))
        told = f"hybrid-memory: {error}" if kind == START_OF_SESSION else ""
        return told, NO_MEMORY if isinstance(error, NoWorkspaceError) else FAILED
    except Exception as error:  # a hook that fails would block the user
        _explain(args, f"{type(error).__name__}: {error}")
        return "", FAILED
    return answer, ANSWERED if answer else SILENT


def _in_background(args: Namespace, sessions: list[Begun]) -> None:
    """Ingest transcripts in another process, which outlives the agent.

    Agents kill a hook that still runs when they exit. So the process is separate before the modules
    that ingest are loaded.
    """
    waiting, separate = os.pipe()
    if os.fork():
        os.close(separate)
        os.read(waiting, 1)  # ends when the other process has closed its end
        return
    os.setsid()
    os.close(separate)
    for descriptor in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    from .events import ingest_transcript

    for session in sessions:
        args.workspace = session.workspace
        ingest = partial(ingest_transcript, args, session.transcript)
        _note(args, _outcome(args, END, ingest)[1])
        session.end()
    os._exit(0)


def _note(args: Namespace, outcome: str) -> None:
    if args.host:
        note_run(args.host, outcome)


def _kind(args: Namespace, event: str) -> str | None:
    """What an event asks for; None for an unknown event. Without an event, it is a prompt."""
    if not event:
        return PROMPT
    known = [hosts()[args.host]] if args.host else hosts().values()
    return next((host.events[event] for host in known if event in host.events), None)


def _workspace(hook: Mapping[str, Any]) -> str:
    """The folder in which the agent works. Cursor gives a list of them."""
    roots = hook.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return os.path.abspath(str(hook.get("cwd") or first or "."))


def _answer(args: Namespace, hook: Mapping[str, Any]) -> str:
    """The passages for a prompt, as text, within the time limit."""
    deadline = None
    if args.timeout:

        def at_end() -> None:
            _note(args, LATE)
            if args.explain:  # unbuffered, as the other thread may be printing
                line = f"hybrid-memory: no answer within {args.timeout:g} s (--timeout)\n"
                with suppress(OSError):
                    os.write(2, line.encode())

        deadline = Deadline(args.timeout, max(args.timeout, WALL_SECONDS), at_end)
    from ...surface.opening import open_store
    from .passages import printed, printed_warning, recalled

    name = hook.get("session_id") or hook.get("conversation_id") or args.session
    session = RecallSession(name, hook.get("transcript_path"))
    warnings: list[str] = []
    with open_store(args) as store:
        if deadline:  # opening takes long on a busy machine
            store.limit_queries(QUERY_SHARE * deadline.wall_left())
        results = recalled(
            store,
            hook["prompt"],
            session,
            characters=args.budget,
            floor=args.floor,
            filters=filters_of(given(args, FILTERS)),
            explain=lambda line: _explain(args, line),
            warn=warnings.append,
        )
    if deadline:
        deadline.met()
    if not (results or warnings):
        return ""
    if not (args.host and hosts()[args.host].forgets_passages):
        session.note(results)
    return f"{HEADING}\n{''.join(map(printed_warning, warnings))}{printed(results)}"


def _reply(host: str | None, event: str, kind: str, text: str) -> str:
    """What an agent expects on standard output."""
    template = hosts()[host].replies.get(kind) if host else None
    if template:
        return json.dumps(filled(template, {"{event}": event, "{text}": text}))
    return text


def _hook(args: Namespace) -> dict[str, Any]:
    """Return the fields of the hook's JSON, or `prompt` alone for plain text."""
    if args.words:
        return {"prompt": " ".join(args.words)}
    reading = Deadline(inf, READING_SECONDS, lambda: _note(args, FAILED))
    text = sys.stdin.buffer.read().decode(errors="replace")
    reading.met()
    if text.lstrip().startswith("{"):
        try:
            hook = json.loads(text)
        except ValueError:
            return {"prompt": text}
        if "hook_event_name" in hook or "prompt" in hook:
            return dict(hook)
    return {"prompt": text}


def _explain(args: Namespace, line: str) -> None:
    if args.explain:
        print_message(line)
