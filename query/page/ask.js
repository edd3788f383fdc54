// The question box: what is asked, with which effort, and the examples.

import { ask, get, Refused } from "./api.js";
import { Progress, showAnswer } from "./answer.js";
import { $, counted, h, put, telling } from "./dom.js";

const ANNOUNCE_EVERY = 3_000;
const SPOKEN = 400;
let current = null;
let announcedAt = 0;

/** Make the form work. */
export function prepare() {
  const box = $("question");
  const grow = () => {
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, 220)}px`;
  };
  box.addEventListener("input", grow);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      $("ask").requestSubmit();
    }
  });
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    if (current) current.abort();
    else submit();
  });
}

/** Put a question into the box and ask it. */
export function askThis(text) {
  $("question").value = text;
  $("question").dispatchEvent(new Event("input"));
  current?.abort();
  current = null;
  submit();
}

async function submit() {
  const question = $("question").value.trim();
  const status = $("ask-status");
  if (!question) {
    put(status, "Type a question first.");
    $("question").focus();
    return;
  }
  const mine = new AbortController();
  current = mine;
  busy(true);
  const progress = new Progress($("answer"), question);
  announcedAt = Date.now();
  put(status, "Searching.");
  try {
    await ask(asked(question), (event, data) => step(progress, event, data), mine.signal);
    progress.ended();
  } catch (error) {
    failed(progress, error, mine.signal.aborted);
  } finally {
    if (current === mine) {
      current = null;
      busy(false);
    }
  }
}

function step(progress, event, data) {
  if (event === "problem") throw new Refused(data.status, data);
  if (event !== "answer") {
    progress.step(event, data);
    announce(progress);
    return;
  }
  showAnswer($("answer"), data);
  progress.done = true;
  put($("ask-status"), `The answer is there, with ${counted(data.citations.length, "source")}: ${data.answer.slice(0, SPOKEN)}`);
}

/** Tell a screen reader how far the search is, but not at every step. */
function announce(progress) {
  const now = Date.now();
  if (now - announcedAt < ANNOUNCE_EVERY) return;
  announcedAt = now;
  put($("ask-status"), progress.line.textContent);
}

function failed(progress, error, aborted) {
  if (aborted) progress.stopped();
  else progress.failed(error.message || "The service is not reachable.");
  put($("ask-status"), aborted ? "Stopped." : "The question was not answered.");
}

/** A question with the effort and the filters that are chosen. */
export function asked(question) {
  const form = new FormData($("ask"));
  const body = { question, budget: Number(form.get("budget")) };
  if ($("since").value) body.since = $("since").value;
  if ($("source").value) body.source = [$("source").value];
  return body;
}

function busy(on) {
  $("submit").textContent = on ? "Stop" : "Ask";
  $("ask").dataset.busy = on;
  $("examples").hidden = on || !$("answer").hidden;
}

/** Questions that the index itself suggests, from its largest and fastest growing communities. */
export async function suggest() {
  const [large, growing] = await Promise.all([
    get("v1/communities?limit=4"),
    get("v1/communities?order=growth&limit=3"),
  ]);
  const names = large.communities.map((c) => telling(c.concepts)).filter(Boolean);
  const rising = growing.communities
    .map((c) => telling(c.concepts))
    .find((name) => name && !names.slice(0, 2).includes(name));
  const questions = ["What are the main stories?"];
  if (names[0]) questions.push(`What happened with ${names[0]}?`);
  if (rising) questions.push(`What is new about ${rising}?`);
  if (names[1]) questions.push(`What is known about ${names[1]}?`);
  const place = $("examples");
  if (!names.length || place.matches(":hover, :focus-within")) return;
  put(
    place,
    questions.map((q) =>
      h("button", { type: "button", class: "chip", dir: "auto", click: () => askThis(q) }, q),
    ),
  );
}
