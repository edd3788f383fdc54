// How the stream is doing, for whoever runs it.

import { line } from "./charts.js";
import { bytes, duration, h, number, put, time } from "./dom.js";

const KEPT = 150;
const history = new Map();
let last = null;

/** Remember a status, and show it where the view is open. */
export function noteStatus(status, place) {
  last = status;
  const o = status.operations;
  remember("lag", status.lag);
  remember("freshness", status.freshness_seconds);
  remember("rate", o.documents_per_second);
  remember("memory", o.memory_bytes);
  if (!place.hidden) showOperations(place);
}

function remember(name, value) {
  const values = history.get(name) ?? [];
  values.push(value ?? null);
  history.set(name, values.slice(-KEPT));
}

/** Show the newest status. */
export function showOperations(place) {
  if (!last) {
    put(place, h("h1", { tabindex: "-1" }, "Operations"), h("p", { class: "quiet" }, "No status has been read yet."));
    return;
  }
  if (!place.querySelector(".tiles")) {
    put(place, h("h1", { tabindex: "-1" }, "Operations"), h("div", { class: "operations-body" }));
  }
  put(place.querySelector(".operations-body"), tiles(last), rejects(last.operations), index(last), process(last));
}

function tiles(status) {
  const o = status.operations;
  return h(
    "dl",
    { class: "tiles" },
    tile("Lag", status.lag === null ? "unknown" : number(status.lag), "records not yet read", "lag"),
    tile("Freshness", duration(status.freshness_seconds), "age of the oldest record not searchable", "freshness"),
    tile("Throughput", o.documents_per_second === null ? "\u2013" : `${number(o.documents_per_second, 1)} /s`, "documents, over the last minute", "rate"),
    tile("Memory", bytes(o.memory_bytes), "resident", "memory"),
    tile("Queue", number(o.queue_depth), o.queue_bytes === null ? "records waiting" : `records waiting, ${bytes(o.queue_bytes)}`),
    tile("Rejects", number(Object.values(o.rejects).reduce((a, b) => a + b, 0)), o.dead_letters_pending ? `${number(o.dead_letters_pending)} to be replayed or dropped` : "since the store began"),
  );
}

function tile(name, value, note, series = null) {
  return h(
    "div",
    { class: "tile" },
    h("dt", {}, name),
    h("dd", {}, h("span", { class: "figure" }, value), h("span", { class: "quiet" }, note), series ? line(history.get(series) ?? []) : null),
  );
}

function rejects(o) {
  const rows = Object.entries(o.rejects).sort((a, b) => b[1] - a[1]);
  if (!rows.length) return null;
  return table("Rejected records", ["Reason", "Records"], rows.map(([reason, count]) => [reason.replaceAll("_", " "), number(count)]));
}

function index(status) {
  const levels = Object.entries(status.communities).map(([level, count]) => [
    `C${level}`,
    number(count),
    status.modularity[level] === undefined ? "\u2013" : number(status.modularity[level], 3),
  ]);
  return [
    table("Index", ["What", "Now"], [
      ["Generation", number(status.generation)],
      ["Committed", status.committed_at ? time(status.committed_at) : "\u2013"],
      ["Documents", number(status.documents)],
      ["Passages", number(status.chunks)],
      ["Concepts", number(status.concepts)],
      ["Edges", number(status.edges)],
      ["Newest arrival", status.newest_arrival ? time(status.newest_arrival) : "\u2013"],
      ["Watermark", status.watermark ? time(status.watermark) : "\u2013"],
    ]),
    levels.length ? table("Communities", ["Level", "Communities", "Modularity"], levels) : null,
    status.positions.length
      ? table("Positions", ["Topic", "Partition", "Next offset"], status.positions.map((p) => [h("bdi", {}, p.topic), number(p.partition), number(p.offset)]))
      : null,
  ];
}

function process(status) {
  const o = status.operations;
  return table("Process", ["What", "Now"], [
    ["Up for", duration(o.uptime_seconds)],
    ["Version", o.version || "\u2013"],
    ["Collection", h("bdi", {}, o.collection)],
    ["Role", o.role || "\u2013"],
    ["Assessor", o.assessor || "\u2013"],
    ["Generations a minute", number(o.generations_per_minute, 1)],
    ["Store", bytes(o.store_bytes)],
    ["Write-ahead log", bytes(o.wal_bytes)],
    ["Degraded", o.degraded.length ? o.degraded.join(", ") : "no"],
  ]);
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
