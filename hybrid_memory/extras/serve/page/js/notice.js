// Notices for an unreachable server, a missing token or an error. The rest of the page stays as it was.

import { byId, h, show } from "./dom.js";
import * as api from "./api.js";

const AGAIN = 3000; // ms between attempts while there is no answer

let timer = 0;

/** Remove the notice. */
export function clear() {
  clearTimeout(timer);
  show(byId("notice"));
}

/** @param {Error} failure @param {() => void} again called when the server answers again */
export function say(failure, again) {
  clearTimeout(timer);
  if (failure.kind === "offline") offline(again);
  else if (failure.kind === "token") signIn(failure.message, again);
  else {
    const retry = h("button", { type: "button", onclick: () => { clear(); again(); } }, "Try again");
    box(failure.kind === "query" ? "Cannot answer this request" : "Something went wrong", sentence(failure.message), failure.kind === "query" ? null : retry);
  }
}

function offline(again) {
  box("The server does not answer", "This page shows its last answers. Start it in a terminal with ", h("code", {}, "hybrid-memory serve"), "; the page then reconnects by itself.");
  const attempt = async () => {
    try {
      await api.status();
    } catch (failure) {
      if (failure.kind === "offline") {
        timer = setTimeout(attempt, AGAIN);
        return;
      }
    }
    clear();
    again();
  };
  timer = setTimeout(attempt, AGAIN);
}

function signIn(message, again) {
  const input = h("input", { id: "token", type: "password", autocomplete: "current-password", required: true, "aria-describedby": "token-said" });
  const said = h("p", { id: "token-said" }, sentence(message));
  const enter = async (event) => {
    event.preventDefault();
    try {
      await api.signIn(input.value.trim());
      clear();
      again();
    } catch (failure) {
      said.textContent = sentence(failure.message);
      input.select();
    }
  };
  show(byId("notice"), h("div", { class: "notice" },
    h("h2", {}, "This memory requires a token"),
    h("p", {}, "When it starts, ", h("code", {}, "hybrid-memory serve"), " prints the name of the file that contains it."),
    h("form", { class: "token", onsubmit: enter }, h("label", { for: "token" }, "Token"), input, h("button", { type: "submit" }, "Open")),
    said));
}

const box = (title, ...children) => show(byId("notice"), h("div", { class: "notice" }, h("h2", {}, title), h("p", {}, ...children)));

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
