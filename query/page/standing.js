// Standing questions: kept, paused and removed, and what changed in their answers.

import { change, get } from "./api.js";
import { asked } from "./ask.js";
import { $, counted, h, put, time } from "./dom.js";
import { sourceAddress } from "./source.js";

const EVERY = 4_000;
const opened = new Map();
let lookedAt = 0;

/** Make the button work that keeps the question in the box. */
export function prepareStanding() {
  $("keep").addEventListener("click", async () => {
    const question = $("question").value.trim();
    if (!question) {
      said("Type a question first.");
      $("question").focus();
      return;
    }
    await done(() => change("POST", "v1/standing", asked(question)), "Kept: it is asked again when something changes.");
  });
}

/** Show the standing questions, at most every few seconds; nothing where the service has none. */
export async function showStanding(now = Date.now()) {
  if (now - lookedAt < EVERY) return;
  lookedAt = now;
  const found = await get("v1/standing");
  $("standing-place").hidden = !found.available;
  const shown = JSON.stringify(found.standing.map((s) => [s.id, s.paused, s.updates, s.problem, s.undelivered, s.outcome]));
  const place = $("standing");
  if (place.dataset.shown === shown) return;
  place.dataset.shown = shown;
  const focused = document.activeElement?.dataset?.act;
  put(place, found.standing.map(item));
  if (focused) place.querySelector(`[data-act="${CSS.escape(focused)}"]`)?.focus();
  for (const one of found.standing) if (opened.has(one.id)) changes(one);
}

function item(one) {
  return h(
    "li",
    { "data-standing": one.id },
    h("p", { class: "title", dir: "auto" }, one.question),
    h("p", { class: "quiet facts" }, facts(one)),
    h(
      "p",
      { class: "acts" },
      button(one, "changes", opened.has(one.id) ? "Hide changes" : "What changed", () => toggle(one), String(opened.has(one.id))),
      button(one, "pause", one.paused ? "Resume" : "Pause", () =>
        done(() => change("PATCH", `v1/standing/${one.id}`, { paused: !one.paused }), one.paused ? "Resumed." : "Paused."),
      ),
      button(one, "remove", "Remove", () => {
        opened.delete(one.id);
        return done(() => change("DELETE", `v1/standing/${one.id}`), "Removed.");
      }),
    ),
    h("ul", { class: "changes", id: `changes-${one.id}`, hidden: !opened.has(one.id) }),
  );
}

function button(one, act, text, click, expanded = null) {
  return h(
    "button",
    {
      type: "button",
      class: "plain",
      "data-act": `${act} ${one.id}`,
      "aria-expanded": expanded,
      "aria-controls": expanded === null ? null : `changes-${one.id}`,
      click,
    },
    text,
    h("span", { class: "hidden" }, `: ${one.question}`),
  );
}

function facts(one) {
  if (one.paused) return h("span", { class: "badge" }, "paused");
  if (!one.asked_at) return h("span", {}, "not asked yet");
  return [
    h("span", {}, one.claims.length ? counted(one.claims.length, "claim") : "no record"),
    h("span", {}, "asked ", time(one.asked_at)),
    one.problem ? h("span", { class: "badge rising" }, one.problem) : null,
    one.undelivered ? h("span", { class: "badge gone" }, one.undelivered) : null,
  ];
}

function toggle(one) {
  if (opened.has(one.id)) opened.delete(one.id);
  else opened.set(one.id, true);
  const list = $(`changes-${one.id}`);
  const open = opened.has(one.id);
  list.hidden = !open;
  const handle = document.querySelector(`[data-act="changes ${one.id}"]`);
  handle.setAttribute("aria-expanded", String(open));
  handle.firstChild.data = open ? "Hide changes" : "What changed";
  if (open) changes(one);
}

/** The newest changes of a question, newest first. */
async function changes(one) {
  const list = $(`changes-${one.id}`);
  try {
    const found = await get(`v1/standing/${one.id}/updates?after=${Math.max(0, one.updates - 5)}`);
    const lines = found.updates.reverse().flatMap(told);
    put(list, lines.length ? lines : h("li", { class: "quiet" }, "Nothing yet."));
  } catch (error) {
    put(list, h("li", { class: "notice" }, error.message));
  }
}

function told(update) {
  const line = (kind, text, claim) =>
    h(
      "li",
      {},
      h("span", { class: `badge ${kind}` }, text),
      " ",
      h("q", { dir: "auto", lang: claim.sources[0]?.lang || null }, claim.text),
      " ",
      h("a", { class: "quiet", href: sourceAddress(claim.sources[0].document_id), dir: "auto" }, claim.sources[0].source || claim.sources[0].title || "source"),
      " ",
      h("span", { class: "quiet" }, time(update.at)),
    );
  return [
    ...update.changes.added.map((claim) => line("edited", "added", claim)),
    ...update.changes.withdrawn.map((claim) => line("gone", "withdrawn", claim)),
    ...update.changes.reworded.map((pair) => line("rising", "reworded", pair.after)),
    ...update.changes.sourced.map((pair) => line("", "other sources", pair.after)),
  ];
}

/** Do something, say how it went, and show what is now. */
async function done(work, text) {
  try {
    await work();
    said(text);
  } catch (error) {
    said(error.message);
  }
  lookedAt = 0;
  await showStanding().catch(() => {}); // the next status looks again
}

const said = (text) => put($("standing-status"), text);
