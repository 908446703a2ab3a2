// The filters that are in force, each with a cross that takes it away.

import { byId, h, show } from "./dom.js";
import { FILTERS, address, withoutFilter } from "./state.js";

/** @param {[string, string][]} filters */
export function showFilters(filters) {
  const values = Object.fromEntries(filters);
  const day = values.since && values.since === values.until ? values.since : null;
  const rest = day ? filters.filter(([key]) => key !== "since" && key !== "until") : filters;
  const chips = rest.map(([key, value]) => chip(FILTERS[key], value, withoutFilter(key, value)));
  if (day) chips.push(chip(day.length > 7 ? "on" : "in", day, filters.filter(([key]) => key !== "since" && key !== "until")));
  show(byId("filters"), ...chips);
}

const chip = (said, value, without) =>
  h("a", { class: "chip", href: address({ filters: without, doc: "", lines: "" }), "data-route": true, "aria-label": `Remove the filter: ${said} ${value}` },
    h("span", {}, said), " ", h("b", { dir: "auto" }, value), h("span", { class: "cross", "aria-hidden": "true" }, "×"));
