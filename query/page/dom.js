// Building the page from text. Whatever comes from a document only ever becomes a text node.

const SVG = "http://www.w3.org/2000/svg";

/** An element; attributes that are null or false are left out, functions become listeners. */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Replace what an element holds. */
export function put(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

export const $ = (id) => document.getElementById(id);

/** An address that may stand in a link, or null: http and https only. */
export function safeAddress(text) {
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const format = (options) => new Intl.DateTimeFormat("en-GB", options);
const CLOCK = format({ hour: "2-digit", minute: "2-digit" });
const NEAR = format({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const FAR = format({ day: "numeric", month: "short", year: "numeric" });
const FULL = format({ dateStyle: "full", timeStyle: "medium" });
const LONG_DAY = format({ weekday: "long", day: "numeric", month: "long", year: "numeric" });

/** A moment as a person says it, with the whole of it as a tooltip. */
export function time(iso, now = Date.now()) {
  const when = new Date(iso);
  if (Number.isNaN(when.getTime())) return h("span", {}, "no date");
  return h("time", { datetime: iso, title: FULL.format(when) }, spoken(when, now));
}

function spoken(when, now) {
  const age = now - when.getTime();
  if (age >= 0 && age < MINUTE) return "just now";
  if (age >= 0 && age < HOUR) return `${Math.floor(age / MINUTE)} min ago`;
  if (new Date(now).toDateString() === when.toDateString()) return CLOCK.format(when);
  return Math.abs(age) < 300 * DAY ? NEAR.format(when) : FAR.format(when);
}

export const clockOf = (iso) => CLOCK.format(new Date(iso));
export const dayOf = (iso) => LONG_DAY.format(new Date(iso));
export const shortDay = (millis) => FAR.format(new Date(millis));

/** 12345 as 12,345; null as a dash. */
export function number(value, digits = 0) {
  if (value === null || value === undefined) return "\u2013";
  return value.toLocaleString("en-GB", { maximumFractionDigits: digits });
}

/** "1 document", "2 documents". */
export const counted = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** 0.4 as "400 ms", 90 as "1.5 min". */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "\u2013";
  if (seconds > 0 && seconds < 1) return `${number(Math.max(1, seconds * 1000))} ms`;
  if (seconds < 60) return `${number(seconds, seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${number(seconds / 60, 1)} min`;
  if (seconds < 86400) return `${number(seconds / 3600, 1)} h`;
  return `${number(seconds / 86400, 1)} days`;
}

/** 1536 as "1.5 kB". */
export function bytes(value) {
  if (value === null || value === undefined) return "\u2013";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${number(size, size < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}

/** The title of a document, or how it begins where it has none. */
export const titleOf = (d) => d.title || d.opening || d.document_id;

/** The name of a story: its most telling concepts. */
export function storyName(concepts, most = 3) {
  const names = concepts.slice(0, most);
  return names.length ? names.join("\u00a0\u00b7 ") : "Unnamed";
}

/** The concept that says most in a question: a name or a phrase before a single common word. */
export const telling = (concepts) => concepts.find((c) => /\s|\p{Lu}/u.test(c)) ?? concepts[0];
