// The plugin of opencode: a line at the start of a session, recall before each prompt, and the conversation after each answer.
// The command hybrid-memory gives every answer. `hybrid-memory connect opencode` puts this file into
// ~/.config/opencode/plugins, with the command's path.

import { spawn } from "node:child_process";

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

function isSpoken(part) {
  return part.type === "text" && !part.synthetic && !part.ignored;
}

function spoken(parts) {
  return parts
    .filter(isSpoken)
    .map((part) => part.text)
    .join("\n\n");
}

const PASSAGES = "_memory"; // how the id of a part with passages ends
const NEWS = "_news"; // and of that with the line at the start

function isOurs(part, ends = [PASSAGES, NEWS]) {
  return part.type === "text" && part.synthetic && ends.some((end) => part.id?.endsWith(end));
}

export const HybridMemory = async ({ client, directory }) => {
  const messages = async (sessionID) => {
    const { data } = await client.session.messages({ path: { id: sessionID } });
    return (data ?? []).map(({ info, parts }) => ({
      role: info.role,
      text: spoken(parts),
      timestamp: new Date(info.time.created).toISOString(),
      recalled: parts.some((part) => isOurs(part, [PASSAGES])),
      tools: parts.filter((part) => part.type === "tool").map((part) => part.tool),
    }));
  };
  const isNew = async (sessionID) => {
    try {
      return (await messages(sessionID)).length === 0;
    } catch {
      return false; // opencode does not answer; passages matter more than the line
    }
  };
  const tell = (name, sessionID, fields) =>
    recall({ hook_event_name: name, session_id: sessionID, cwd: directory, ...fields });
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const add = (end, text) => {
        if (text) {
          const id = `prt_${message.id.replace(/^msg_/, "")}${end}`;
          const part = { id, sessionID, messageID: message.id, type: "text", text, synthetic: true };
          parts.push({ ...part, ignored: true }); // it stays out of requests, as that for a title
        }
      };
      const prompt = spoken(parts);
      if (await isNew(sessionID)) {
        add(NEWS, await tell("session.created", sessionID, {}));
      }
      add(PASSAGES, await tell("chat.message", sessionID, { prompt }));
    },
    // Before a request for an answer
    "experimental.chat.messages.transform": async (_input, output) => {
      for (const { parts } of output.messages) {
        for (const part of parts.filter((part) => isOurs(part))) {
          part.ignored = false;
        }
      }
    },
    event: async ({ event }) => {
      const isCompacted = event.type === "session.compacted";
      if (event.type !== "session.idle" && !isCompacted) {
        return;
      }
      const { sessionID } = event.properties;
      try {
        await tell("session.idle", sessionID, { messages: await messages(sessionID) });
        if (isCompacted) {
          await tell("session.compacted", sessionID, { source: "compact" });
        }
      } catch {
        // opencode ends; the next event tries again
      }
    },
  };
};
