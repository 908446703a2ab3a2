// Parses markdown to tokens in a worker, so that a note that is slow to parse does not block the page.

import { tokens } from "./syntax.js";

addEventListener("message", ({ data: { id, text } }) => {
  try {
    postMessage({ id, tokens: tokens(text) });
  } catch {
    postMessage({ id, tokens: null }); // for example, nested too deeply
  }
});
