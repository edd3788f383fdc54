// Concepts that are named beyond what their past would have: each with its counts over a window.

import { get } from "./api.js";
import { spark } from "./charts.js";
import { $, counted, h, number, put } from "./dom.js";

const WINDOWS = {
  day: { since: "6h", past: "18h", words: "the last 6 hours, held against the 18 before" },
  week: { since: "24h", past: "6d", words: "the last day, held against the 6 before" },
  month: { since: "7d", past: "23d", words: "the last week, held against the 23 days before" },
};
const SHOWN = 8;
let chosen = "week";
let generation = null;

/** Make the choice of the window work. */
export function prepareTrends() {
  for (const button of document.querySelectorAll("[data-window]")) {
    button.addEventListener("click", () => {
      chosen = button.dataset.window;
      for (const other of document.querySelectorAll("[data-window]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      generation = null;
      showTrends();
    });
  }
}

/** Show what rises, unless it stands there already or the reader moves through it. */
export async function showTrends() {
  const place = $("trends");
  const wanted = chosen;
  const { since, past, words } = WINDOWS[wanted];
  try {
    const found = await get(`v1/trends?since=${since}&window=${past}&limit=${SHOWN}`);
    const reading = place.matches(":focus-within") && generation !== null;
    if (wanted !== chosen || found.generation === generation || reading) return;
    generation = found.generation;
    put($("trends-note"), `Concepts named more often than their past would have it: documents of ${words}.`);
    put(place, found.trends.length ? h("ul", { class: "trends" }, found.trends.map((one) => row(one, found))) : nothing());
  } catch (error) {
    if (!place.querySelector("li")) put(place, h("p", { class: "notice" }, error.message));
  } finally {
    place.setAttribute("aria-busy", "false");
  }
}

const nothing = () => h("p", { class: "quiet empty" }, "Nothing rises in this window.");

function row(one, found) {
  const usual = one.growth === null ? "new" : `\u00d7${number(one.growth, one.growth < 10 ? 1 : 0)}`;
  return h(
    "li",
    {},
    h("a", { href: `#/concept/${encodeURIComponent(one.key)}`, dir: "auto" }, one.label),
    spark(one.counts, found.recent_from),
    h(
      "span",
      { class: "count" },
      h("span", { class: "hidden" }, `, ${counted(one.recent, "document")}, `),
      h("span", { class: "figure", "aria-hidden": "true" }, number(one.recent)),
      h("span", { class: "growth" }, usual),
    ),
  );
}
