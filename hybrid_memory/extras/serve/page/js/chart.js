// Documents by month, as bars that are links.

import { h, svg } from "./dom.js";

const MOST = 24; // months; the newest
const HEIGHT = 72;
const WIDTH = 480;
const WIDEST = 40; // a month

/**
 * @param {{month: string, documents: number}[]} months newest first
 * @param {(month: string) => string} href the address of a month's documents
 */
export function monthChart(months, href) {
  const counts = new Map(months.map(({ month, documents }) => [month, documents]));
  const shown = run(months[0].month).filter((month) => month >= months.at(-1).month).reverse();
  const most = Math.max(...shown.map((month) => counts.get(month) ?? 0));
  const step = Math.min(WIDEST, WIDTH / shown.length);
  const bars = shown.map((month, i) => bar(month, counts.get(month) ?? 0, most, i * step, step, href(month)));
  const chart = svg("svg", { class: "months", viewBox: `0 0 ${WIDTH} ${HEIGHT + 20}`, role: "group", "aria-label": "Documents by month" }, bars, labels(shown, step));
  return h("div", { class: "chart" }, chart);
}

function bar(month, count, most, x, step, href) {
  const height = count ? Math.max(3, (count / most) * HEIGHT) : 1;
  const said = `${month}: ${count} ${count === 1 ? "document" : "documents"}`;
  const rect = svg("rect", { x: x + step * 0.15, y: HEIGHT - height, width: step * 0.7, height, rx: 2 }, svg("title", {}, said));
  if (!count) return svg("g", { class: "none" }, rect);
  const room = svg("rect", { class: "room", x, y: 0, width: step, height: HEIGHT }, svg("title", {}, said));
  return svg("a", { href, "data-route": true, "aria-label": said }, room, rect);
}

/** A bar for a share of 1. @param {number} part */
export const share = (part) =>
  svg("svg", { class: "share", viewBox: "0 0 100 3", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: part * 100, height: 3 }));

/** The years, and the months where there is room for them. */
function labels(months, step) {
  return months.map((month, i) => {
    const [year, number] = month.split("-");
    const first = i === 0 ? months.length < 3 || number < "11" : number === "01";
    return first && svg("text", { x: i * step + step * 0.15, y: HEIGHT + 16, "aria-hidden": "true" }, year);
  }).filter(Boolean);
}

/** The months before and with this one, newest first. */
function run(newest) {
  const [year, month] = newest.split("-").map(Number);
  return Array.from({ length: MOST }, (_, back) => {
    const at = year * 12 + month - 1 - back;
    return `${String(Math.floor(at / 12)).padStart(4, "0")}-${String((at % 12) + 1).padStart(2, "0")}`;
  });
}
