// Stories: the communities as cards, one of them told in full, and one concept.

import { get } from "./api.js";
import { askThis } from "./ask.js";
import { bars } from "./charts.js";
import { $, counted, h, number, put, shortDay, storyName, telling, time, titleOf } from "./dom.js";
import { sourceAddress } from "./source.js";
import { descent, figures, spread, timeline } from "./story.js";

const SHOWN = 12;
const TIMELINE = 200;
const EVENTS = 12; // of lineage
const MONTH = "30d";
let order = "size";

/** Make the switch between the orders work. */
export function prepareStories() {
  for (const button of document.querySelectorAll("[data-order]")) {
    button.addEventListener("click", () => {
      order = button.dataset.order;
      for (const other of document.querySelectorAll("[data-order]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      showStories();
    });
  }
}

/** Show the communities of the first level, in the order chosen. */
export async function showStories() {
  const place = $("stories");
  try {
    const found = await get(`v1/communities?order=${order}&limit=${SHOWN}`);
    if (place.dataset.shown === `${order} ${found.generation}`) return;
    place.dataset.shown = `${order} ${found.generation}`;
    const focused = document.activeElement?.closest?.("[data-story]")?.dataset.story;
    put(place, found.communities.length ? found.communities.map(card) : nothingYet());
    if (focused) place.querySelector(`[data-story="${CSS.escape(focused)}"] a`)?.focus();
  } catch (error) {
    if (!place.querySelector("[data-story]")) put(place, h("p", { class: "notice" }, error.message));
  } finally {
    place.setAttribute("aria-busy", "false");
  }
}

const nothingYet = () =>
  h("p", { class: "quiet empty" }, "Stories appear as soon as enough documents have arrived.");

function card(c) {
  const newest = c.samples[0];
  return h(
    "article",
    { class: "card", "data-story": c.id },
    h("h3", {}, h("a", { href: `#/story/${c.id}`, dir: "auto" }, storyName(c.concepts))),
    h("p", { class: "also", dir: "auto" }, c.concepts.slice(3, 8).join(", ")),
    c.timeline ? bars(c.timeline) : null,
    h("p", { class: "quiet facts" }, h("span", {}, counted(c.documents, "document")), growth(c)),
    newest
      ? h("p", { class: "newest" }, h("a", { href: sourceAddress(newest.document_id), dir: "auto", lang: newest.lang || null }, titleOf(newest)))
      : null,
  );
}

function growth(c) {
  const rising = c.growth >= 1.5;
  if (!c.recent || (c.recent === c.documents && !rising)) return null; // all new says nothing
  const text = rising ? `growing \u00d7${number(c.growth, 1)}` : `${number(c.recent)} new`;
  return h("span", { class: rising ? "badge rising" : "badge" }, text);
}

/** Tell one community's story: its days, documents, sources, edits and withdrawals. */
export async function showStory(place, id) {
  const at = `v1/communities/${encodeURIComponent(id)}`;
  const [story, lineage] = await Promise.all([get(`${at}?documents=${TIMELINE}`), get(`${at}/lineage?limit=${EVENTS}`)]);
  const c = story.brief;
  const about = telling(c.concepts);
  put(
    place,
    back(),
    h("h1", { dir: "auto", tabindex: "-1" }, storyName(c.concepts)),
    figures(story),
    c.timeline ? spread(c.timeline, ends(c.timeline)) : null,
    about ? asking(about) : null,
    h(
      "div",
      { class: "sides" },
      section("As it happened", timeline(story)),
      h(
        "div",
        { class: "side" },
        section("Concepts", h("ul", { class: "chips" }, story.concepts.map((one) => concept(one.key, one.display)))),
        story.children.length ? section("Within this story", h("div", { class: "cards" }, story.children.map(card))) : null,
        section("Where it came from", descent(lineage)),
      ),
    ),
  );
  return storyName(c.concepts);
}

const ends = (t) => {
  const start = Date.parse(t.start);
  return [start, start + t.documents.length * t.interval_seconds * 1000 - 1].map((at) => h("span", {}, shortDay(at)));
};

const back = () => h("p", {}, h("a", { class: "back", href: "#/" }, "\u2190 Stream"));

const section = (title, ...content) => h("section", {}, h("h2", {}, title), content);

const concept = (key, name) =>
  h("li", {}, h("a", { class: "tag", dir: "auto", href: `#/concept/${encodeURIComponent(key)}` }, name));

const asking = (about) =>
  h("p", {}, h("button", { type: "button", class: "chip strong", dir: "auto", click: () => leaveAndAsk(`What happened with ${about}?`) }, `Ask: what happened with ${about}?`));

function leaveAndAsk(question) {
  location.hash = "#/";
  askThis(question);
}

/** Show one concept: when it was named, what it is seen with, and where. */
export async function showConcept(place, key) {
  const [found, series] = await Promise.all([
    get(`v1/concepts/${encodeURIComponent(key)}`),
    get(`v1/timeseries?concept=${encodeURIComponent(key)}&interval=1d&since=${MONTH}`),
  ]);
  const most = Math.max(1, ...found.neighbours.map((n) => n.together));
  put(
    place,
    back(),
    h("h1", { dir: "auto", tabindex: "-1" }, found.display),
    h("p", { class: "quiet facts" }, found.kind === "other" ? null : h("span", {}, found.kind), h("span", {}, counted(found.document_count, "document")), h("span", {}, counted(found.frequency, "passage"))),
    arrivals(series),
    asking(found.display),
    h(
      "div",
      { class: "sides" },
      h(
        "div",
        {},
        found.neighbours.length ? section("Seen together with", h("ul", { class: "neighbours" }, found.neighbours.map((n) => neighbour(n, most)))) : null,
      ),
      h(
        "div",
        { class: "side" },
        found.communities.length ? section("Stories", h("p", { class: "chips" }, found.communities.map((id, level) => h("a", { class: "tag", href: `#/story/${id}` }, level ? `narrower (C${level})` : "its story")))) : null,
        section("Newest documents", h("ol", { class: "documents" }, found.documents.map(brief))),
      ),
    ),
  );
  return found.display;
}

/** How many documents that name a concept arrived each day of the last month. */
function arrivals(series) {
  const documents = series.rows.map((row) => row.documents + row.edits);
  if (!documents.some(Boolean)) return null;
  const t = { start: series.rows[0].start, interval_seconds: series.interval_seconds, documents };
  return spread(t, ends(t));
}

function neighbour(n, most) {
  return h(
    "li",
    {},
    h("a", { dir: "auto", href: `#/concept/${encodeURIComponent(n.key)}` }, n.display),
    h("meter", { min: 0, max: most, value: n.together, "aria-hidden": "true" }),
    h("span", { class: "quiet" }, counted(n.together, "passage")),
  );
}

const brief = (d) =>
  h(
    "li",
    {},
    h("a", { href: sourceAddress(d.document_id), dir: "auto", lang: d.lang || null }, titleOf(d)),
    h("p", { class: "quiet" }, d.source ? h("bdi", { class: "source" }, d.source) : null, time(d.event_at)),
  );
