// Requests to the server. All answers are JSON; errors become a Failure of one of four kinds.

/** kind: "offline" (no answer), "token" (access refused), "query" (invalid request, see `message`) or "server". */
export class Failure extends Error {
  /** @param {"offline" | "token" | "query" | "server"} kind @param {string} message @param {number} [status] */
  constructor(kind, message, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

export const PER_NOTE = 4; // maximum passages per note, to leave room for other notes
const SHOWN = [["explain", "true"], ["marks", "true"], ["rerank", "false"], ["per_doc", String(PER_NOTE)]];
const WHILE_TYPING = [["typed", "true"], ["mode", "keyword"]];

/** @param {string} q @param {[string, string][]} filters @param {number} limit @param {AbortSignal} [signal] */
export const search = (q, filters, limit, signal) => get("search", [["q", q], ["limit", limit], ...SHOWN, ...filters], signal);

/** A fast search by keyword, for a query whose last word may be incomplete. @param {string} q @param {[string, string][]} filters @param {number} limit @param {AbortSignal} [signal] */
export const searchTyped = (q, filters, limit, signal) => get("search", [["q", q], ["limit", limit], ...SHOWN, ...WHILE_TYPING, ...filters], signal);

/** @param {[string, string][]} filters @param {number} limit @param {AbortSignal} [signal] */
export const documents = (filters, limit, signal) => get("documents", [["limit", limit], ...filters], signal);

const WHOLE = [["max_lines", "10000"], ["max_chars", "400000"]]; // enough for most documents

/** @param {string} id @param {string} lines such as 12-30; empty to read from the beginning @param {AbortSignal} [signal] */
export const read = (id, lines, signal) => get(`documents/${encodeURIComponent(id)}`, lines ? [["lines", lines], ...WHOLE] : WHOLE, signal);

/** The URL of an image in a document. @param {string} id @param {string} target its path, as written in the document */
export const imageOf = (id, target) => `api/documents/${encodeURIComponent(id)}/image?target=${encodeURIComponent(target)}`;

/** Passages of other documents that are similar to the one at these lines. @param {string} id @param {string} lines @param {AbortSignal} [signal] */
export const similar = (id, lines, signal) => get(`documents/${encodeURIComponent(id)}/similar`, lines ? [["lines", lines]] : [], signal);

/** The links from and to a document. @param {string} id @param {AbortSignal} [signal] */
export const links = (id, signal) => get(`documents/${encodeURIComponent(id)}/links`, [], signal);

/** @param {AbortSignal} [signal] */
export const overview = (signal) => get("overview", [], signal);

/** Broken links, copies and superseded notes. @param {AbortSignal} [signal] */
export const review = (signal) => get("review", [], signal);

/** @param {AbortSignal} [signal] */
export const doctor = (signal) => get("doctor", [], signal);

/** Check that the server answers. */
export const status = () => get("status", []);

/** Exchange the token for a cookie. @param {string} token */
export const signIn = (token) => ask("session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) });

async function get(path, pairs, signal) {
  const query = new URLSearchParams(pairs.map(([key, value]) => [key, String(value)])).toString();
  const response = await ask(query ? `${path}?${query}` : path, { signal });
  return response.json();
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(`api/${path}`, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("offline", "No answer from the server.");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  const said = problem.detail || `${response.status} ${response.statusText}`;
  if (response.status === 401) throw new Failure("token", said, 401);
  throw new Failure(response.status < 500 ? "query" : "server", said, response.status);
}
