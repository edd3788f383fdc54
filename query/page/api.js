// Talking to the service: entity tags, the API key, and questions told as they unfold.

import { $ } from "./dom.js";

const KEY = "tidegraph-key";
const known = new Map();
let asking = null;

/** What the service refused, as its problem says it. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail || `The service answered ${status}.`);
    this.status = status;
    this.code = (problem?.type || "").split(":").pop();
  }
}

function headers(more = {}) {
  const key = sessionStorage.getItem(KEY);
  return key ? { ...more, Authorization: `Bearer ${key}` } : more;
}

async function refused(response) {
  let problem = null;
  try {
    problem = await response.json();
  } catch {
    // A proxy's own error page: the status says enough.
  }
  return new Refused(response.status, problem);
}

/** Ask the reader for the key, once for all requests that wait for it. */
function askKey() {
  asking ??= new Promise((resolve) => {
    const dialog = $("key-dialog");
    $("key-form").addEventListener(
      "submit",
      () => {
        sessionStorage.setItem(KEY, $("key").value.trim());
        $("key").value = "";
        asking = null;
        resolve();
      },
      { once: true },
    );
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.showModal();
  });
  return asking;
}

async function send(path, options) {
  for (;;) {
    const used = sessionStorage.getItem(KEY);
    const response = await fetch(path, { ...options, headers: headers(options.headers) });
    if (response.status !== 401) return response;
    if (sessionStorage.getItem(KEY) === used) await askKey();
  }
}

/** The JSON at a path; what has not changed since the last time is not sent again. */
export async function get(path, signal) {
  const before = known.get(path);
  const response = await send(path, {
    signal,
    cache: "no-store",
    headers: before ? { "If-None-Match": before.tag } : {},
  });
  if (response.status === 304) return before.body;
  if (!response.ok) throw await refused(response);
  const body = await response.json();
  const tag = response.headers.get("ETag");
  known.delete(path);
  if (tag) known.set(path, { tag, body });
  if (known.size > 100) known.delete(known.keys().next().value);
  return body;
}

/** Send a body by another method; the JSON of the response, null where there is none. */
export async function change(method, path, body = null) {
  const response = await send(path, {
    method,
    headers: body === null ? {} : { "Content-Type": "application/json" },
    body: body === null ? null : JSON.stringify(body),
  });
  if (!response.ok) throw await refused(response);
  return response.status === 204 ? null : response.json();
}

/** Ask a question; `tell(event, data)` is called for each step of the search. */
export async function ask(question, tell, signal) {
  const response = await send("v1/search", {
    method: "POST",
    signal,
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(question),
  });
  if (!response.ok) throw await refused(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) deliver(block, tell);
  }
}

function deliver(block, tell) {
  let event = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (data.length) tell(event, JSON.parse(data.join("\n")));
}
