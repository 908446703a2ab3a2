// What the page says when the server does not answer, does not let it in, or has a problem. What was shown before stays.

import { byId, h, show } from "./dom.js";
import * as api from "./api.js";

const AGAIN = 3000; // ms between attempts while there is no answer

let timer = 0;

/** All is well again. */
export function clear() {
  clearTimeout(timer);
  show(byId("notice"));
}

/** @param {Error} failure @param {() => void} again what to do once there is an answer */
export function say(failure, again) {
  clearTimeout(timer);
  if (failure.kind === "offline") offline(again);
  else if (failure.kind === "token") signIn(failure.message, again);
  else {
    const retry = h("button", { type: "button", onclick: () => { clear(); again(); } }, "Try again");
    box(failure.kind === "query" ? "Cannot answer that" : "Something went wrong", sentence(failure.message), failure.kind === "query" ? null : retry);
  }
}

function offline(again) {
  box("The server does not answer", "What you see is what it said last. In a terminal, ", h("code", {}, "hybrid-memory serve"), " starts it again; this page goes on by itself.");
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
    h("h2", {}, "This memory asks for a token"),
    h("p", {}, "It is at the end of the address that ", h("code", {}, "hybrid-memory serve"), " printed."),
    h("form", { class: "token", onsubmit: enter }, h("label", { for: "token" }, "Token"), input, h("button", { type: "submit" }, "Open")),
    said));
}

const box = (title, ...children) => show(byId("notice"), h("div", { class: "notice" }, h("h2", {}, title), h("p", {}, ...children)));

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
