// The link that opens a file in the user's editor, made from a template stored in this browser.

const KEY = "hybrid-memory.editor";
export const EXAMPLES = ["vscode://file/{path}:{line}", "zed://file/{path}:{line}", "idea://open?file={path}&line={line}", "obsidian://open?path={path}", "txmt://open?url=file://{path}&line={line}"];

/** @returns {string} */
export function template() {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // storage is not available
  }
}

/** Store a template, or delete it if the text is empty. Returns an error message, or "". @param {string} text */
export function keep(text) {
  if (text && !text.includes("{path}")) return "The template needs {path}.";
  if (text && !/^[a-z][a-z0-9+.-]*:/i.test(text)) return "The template must begin with the editor's URL scheme, such as vscode:";
  if (/^(javascript|data|vbscript|blob):/i.test(text)) return "This is not a link to an editor.";
  try {
    if (text) localStorage.setItem(KEY, text);
    else localStorage.removeItem(KEY);
  } catch {
    return "This browser cannot store settings for this page.";
  }
  return "";
}

/** @param {string} path @param {number} line @returns {string | null} null without a template */
export function editorLink(path, line) {
  const text = template();
  if (!text) return null;
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return text.replaceAll("{path}", encoded).replaceAll("{line}", String(line));
}
