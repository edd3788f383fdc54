// An answer as it unfolds, and as it stands: text with citations, sources, and what it cost.

import { counted, duration, h, number, put, time } from "./dom.js";
import { sourceAddress } from "./source.js";

const STOPPED = {
  budget_spent: "the effort was spent",
  nothing_left: "nothing relevant was left",
  barren: "the last communities held nothing relevant",
  no_candidates: "nothing came near the question",
  cancelled: "it was cancelled",
  deadline: "its time was up",
};

/** A search on its way. */
export class Progress {
  constructor(place, question) {
    this.done = false;
    this.bar = h("progress", { max: 1, value: 0, "aria-label": "Relevance tests spent" });
    this.line = h("p", { class: "quiet" }, "Reading the question");
    this.list = h("ul", { class: "claims" });
    place.hidden = false;
    put(place, h("h2", { dir: "auto" }, question), this.bar, this.line, this.list);
    place.setAttribute("aria-busy", "true");
    place.scrollIntoView({ block: "nearest" });
    this.place = place;
  }

  /** Show one step of the search. */
  step(event, data) {
    if (event === "tested") this.count(data);
    else if (event === "claim") this.claim(data);
    else if (event === "ranked") this.say(`${counted(data.candidates, "passage")} in question`);
    else if (event === "descended") this.say("Looking closer into what is relevant");
  }

  count(data) {
    this.bar.max = data.budget;
    this.bar.value = data.tested;
    this.say(`${counted(data.tested, "passage")} tested, ${number(data.relevant)} relevant`);
  }

  claim(data) {
    this.list.append(
      h("li", { dir: "auto" }, data.text, h("span", { class: "quiet", dir: "auto" }, data.title)),
    );
  }

  say(text) {
    put(this.line, text);
  }

  ended() {
    this.place.removeAttribute("aria-busy");
    if (!this.done) this.failed("The search ended without an answer.");
  }

  stopped() {
    this.place.removeAttribute("aria-busy");
    this.bar.remove();
    this.say("Stopped.");
  }

  failed(message) {
    this.place.removeAttribute("aria-busy");
    this.bar.remove();
    put(this.line, h("span", { class: "notice" }, message));
  }
}

/** Show a finished answer. */
export function showAnswer(place, answer) {
  place.hidden = false;
  put(
    place,
    h("h2", { dir: "auto", tabindex: "-1" }, answer.question),
    degraded(answer.degraded),
    h("div", { class: answer.outcome === "answered" ? "prose" : "prose notice", dir: "auto" }, prose(answer)),
    answer.citations.length ? sources(answer.citations) : null,
    cost(answer),
  );
}

const STANDS_IN = {
  vectors: "The vector index could not be reached: passages were found by exact search and by full text.",
  model: "The language model could not be reached: passages were judged by similarity, words and concepts.",
};

/** What did not take part in an answer, and what stood in for it. */
function degraded(parts) {
  const words = parts.map((part) => STANDS_IN[part] ?? `Without ${part}.`);
  return parts.length ? h("p", { class: "notice degraded", role: "note" }, h("strong", {}, "Degraded. "), words.join(" ")) : null;
}

/** Lines become paragraphs, items and headings; that no model was used is said more quietly. */
function prose(answer) {
  const lines = answer.answer.split("\n").filter((text) => text.trim());
  return lines.map((text, i) => {
    const item = text.match(/^\s*[-\u2022*]\s+(.*)$/);
    if (item) return h("p", { dir: "auto", class: "item" }, cited(item[1], answer));
    if (/:$/.test(text) && /^\s*[-\u2022*]\s/.test(lines[i + 1] ?? "")) {
      return h("h3", { dir: "auto" }, text.replace(/:$/, ""));
    }
    const quiet = i === 0 && text.startsWith("No language model was used");
    return h("p", { dir: "auto", class: quiet ? "quiet" : null }, cited(text, answer));
  });
}

/** Text with each [n] made a link to its source. */
function cited(text, answer) {
  return text.replace(/ +(?=\[\d)/g, "\u00a0").split(/(\[\d+(?:\s*,\s*\d+)*\])/).map((part) => {
    const numbers = part.match(/^\[(.*)\]$/)?.[1].split(",").map(Number);
    if (!numbers || numbers.some((n) => !answer.citations[n - 1])) return part;
    return numbers.map((n) => reference(n, answer.citations[n - 1]));
  });
}

function reference(n, citation) {
  const label = `Source ${n}: ${citation.title || citation.document_id}`;
  return h("a", { class: "cite", href: quoteAddress(citation), "aria-label": label, title: label }, n);
}

const quoteAddress = (c) => sourceAddress(c.document_id, c.start, c.end);

function sources(citations) {
  const list = citations.map((c, i) =>
    h(
      "li",
      {},
      h("a", { class: "cite", href: quoteAddress(c), "aria-hidden": "true", tabindex: "-1" }, i + 1),
      h(
        "div",
        {},
        h("a", { class: "title", dir: "auto", lang: c.lang || null, href: quoteAddress(c) }, c.title || c.document_id),
        h("p", { class: "quiet" }, c.source ? h("bdi", { class: "source" }, c.source) : null, time(c.published_at ?? c.observed_at)),
        h("blockquote", { dir: "auto", lang: c.lang || null }, c.quote),
      ),
    ),
  );
  const most = 5;
  const more = list.slice(most);
  return [
    h("h3", {}, "Sources"),
    h("ol", { class: "sources" }, list.slice(0, most)),
    more.length
      ? h("details", {}, h("summary", {}, counted(more.length, "further source")), h("ol", { class: "sources" }, more))
      : null,
  ];
}

function cost(answer) {
  const stages = Object.values(answer.ledger);
  const sum = (name) => stages.reduce((total, stage) => total + stage[name], 0);
  const calls = sum("calls");
  const tokens = sum("prompt_tokens") + sum("completion_tokens");
  const parts = [
    `${number(sum("relevance_tests"))} of ${number(answer.budget)} tests spent; it ended because ${STOPPED[answer.stopped] ?? answer.stopped}`,
    calls ? `${counted(calls, "model call")}, ${counted(tokens, "token")}` : "no model calls",
    `generation ${number(answer.generation)}`,
    duration(sum("seconds")),
  ];
  return h("p", { class: "quiet cost" }, parts.join(" \u00b7 "));
}
