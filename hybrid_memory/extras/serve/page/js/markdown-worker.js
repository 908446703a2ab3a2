// Markdown to tokens, off the page's own thread: a note that is made to be slow to parse keeps nothing else waiting.

import { tokens } from "./syntax.js";

addEventListener("message", ({ data: { id, text } }) => {
  try {
    postMessage({ id, tokens: tokens(text) });
  } catch {
    postMessage({ id, tokens: null }); // nested too deeply, for one
  }
});
