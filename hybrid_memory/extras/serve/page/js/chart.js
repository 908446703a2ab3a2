// A bar chart of documents by month, with a row per year. Each bar is a link.

import { h, svg } from "./dom.js";

const HEIGHT = 26; // of a bar
const ROW = 34; // height of a row
const STEP = 36; // width of a month
const LABEL = 48; // width of the year
const WIDTH = LABEL + 12 * STEP;
const FIRST = 6; // years shown; the others unfold

/**
 * @param {{month: string, documents: number}[]} months newest first
 * @param {(month: string) => string} href the address of a month's documents
 */
export function monthChart(months, href) {
  const counts = new Map(months.map(({ month, documents }) => [month, documents]));
  const most = Math.max(...counts.values());
  const years = [...new Set(months.map(({ month }) => month.slice(0, 4)))];
  const chart = (some, label) => svg("svg", { class: "months", viewBox: `0 0 ${WIDTH} ${some.length * ROW}`, role: "group", "aria-label": label },
    some.flatMap((year, i) => row(year, i * ROW, counts, most, href)));
  const rest = years.slice(FIRST);
  return h("div", { class: "chart" }, chart(years.slice(0, FIRST), "Documents by month"),
    rest.length > 0 && h("details", {}, h("summary", {}, `${rest[0]} and before`), chart(rest, "Documents by month, before")));
}

function row(year, y, counts, most, href) {
  const bars = Array.from({ length: 12 }, (_, i) => {
    const month = `${year}-${String(i + 1).padStart(2, "0")}`;
    return bar(month, counts.get(month) ?? 0, most, LABEL + i * STEP, y, href(month));
  });
  return [svg("text", { x: 0, y: y + HEIGHT, "aria-hidden": "true" }, year), ...bars];
}

function bar(month, count, most, x, y, href) {
  const height = count ? Math.max(3, (count / most) * HEIGHT) : 1;
  const said = `${month}: ${count} ${count === 1 ? "document" : "documents"}`;
  const rect = svg("rect", { x: x + STEP * 0.15, y: y + HEIGHT - height, width: STEP * 0.7, height, rx: 2 }, svg("title", {}, said));
  if (!count) return svg("g", { class: "none" }, rect);
  const room = svg("rect", { class: "room", x, y: y - 2, width: STEP, height: HEIGHT + 4 }, svg("title", {}, said));
  return svg("a", { href, "data-route": true, "aria-label": said }, room, rect);
}

/** A bar for a share. @param {number} part 0 to 1 */
export const share = (part) =>
  svg("svg", { class: "share", viewBox: "0 0 100 3", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: part * 100, height: 3 }));
