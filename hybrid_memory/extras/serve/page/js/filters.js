// The active filters, from the address and from the query, each with a cross to remove it, and two fields for date filters.

import { byId, h, show } from "./dom.js";
import { FILTERS, address, go, state, withoutFilter } from "./state.js";

const dates = byId("dates");
const fields = { since: byId("since"), until: byId("until") };

/** @param {import("./state.js").State} state */
export function showFilters({ filters, q, doc }) {
  const values = Object.fromEntries(filters);
  const day = values.since && values.since === values.until ? values.since : null;
  const rest = day ? filters.filter(([key]) => key !== "since" && key !== "until") : filters;
  const chips = rest.map(([key, value]) => chip(FILTERS[key], value, { filters: withoutFilter(key, value) }));
  if (day) chips.push(chip(day.length > 7 ? "on" : "in", day, { filters: filters.filter(([key]) => key !== "since" && key !== "until") }));
  show(byId("filters"), ...chips);
  byId("syntax").hidden = Boolean(q || doc || filters.length);
  fields.since.value = firstDay(values.since ?? "");
  fields.until.value = lastDay(values.until ?? "");
}

/** Show the filters in the query, as parsed by the server. @param {string[]} operators as written in the query */
export function showOperators(operators) {
  const { q } = state();
  show(byId("operators"), ...operators.map((operator) => chip("", operator, { q: q.replace(operator, " ").split(/\s+/).join(" ").trim() })));
}

/** Connect the date fields with the filters. */
export function listenToDates() {
  for (const [key, field] of Object.entries(fields)) {
    field.addEventListener("change", () => {
      const others = state().filters.filter(([name]) => name !== key);
      go({ filters: field.value ? [...others, [key, field.value]] : others, doc: "", lines: "" });
    });
  }
  addEventListener("click", (event) => {
    if (dates.open && !dates.contains(event.target)) dates.open = false;
  });
  dates.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !dates.open) return;
    event.preventDefault();
    dates.open = false;
    dates.querySelector("summary").focus();
  });
}

/** The value of a date field, which can only show days: a filter may also be a month or an age. */
const firstDay = (text) => (/^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text.length === 10 ? text : "");

function lastDay(text) {
  if (!/^\d{4}-\d{2}$/.test(text)) return firstDay(text);
  const [year, month] = text.split("-").map(Number);
  return new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10);
}

const chip = (said, value, without) =>
  h("a", { class: "chip", href: address({ ...without, doc: "", lines: "" }), "data-route": true, "aria-label": `Remove the filter: ${said} ${value}` },
    said && h("span", {}, said), said && " ", h("b", { dir: "auto" }, value), h("span", { class: "cross", "aria-hidden": "true" }, "×"));
