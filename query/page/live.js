// What is arriving: the newest documents, how fresh the index is, and which sources there are.

import { get, Refused } from "./api.js";
import { $, counted, duration, h, number, put, time, titleOf } from "./dom.js";
import { sourceAddress } from "./source.js";

const EVERY = 2_000;
const SLOWEST = 30_000;
const SHOWN = 25;
const MOST = 400;

const listeners = [];
const seen = new Set();
let delay = EVERY;
let generation = -1;
let next = null;

/** Call a function with every status. */
export const onStatus = (listener) => listeners.push(listener);

/** Look for news at intervals, less often while the page is hidden or the service is away. */
export async function watch() {
  $("older").addEventListener("click", older);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) look();
  });
  for (;;) {
    await look();
    await new Promise((resolve) => setTimeout(resolve, document.hidden ? SLOWEST : delay));
  }
}

async function look() {
  try {
    const status = await get("v1/status");
    pulse(status);
    for (const listener of listeners) listener(status);
    if (status.generation !== generation || generation < 0) {
      generation = status.generation;
      await arrivals();
      await sources();
    }
    delay = EVERY;
  } catch (error) {
    away(error);
    delay = Math.min(SLOWEST, delay * 2);
  }
}

function pulse(status) {
  const fresh = status.freshness_seconds;
  const behind = fresh !== null && fresh > 30;
  $("pulse").dataset.state = behind ? "behind" : "live";
  const text = fresh === null ? "live" : fresh === 0 ? "up to date" : `fresh within ${duration(fresh)}`;
  put($("freshness"), behind ? `${duration(fresh)} behind` : text);
  put($("generation"), `generation ${number(status.generation)}`);
  put($("arriving-count"), counted(status.documents, "document"));
}

function away(error) {
  $("pulse").dataset.state = "away";
  put($("freshness"), error instanceof Refused ? error.message : "not reachable, trying again");
  put($("generation"));
}

async function arrivals() {
  const page = await get(`v1/documents?limit=${SHOWN}`);
  const list = $("arriving");
  const first = list.childElementCount === 0;
  const fresh = page.documents.filter((d) => !seen.has(keyOf(d)));
  if (first) next = page.next;
  list.prepend(...fresh.map((d) => item(d, !first)));
  while (list.childElementCount > MOST) list.lastElementChild.remove();
  drop(page.documents);
  $("older").hidden = next === null;
  if (first && page.documents.length === 0) {
    put($("arriving-count"), "Nothing has arrived yet.");
  }
}

/** An edited document arrives again: its former entry goes. */
function drop(documents) {
  const current = new Map(documents.map((d) => [d.document_id, keyOf(d)]));
  for (const entry of $("arriving").children) {
    const key = current.get(entry.dataset.document);
    if (key && key !== entry.dataset.key) entry.remove();
  }
}

async function older() {
  const page = await get(`v1/documents?limit=${SHOWN}&cursor=${encodeURIComponent(next)}`);
  $("arriving").append(...page.documents.filter((d) => !seen.has(keyOf(d))).map((d) => item(d)));
  next = page.next;
  $("older").hidden = next === null;
}

const keyOf = (d) => `${d.generation} ${d.document_id}`;

function item(d, arrived = false) {
  seen.add(keyOf(d));
  return h(
    "li",
    { class: arrived ? "arrived" : null, "data-document": d.document_id, "data-key": keyOf(d) },
    h("a", { href: sourceAddress(d.document_id), dir: "auto", lang: d.lang || null }, titleOf(d)),
    h("p", { class: "quiet" }, d.source ? h("bdi", { class: "source" }, d.source) : null, time(d.event_at)),
  );
}

async function sources() {
  const found = await get("v1/sources");
  const select = $("source");
  const chosen = select.value;
  const options = found.sources
    .slice(0, 50)
    .map((s) => h("option", { value: s.source }, `${s.source || "(none)"} (${number(s.documents)})`));
  put(select, h("option", { value: "" }, "All sources"), options);
  select.value = chosen;
  if (select.selectedIndex < 0) select.value = "";
}
