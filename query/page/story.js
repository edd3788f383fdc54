// One community told in full: what happened when, by whom, and what was edited or withdrawn.

import { bars } from "./charts.js";
import { clockOf, counted, dayOf, h, number, put, titleOf } from "./dom.js";
import { sourceAddress } from "./source.js";

const CHANGES = { edit: "edited", delete: "withdrawn" };

/** The figures of a story in a row, those that are nothing left out. */
export function figures(story) {
  const { documents } = story;
  const told = [
    ["documents", story.brief.documents],
    ["concepts", story.brief.concept_count],
    ["sources", story.sources.length],
    ["edits", story.edits],
    ["withdrawals", story.withdrawals],
    ["new", story.brief.recent < story.brief.documents ? story.brief.recent : 0],
  ].filter(([, count]) => count);
  return h(
    "dl",
    { class: "figures" },
    told.map(([name, count]) => h("div", { class: `is-${name}` }, h("dt", {}, name), h("dd", {}, number(count)))),
    documents.length ? h("div", {}, h("dt", {}, "newest"), h("dd", { class: "when" }, dayOf(documents[0].event_at))) : null,
  );
}

/** The documents by day, with a choice of one source or of the changes alone. */
export function timeline(story) {
  if (!story.documents.length) return h("p", { class: "quiet" }, "No change is on record.");
  const list = h("div", { class: "days" });
  const chosen = { source: null, changes: false };
  const choices = [];
  const choose = (next) => {
    Object.assign(chosen, next);
    for (const [button, matches] of choices) button.setAttribute("aria-pressed", String(matches()));
    put(list, days(story, chosen));
  };
  const choice = (label, next, matches) => {
    const button = h("button", { type: "button", class: "tag", click: () => choose(next()) }, label);
    choices.push([button, matches]);
    return button;
  };
  const all = choice("All", () => ({ source: null, changes: false }), () => chosen.source === null && !chosen.changes);
  const changed = story.edits || story.withdrawals
    ? choice("Edits and withdrawals", () => ({ changes: !chosen.changes }), () => chosen.changes)
    : null;
  const sources = story.sources.length > 1 ? story.sources.map((s) => ofSource(s, choice, chosen)) : [];
  choose({});
  return [h("div", { class: "chips choices", role: "group", "aria-label": "What the timeline shows" }, all, changed, sources), list];
}

function ofSource(s, choice, chosen) {
  const label = [h("bdi", {}, s.source || "(none)"), h("span", { class: "count" }, ` ${number(s.documents)}`)];
  const next = () => ({ source: chosen.source === s.source ? null : s.source });
  return choice(label, next, () => chosen.source === s.source);
}

function days(story, chosen) {
  const shown = story.documents.filter((d) => (chosen.source === null || d.source === chosen.source) && (!chosen.changes || CHANGES[d.change]));
  if (!shown.length) return h("p", { class: "quiet" }, "Nothing of the kind is on record.");
  const found = new Map();
  for (const d of shown) {
    const day = dayOf(d.event_at);
    found.set(day, [...(found.get(day) ?? []), d]);
  }
  const told = [...found].map(([day, changes]) => [h("h3", {}, day), h("ol", { class: "timeline" }, changes.map(change))]);
  const more = story.document_count - story.documents.length;
  return [told, more > 0 ? h("p", { class: "quiet" }, `and ${counted(more, "earlier document")}`) : null];
}

function change(d) {
  const withdrawn = d.change === "delete";
  const title = withdrawn
    ? h("s", { class: "struck", dir: "auto" }, d.title || d.document_id)
    : h("a", { href: sourceAddress(d.document_id), dir: "auto", lang: d.lang || null }, titleOf(d));
  const badge = CHANGES[d.change] ? h("span", { class: withdrawn ? "badge gone" : "badge edited" }, CHANGES[d.change]) : null;
  return h(
    "li",
    { class: d.change },
    h("time", { datetime: d.event_at }, clockOf(d.event_at)),
    h("div", {}, title, h("p", { class: "quiet" }, d.source ? h("bdi", { class: "source" }, d.source) : null, badge)),
  );
}

/** What became of a story's community and where it came from, newest first. */
export function descent(lineage) {
  const told = lineage.events.map((e) =>
    h("li", {}, h("span", { class: "quiet" }, `generation ${number(e.generation)}: `), event(e, e.community === lineage.id)),
  );
  const more = lineage.more ? h("li", { class: "quiet" }, "and what came before") : null;
  return h("ul", { class: "descent" }, told, more);
}

function event(e, own) {
  const concepts = counted(e.shared, "concept");
  const story = (id) => h("a", { href: `#/story/${id}` }, `story ${id}`);
  switch (e.kind) {
    case "birth":
      return `began with ${concepts}`;
    case "growth":
      return `grew to ${concepts}`;
    case "decline":
      return `shrank to ${concepts}`;
    case "death":
      return "ended";
    case "split":
      return own ? ["came out of ", story(e.related), `, with ${concepts}`] : [story(e.community), ` came out of it, with ${concepts}`];
    default:
      return own ? ["went into ", story(e.related), `, with ${concepts}`] : `took in ${concepts} of story ${e.community}`;
  }
}

/** How a story's documents spread over its time, with the first and the last day below. */
export function spread(timelineOfAll, words) {
  return h("figure", { class: "wide" }, bars(timelineOfAll, { width: 640, height: 80 }), h("figcaption", { class: "quiet" }, words));
}
