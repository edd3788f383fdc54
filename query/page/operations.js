// How the stream is doing, for whoever runs it: a verdict first, then figures, then tables.

import { line } from "./charts.js";
import { bytes, counted, duration, h, number, put, time } from "./dom.js";

const KEPT = 150;
const LATE_SECONDS = 30;
const DEEP_LOG_BYTES = 1e9;
const history = new Map();
const moments = [];
let last = null;

/** Remember a status, and show it where the view is open. */
export function noteStatus(status, place) {
  last = status;
  const o = status.operations;
  moments.push(Date.now());
  moments.splice(0, moments.length - KEPT);
  remember("lag", status.lag);
  remember("freshness", status.freshness_seconds);
  remember("rate", o.documents_per_second);
  remember("generations", o.generations_per_minute);
  remember("queue", o.queue_depth);
  remember("rejects", rejected(o));
  remember("memory", o.memory_bytes);
  remember("store", o.store_bytes);
  if (!place.hidden) showOperations(place);
}

function remember(name, value) {
  const values = history.get(name) ?? [];
  values.push(value ?? null);
  history.set(name, values.slice(-KEPT));
}

const rejected = (o) => Object.values(o.rejects).reduce((a, b) => a + b, 0);

/** Show the newest status; not while the reader selects something in it. */
export function showOperations(place) {
  const selection = getSelection();
  const frame = place.querySelector(".operations-body");
  if (frame && !selection.isCollapsed && place.contains(selection.anchorNode)) return;
  if (!frame) {
    put(place, h("h1", { tabindex: "-1" }, "Operations"), h("div", { class: "operations-body" }));
  }
  const body = place.querySelector(".operations-body");
  if (last) put(body, verdict(last), tiles(last), seen(), h("div", { class: "tables" }, tables(last)));
  else put(body, h("p", { class: "quiet" }, "No status has been read yet."));
}

function verdict(status) {
  const worries = worriesOf(status);
  return h(
    "ul",
    { class: "verdict", "data-state": worries.length ? "worried" : "well" },
    (worries.length ? worries : [well(status)]).map((text) => h("li", {}, text)),
  );
}

const well = (status) =>
  status.generation === 0 ? "Nothing has arrived yet; the service waits for documents." : "All is well: what has arrived is searchable.";

/** What an operator should look at, worst first, in words. */
export function worriesOf(status) {
  const o = status.operations;
  const found = [];
  if (status.lag === null && !o.follows) found.push("The lag is not known: the source cannot be asked.");
  if (status.freshness_seconds > LATE_SECONDS) {
    found.push(`The oldest record that is not searchable has waited ${duration(status.freshness_seconds)}.`);
  }
  if (o.follows) found.push(...behind(o.follows));
  const away = o.degraded.filter((part) => part !== "writer");
  if (away.length) found.push(`Some parts are not reachable, others stand in for them: ${away.join(", ")}.`);
  if (o.dead_letters_pending) found.push(`${counted(o.dead_letters_pending, "rejected record")} to be replayed or dropped: "tidegraph dead-letters" lists them.`);
  if (o.wal_bytes > DEEP_LOG_BYTES) found.push(`The write-ahead log has grown to ${bytes(o.wal_bytes)}: a reader may hold it.`);
  return found;
}

/** What to look at where this is a copy of a store on another host. */
function behind(follows) {
  const ago = follows.behind_seconds === null ? "an unknown time" : duration(follows.behind_seconds);
  if (follows.problem) return [`This copy cannot follow its writer and answers from ${ago} ago: ${follows.problem}.`];
  return follows.behind_seconds > LATE_SECONDS ? [`This copy is ${ago} behind its writer.`] : [];
}

function tiles(status) {
  const o = status.operations;
  const waiting = o.queue_bytes ? `records waiting, ${bytes(o.queue_bytes)}` : "records read, not yet committed";
  const log = o.wal_bytes === null ? "on disk" : `and ${bytes(o.wal_bytes)} of write-ahead log`;
  return h(
    "dl",
    { class: "tiles" },
    tile("Lag", status.lag === null ? "unknown" : number(status.lag), "records not yet read", "lag"),
    tile("Freshness", duration(status.freshness_seconds), "age of the oldest not searchable", "freshness"),
    tile("Throughput", perSecond(o.documents_per_second), "documents, over a minute", "rate"),
    tile("Generations", number(o.generations_per_minute, 1), "a minute", "generations"),
    tile("Queue", number(o.queue_depth), waiting, "queue"),
    tile("Rejects", number(rejected(o)), "records since the store began", "rejects"),
    tile("Memory", bytes(o.memory_bytes), "resident", "memory"),
    tile("Store", bytes(o.store_bytes), log, "store"),
  );
}

