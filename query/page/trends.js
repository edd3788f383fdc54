// Concepts that are named more often than before: each with its counts over a window.

import { get } from "./api.js";
import { spark } from "./charts.js";
import { $, counted, h, number, put } from "./dom.js";

const WINDOWS = {
  "24h": { interval: "1h", rows: 24, recent: 6, words: "the last 6 hours" },
  "7d": { interval: "6h", rows: 28, recent: 4, words: "the last day" },
  "30d": { interval: "1d", rows: 30, recent: 7, words: "the last week" },
};
const STORIES = 6;
const EACH = 3;
const SHOWN = 8;
const EVERY = 20_000;
let chosen = "7d";
let readAt = 0;

/** Make the choice of the window work. */
export function prepareTrends() {
  for (const button of document.querySelectorAll("[data-window]")) {
    button.addEventListener("click", () => {
      chosen = button.dataset.window;
      for (const other of document.querySelectorAll("[data-window]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      readAt = 0;
      showTrends();
    });
  }
}

/** Show what rises; read again at most every few seconds. */
export async function showTrends() {
  if (Date.now() - readAt < EVERY) return;
  readAt = Date.now();
  const place = $("trends");
  const wanted = chosen;
  try {
    const found = await rising(WINDOWS[wanted], wanted);
    if (wanted !== chosen || (place.matches(":focus-within") && place.querySelector("li"))) return;
    put($("trends-note"), `Concepts named more often than before, with their documents of ${WINDOWS[wanted].words}.`);
    put(place, found.length ? h("ul", { class: "trends" }, found.map((one) => row(one, WINDOWS[wanted]))) : nothing());
  } catch (error) {
    if (!place.querySelector("li")) put(place, h("p", { class: "notice" }, error.message));
  } finally {
    place.setAttribute("aria-busy", "false");
  }
}

const nothing = () => h("p", { class: "quiet empty" }, "Nothing rises in this window.");

/** The concepts of the growing stories whose recent share exceeds their past most. */
async function rising(window, since) {
  const { communities } = await get(`v1/communities?order=growth&limit=${STORIES}`);
  const names = [...new Set(communities.flatMap((c) => c.concepts.slice(0, EACH)))];
  const series = await Promise.all(names.map((name) => seriesOf(name, window, since)));
  return series
    .filter((one) => one !== null && one.recent > 0)
    .sort((a, b) => b.burst - a.burst || b.total - a.total)
    .slice(0, SHOWN);
}

async function seriesOf(name, window, since) {
  let found;
  try {
    found = await get(`v1/timeseries?concept=${encodeURIComponent(name)}&interval=${window.interval}&since=${since}`);
  } catch (error) {
    if (error.status === 404) return null; // gone since the stories were read
    throw error;
  }
  const counts = found.rows.slice(-window.rows).map((r) => r.documents + r.edits);
  const total = counts.reduce((a, b) => a + b, 0);
  const recent = counts.slice(-window.recent).reduce((a, b) => a + b, 0);
  const usual = ((total - recent) * window.recent) / Math.max(1, counts.length - window.recent);
  return { name, key: found.concept.toLowerCase(), counts, total, recent, burst: (recent - usual) / Math.sqrt(usual + 1) };
}

function row(one, window) {
  return h(
    "li",
    { class: one.burst > 1 ? "up" : null },
    h("a", { href: `#/concept/${encodeURIComponent(one.key)}`, dir: "auto" }, one.name),
    spark(one.counts),
    h("span", { class: "count" }, number(one.recent), h("span", { class: "hidden" }, ` of ${counted(one.total, "document")} in ${window.words}`)),
  );
}
