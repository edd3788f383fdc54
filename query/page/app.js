// Where the page starts, and which view is shown for which address.

import { prepare, suggest } from "./ask.js";
import { $, h, put } from "./dom.js";
import { onStatus, watch } from "./live.js";
import { noteStatus, showOperations } from "./operations.js";
import { closeSource, leave, openSource } from "./source.js";
import { prepareStanding, showStanding } from "./standing.js";
import { prepareStories, showConcept, showStories, showStory } from "./stories.js";
import { prepareTrends, showTrends } from "./trends.js";

const NAME = "Tidegraph";
const STORIES_EVERY = 10_000;
let view = null;
let storiesOf = -1;
let storiesAt = 0;

/** The address as {view, id, parameters}; a document is a panel over whatever is shown. */
function address() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  let id = "";
  try {
    id = decodeURIComponent(rest.join("/"));
  } catch {
    // Not an address of ours: shown as the start.
  }
  return { name: name || "home", id, parameters: new URLSearchParams(query) };
}

async function route() {
  if (view !== null && !/^(#\/.*)?$/.test(location.hash)) return; // the skip link's own target
  const { name, id, parameters } = address();
  if (name === "document" && id) {
    if (!view) show("home");
    const [start, end] = ["start", "end"].map((key) => (parameters.has(key) ? Number(parameters.get(key)) : null));
    await openSource(id, start, end);
    return;
  }
  closeSource();
  if (view === location.hash) return;
  const former = view;
  view = location.hash;
  if (name === "story" && id) await detail((place) => showStory(place, id));
  else if (name === "concept" && id) await detail((place) => showConcept(place, id));
  else if (name === "operations") operations();
  else show("home");
  if (former !== null) window.scrollTo(0, 0);
}

function show(name) {
  view ??= "";
  for (const section of document.querySelectorAll(".view")) section.hidden = section.id !== `view-${name}`;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (name === "home") document.title = NAME;
}

async function detail(fill) {
  const place = $("view-detail");
  const mine = view;
  put(place, h("p", { class: "quiet" }, "Loading"));
  show("detail");
  try {
    const title = await fill(place);
    if (mine === view) document.title = `${title} \u2013 ${NAME}`;
  } catch (error) {
    put(place, h("h1", { tabindex: "-1" }, "Not available"), h("p", { class: "notice" }, error.message), h("p", {}, h("a", { class: "back", href: "#/" }, "\u2190 Stream")));
  }
  place.querySelector("h1")?.focus({ preventScroll: true });
}

function operations() {
  const place = $("view-operations");
  show("operations");
  document.title = `Operations \u2013 ${NAME}`;
  showOperations(place);
  place.querySelector("h1")?.focus({ preventScroll: true });
}

/** Links to documents open over the view: remember that going back closes them. */
function prepareLinks() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#/document/"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState({ panel: true }, "", link.getAttribute("href"));
    route();
  });
  const panel = $("source-panel");
  panel.addEventListener("cancel", (event) => {
    event.preventDefault();
    leave();
  });
  panel.addEventListener("click", (event) => {
    if (event.target === panel) leave();
  });
}

/** A status is noted always, the stories are read again at most every few seconds. */
function noted(status) {
  noteStatus(status, $("view-operations"));
  const now = Date.now();
  showStanding(now).catch(() => {}); // the next status looks again
  if (status.generation === storiesOf || now - storiesAt < STORIES_EVERY) return;
  storiesOf = status.generation;
  storiesAt = now;
  showStories();
  showTrends();
  suggest().catch(() => {}); // examples are a courtesy: without them the page is whole
}

prepare();
prepareStanding();
prepareStories();
prepareTrends();
prepareLinks();
onStatus(noted);
window.addEventListener("hashchange", route);
window.addEventListener("popstate", route);
route();
watch();
