// A source opened beside the page, at the sentence that was quoted.

import { get } from "./api.js";
import { $, h, number, put, safeAddress, time } from "./dom.js";

let opener = null;

/** The address, within the page, of a document and of a part of its text. */
export function sourceAddress(id, start = null, end = null) {
  const at = start === null ? "" : `?start=${start}&end=${end}`;
  return `#/document/${encodeURIComponent(id)}${at}`;
}

/** The path of a document in the service; its id may hold slashes. */
const pathOf = (id) => `v1/documents/${id.split("/").map(encodeURIComponent).join("/")}`;

/** Open a document; `start` and `end` are the offsets, in code points, of what was quoted. */
export async function openSource(id, start, end) {
  const panel = $("source-panel");
  put(panel, head("Loading", null), h("p", { class: "quiet" }, "Fetching the document."));
  if (!panel.open) {
    opener = document.activeElement;
    panel.showModal();
  }
  try {
    show(panel, await get(pathOf(id)), start, end);
  } catch (error) {
    put(panel, head("Not available", null), h("p", { class: "notice" }, error.message));
  }
}

/** Close the panel and give the focus back to what opened it. */
export function closeSource() {
  const panel = $("source-panel");
  if (!panel.open) return;
  panel.close();
  opener?.focus?.();
}

function head(title, lang) {
  return h(
    "header",
    { class: "panel-head" },
    h("h2", { id: "source-title", dir: "auto", lang, tabindex: "-1" }, title),
    h("button", { type: "button", class: "close", "aria-label": "Close the source", click: leave }, "\u00d7"),
  );
}

/** Leaving is going back, so that the browser's own button closes the panel as well. */
export function leave() {
  if (history.state?.panel) history.back();
  else location.hash = "#/";
}

function show(panel, found, start, end) {
  const address = safeAddress(found.url);
  const lang = found.lang || null;
  put(
    panel,
    head(found.title || found.document_id, lang),
    h(
      "p",
      { class: "quiet facts" },
      found.source ? h("bdi", { class: "source" }, found.source) : null,
      time(found.event_at),
      address ? h("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, "Original") : null,
    ),
    h("div", { class: "text", dir: "auto", lang }, paragraphs(found.text, start, end)),
    record(found),
  );
  const mark = panel.querySelector("mark");
  if (mark) mark.scrollIntoView({ block: "center" });
  (mark ?? panel.querySelector("h2")).focus({ preventScroll: true });
}

/** What else is on record about a document. */
function record(found) {
  const rows = [
    ["Id", h("bdi", {}, found.document_id)],
    ["Published", found.published_at ? time(found.published_at) : "not stated"],
    ["Arrived", time(found.observed_at)],
    ["Language", found.lang || "not known"],
    ["Version", found.version],
    ["Generation", number(found.generation)],
    ["Derived", found.derived.length ? found.derived.join(", ") : null],
    ...Object.entries(found.metadata).map(([name, value]) => [h("bdi", {}, name), h("bdi", {}, String(value))]),
  ].filter(([, value]) => value !== null);
  return h(
    "details",
    { class: "record" },
    h("summary", {}, "On record"),
    h("dl", {}, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
  );
}

/** The text as paragraphs; what lies between the offsets is marked in each of them. */
function paragraphs(text, start, end) {
  const points = Array.from(text);
  const found = [];
  let from = 0;
  for (let i = 0; i <= points.length; i += 1) {
    if (i < points.length && points[i] !== "\n") continue;
    if (i > from) found.push(paragraph(points, from, i, start, end));
    from = i + 1;
  }
  return found;
}

function paragraph(points, from, to, start, end) {
  const text = (a, b) => points.slice(a, b).join("");
  const left = Math.max(from, start ?? Infinity);
  const right = Math.min(to, end ?? -Infinity);
  if (left >= right) return h("p", { dir: "auto" }, text(from, to));
  return h(
    "p",
    { dir: "auto" },
    text(from, left),
    h("mark", { tabindex: "-1" }, text(left, right)),
    text(right, to),
  );
}