const perSecond = (rate) => (rate === null ? "\u2013" : `${number(rate, 1)} /s`);

function tile(name, value, note, series) {
  const values = history.get(series) ?? [];
  return h(
    "div",
    { class: "tile" },
    h("dt", {}, name),
    h("dd", {}, h("span", { class: "figure" }, value), h("span", { class: "quiet" }, note), line(values)),
  );
}

function seen() {
  const seconds = (moments.at(-1) - moments[0]) / 1000;
  const text = seconds < 5 ? "The lines grow while this page is open." : `The lines show the last ${duration(Math.round(seconds))}, as this page saw it.`;
  return h("p", { class: "quiet" }, text);
}

function tables(status) {
  return [rejects(status.operations), index(status), communities(status), positions(status), process(status)];
}

function rejects(o) {
  const rows = Object.entries(o.rejects).sort((a, b) => b[1] - a[1]);
  if (!rows.length) return null;
  return table("Rejected records", ["Reason", "Records"], rows.map(([reason, count]) => [reason.replaceAll("_", " "), number(count)]));
}

function index(status) {
  return table("Index", ["What", "Now"], [
    ["Generation", number(status.generation)],
    ["Committed", status.committed_at ? time(status.committed_at) : "\u2013"],
    ["Documents", number(status.documents)],
    ["Passages", number(status.chunks)],
    ["Concepts", number(status.concepts)],
    ["Edges", number(status.edges)],
    ["Newest arrival", status.newest_arrival ? time(status.newest_arrival) : "\u2013"],
    ["Watermark", status.watermark ? time(status.watermark) : "\u2013"],
    ...expiry(status.expiry),
    ...checkpoint(status.operations.checkpoint),
  ]);
}

function expiry(e) {
  if (!e || !e.horizon) return [];
  return [
    ["Documents kept since", time(e.horizon)],
    ["Expired, due", `${number(e.expired)}, ${number(e.due)}`],
    ["Came too late", number(e.late)],
  ];
}

function checkpoint(c) {
  if (!c || (c.generation === null && !c.problem)) return [];
  const of = c.generation === null ? "none" : [`generation ${number(c.generation)}, `, time(c.written_at)];
  return [["Checkpoint", c.problem ? [of, `; ${c.problem}`] : of]];
}

function communities(status) {
  const levels = Object.entries(status.communities);
  if (!levels.length) return null;
  const modularity = (level) => (status.modularity[level] === undefined ? "\u2013" : number(status.modularity[level], 3));
  return table("Communities", ["Level", "Communities", "Modularity"], levels.map(([level, count]) => [`C${level}`, number(count), modularity(level)]));
}

function positions(status) {
  if (!status.positions.length) return null;
  return table("Positions", ["Topic", "Partition", "Next offset"], status.positions.map((p) => [h("bdi", {}, p.topic), number(p.partition), number(p.offset)]));
}

function process(status) {
  const o = status.operations;
  return table("Process", ["What", "Now"], [
    ["Up for", duration(o.uptime_seconds)],
    ["Version", o.version || "\u2013"],
    ["Collection", h("bdi", {}, o.collection)],
    ["Role", o.role || "\u2013"],
    ["Assessor", o.assessor || "\u2013"],
    ...followed(o.follows),
    ["Degraded", o.degraded.length ? o.degraded.join(", ") : "no"],
  ]);
}

function followed(follows) {
  if (!follows) return [];
  const generations = follows.behind_generations === null ? "\u2013" : number(follows.behind_generations);
  return [
    ["Follows", h("bdi", {}, follows.writer)],
    ["Behind", `${duration(follows.behind_seconds)}, ${generations} generations`],
    ...(follows.fetching ? [["Fetches", "a whole copy"]] : []),
  ];
}

function table(title, heads, rows) {
  return h(
    "section",
    { class: "table" },
    h("h2", {}, title),
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, name), cells.map((cell) => h("td", {}, cell))))),
    ),
  );
}
