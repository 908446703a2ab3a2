// The plugin of opencode: recall before each prompt, and the transcript after each answer.
// The command hybrid-memory gives every answer. `hybrid-memory connect opencode` puts this file into
// ~/.config/opencode/plugins, with the command's path.

import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

const COMMAND = ["hybrid-memory"];
const MOST_MS = 5_000;

/** Run `recall` for an event and return what it prints; "" after an error, which must not stop a prompt. */
function recall(event) {
  return new Promise((resolve) => {
    const [program, ...options] = COMMAND;
    const words = [...options, "recall", "--host", "opencode"];
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
    const timer = setTimeout(() => child.kill(), MOST_MS);
    let text = "";
    child.stdout.on("data", (block) => {
      text += block;
    });
    child.stdin.on("error", () => {}); // the command may end before it has read everything
    child.on("error", () => resolve(""));
    child.on("close", () => {
      clearTimeout(timer);
      resolve(text.trim());
    });
    child.stdin.end(JSON.stringify(event));
  });
}

function transcripts() {
  const state = process.env.XDG_STATE_HOME ?? "";
  const top = isAbsolute(state) ? state : join(homedir(), ".local", "state");
  return join(top, "hybrid-memory", "transcripts", "opencode");
}

function spoken(parts) {
  return parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored).map((part) => part.text);
}

/** Write the messages of a session in the form of pi, and return the path; opencode keeps them in a database. */
async function transcript(client, sessionID, cwd) {
  const { data } = await client.session.messages({ path: { id: sessionID } });
  const lines = [{ type: "session", version: 3, id: sessionID, cwd }];
  for (const { info, parts } of data ?? []) {
    const content = spoken(parts).map((text) => ({ type: "text", text }));
    lines.push({ type: "message", timestamp: new Date(info.time.created).toISOString(), message: { role: info.role, content } });
  }
  const folder = transcripts();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${sessionID.replace(/[^A-Za-z0-9_-]/g, "-")}.jsonl`);
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { mode: 0o600 });
  return path;
}

export const HybridMemory = async ({ client, directory }) => {
  const ingest = async (event, sessionID) => {
    try {
      const path = await transcript(client, sessionID, directory);
      await recall({ hook_event_name: event, session_id: sessionID, cwd: directory, transcript_path: path });
    } catch {
      // the session ended, or the disk is full; the next event tries again
    }
  };
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const prompt = spoken(parts).join("\n");
      const passages = await recall({ hook_event_name: "chat.message", prompt, session_id: sessionID, cwd: directory });
      if (passages) {
        const id = `prt_${message.id.replace(/^msg_/, "")}_memory`;
        parts.push({ id, sessionID, messageID: message.id, type: "text", text: passages, synthetic: true });
      }
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") {
        await ingest("session.idle", event.properties.sessionID);
      }
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await ingest("experimental.session.compacting", sessionID);
    },
  };
};
