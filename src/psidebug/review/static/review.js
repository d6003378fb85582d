// Keys, saves and prefetch of the review page. No inline script, no eval; htmx loads the rest.
"use strict";

const $ = (id) => document.getElementById(id);
const RUN = document.body.dataset.run;
const OUTBOX = `psi-outbox-${RUN}`;
const POLL = 2000;
const SET = document.querySelector("#filters [name=set]").value; // of this page: training labels, or test labels
const TESTS = SET === "test" ? { tests: document.body.dataset.tests } : {}; // which test set a verdict is about

// ── where we are ──

const filter = () => {
  const form = $("filters");
  return Object.fromEntries([...new FormData(form).entries()].filter(([name, value]) => value !== "" && form.elements[name].validity.valid));
};
const words = (more = {}) => new URLSearchParams({ ...filter(), ...more }).toString();
const focus = () => $("focus").dataset;
const place = ({ set, at }) => (set === "test" ? `test ${at}` : String(at)); // a row of either set has a name of its own
const here = () => place({ set: SET, at: focus().at });
const announce = (text) => { $("live").textContent = text; };

async function read(path) {
  const answer = await fetch(path, { headers: { "HX-Request": "true" } });
  if (!answer.ok) throw new Error((await answer.text()).slice(0, 300));
  return answer.text();
}

// ── notes that no verdict has taken along yet, by row: kept over moves and a reload ──

const NOTES = `psi-notes-${RUN}`;
const notes = JSON.parse(sessionStorage.getItem(NOTES) || "{}");
function note(at, text) {
  if (text === undefined) delete notes[at]; else notes[at] = text;
  sessionStorage.setItem(NOTES, JSON.stringify(notes));
}
function recall() {
  if ($("comment") && notes[here()] !== undefined) $("comment").value = notes[here()];
}
document.addEventListener("input", (event) => { if (event.target.id === "comment") note(here(), event.target.value); });

// ── the row in focus; the next one is fetched before it is asked for ──

let ahead = new Map();
const fetched = (at) => {
  const path = `/item?${words(at === "" ? {} : { at })}`;
  if (!ahead.has(path)) ahead.set(path, read(path).catch((error) => { ahead.delete(path); throw error; }));
  return ahead.get(path);
};

const DEPTH = 4; // rows that are there before they are asked for, so that no key comes too early
let coming = new Set(); // their addresses
let prepared = 0;
async function prepare(at) {
  const turn = ++prepared;
  const next = new Set();
  const depth = $("cards") ? 1 : DEPTH;
  for (let row = at; row && next.size < depth;) {
    next.add(`/item?${words({ at: row })}`);
    coming = new Set([...coming, ...next]);
    try { row = following(await fetched(row)); } catch { return; }
    if (turn !== prepared) return;
  }
  coming = next;
}
const following = (html) => html.match(/data-next="(\d*)"/)[1];

let moves = 0;
let moving = false; // on the way to another row: a key that decides would hit the one that is left
let stuck = ""; // the row with a verdict that waits, when the next row cannot be had
const NARROW = window.matchMedia("(max-width: 48rem)"); // as in review.css: the list stands below what it leads to
function inSight() {
  const top = $("focus").getBoundingClientRect().top;
  if (NARROW.matches && (top < 0 || top > window.innerHeight)) $("focus").scrollIntoView({ block: "start" });
}
async function show(at, { quiet = false } = {}) { // whether the row is there, or another one was asked for since
  if (quiet && (moving || stuck)) return true;
  const turn = quiet ? moves : ++moves;
  moving ||= !quiet;
  let html;
  try { html = await fetched(at); } catch (error) {
    if (turn !== moves) return true;
    moving = false;
    failed(error);
    return false;
  }
  const typing = $("comment") === document.activeElement;
  if (turn !== moves || (quiet && typing)) return true;
  moving = false;
  stuck = "";
  $("item").innerHTML = html;
  window.htmx.process($("item"));
  recall();
  laid();
  if (!quiet) {
    inSight();
    // Letters on their way into a control must not become verdicts.
    if (typing && $("comment")) $("comment").focus({ preventScroll: true });
    else if (!document.activeElement.closest("#filters, dialog")) home().focus({ preventScroll: true });
    announce(focus().tell || "Nothing is left in this filter.");
  }
  history.replaceState(null, "", `/?${words(focus().at ? { at: focus().at } : {})}`);
  prepare(focus().next);
  await list();
  return true;
}
const home = () => document.querySelector("#cards [tabindex='0']") || $("focus"); // where keys are heard

let lists = 0;
async function list() {
  const turn = ++lists;
  try {
    const html = await read(`/queue?${words(focus().at ? { at: focus().at } : {})}`);
    if (turn === lists) { $("queue").innerHTML = html; marked(); }
  } catch { /* the list stays as it was; the poll says whether the server answers */ }
}

function marked() {
  const fresh = $("queue").querySelector(".progress");
  if (fresh) $("progress").replaceChildren(fresh); // it stays in sight, in the head of the page
  const progress = document.querySelector(".progress").dataset;
  document.querySelector('[data-do="undo"]').disabled = progress.undo === "0";
  document.querySelector('[data-do="redo"]').disabled = progress.redo === "0";
  $("name").textContent = progress.name;
  if ($("work-stale")) $("work-stale").hidden = progress.stale === "0";
  return progress;
}

// ── saves: in order, each once (by its key), tried again until they are on disk, kept over a reload ──

// Another tab may write it too: what is stored is changed by one save at a time, and never replaced by what one tab knows.
const stored = () => JSON.parse(localStorage.getItem(OUTBOX) || "[]");
const store = (change) => localStorage.setItem(OUTBOX, JSON.stringify(change(stored())));
const outbox = stored();
let sending = false;
let patience = 1000;
const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

function status(state, text) {
  $("saved").dataset.state = state;
  $("saved").textContent = $("saved").title = text;
}
const AWAY = "The server does not answer. Your verdicts are kept in this browser and sent when it is back.";
function failed(error) {
  const why = error instanceof TypeError ? AWAY : error.message; // fetch says in no more words that nobody answered
  status("failed", outbox.length ? `Not saved: ${outbox.length} waiting, trying again. ${why}` : why || AWAY);
}

function send(path, body) {
  const save = { path, body: { ...body, run: RUN, key: newKey() } };
  outbox.push(save);
  store((all) => [...all, save]);
  return flush();
}

async function flush() {
  if (sending) return;
  sending = true;
  while (outbox.length) {
    const { path, body } = outbox[0];
    status("saving", outbox.length > 1 ? `Saving ${outbox.length} …` : "Saving …");
    let answer;
    try {
      answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
      if (answer.status >= 500) throw new Error((await answer.json().catch(() => ({}))).wrong || "");
      if (answer.status === 401 || answer.status === 403) throw new Error("Not signed in any more. Open the link that psi review printed last.");
    } catch (error) {
      failed(error);
      setTimeout(flush, patience);
      patience = Math.min(2 * patience, 10000);
      break;
    }
    patience = 1000;
    outbox.shift();
    store((all) => all.filter((each) => each.body.key !== body.key));
    ahead = new Map([...ahead].filter(([address]) => coming.has(address)));
    const told = await answer.json().catch(() => ({ wrong: "The server gave no answer." }));
    const waited = path === "/verdict" && stuck === place(body);
    if (waited) stuck = "";
    if (told.wrong) {
      status("wrong", told.wrong);
      if (body.comment) note(place(body), body.comment);
      continue;
    }
    status("saved", told.nothing ? `There is ${told.said}.` : `Saved. ${told.said}`); // a status is announced; the live line is for the row that comes
    if (path === "/undo" || path === "/redo") {
      if (told.set && told.set !== SET) { location.assign(`/?${new URLSearchParams({ set: told.set, at: told.at ?? "" })}`); break; }
      ahead.clear();
      await show(path === "/undo" ? told.at ?? focus().at : await after(told.at));
    }
    if (path === "/bulk") { ahead.clear(); await show(""); }
    if (path === "/together") { ahead.clear(); await show(focus().at); }
    if (waited && here() === place(body)) { ahead.clear(); await show(focus().next); }
  }
  sending = false;
  if (!outbox.length) await list();
}

async function after(at) { // a verdict done again leads on to the next row, as it did at first: a key must not change it
  if (at === null || at === undefined || $("cards")) return focus().at && $("cards") ? focus().at : "";
  return following(await fetched(String(at)).catch(() => 'data-next=""'));
}

const WAITING = { correct: "corrected", keep: "kept", skip: "skipped", second_opinion: "second opinion wanted" };
async function decide(action, code) {
  if ($("cards")) { decideChosen(action, code); return; }
  const { at, next } = focus();
  if (!at) return;
  if (moving) { status($("saved").dataset.state, "Too fast: the next row was not there yet, so that key did nothing."); return; }
  if (stuck === here()) { announce("The verdict on this row waits to be saved. The next row comes when the server answers."); return; }
  const decided = here();
  const saved = send("/verdict", { ...TESTS, set: SET, at: Number(at), action, code, comment: $("comment").value });
  note(decided);
  if (!next) { await saved; ahead.clear(); }
  if (await show(next) || here() !== decided || !outbox.some(({ body }) => place(body) === decided)) return;
  stuck = decided;
  const waits = document.createElement("p");
  waits.className = "state waiting";
  waits.textContent = `waiting: ${WAITING[action]}`;
  $("focus").querySelector(".state")?.remove();
  $("focus").querySelector("header").append(waits);
  announce(`${waits.textContent}. The next row comes when the server answers.`);
}

// ── one by one or as a grid; all or the probably wrong ──

function look(view, at) {
  $("filters").elements.view.value = view;
  refilter(at);
}
const alone = (at) => look("row", at);
function showAll() {
  $("filters").elements.among.value = "all";
  refilter();
}
// Who names rows by a slice, an error or a search wants to see all of them; a search also finds what is decided.
document.addEventListener("change", (event) => {
  const { among, state, slice, bug, find } = $("filters").elements;
  if (![slice, bug, find].includes(event.target)) return;
  const named = [slice, bug, find].some((each) => each?.value.trim());
  among.value = named ? "all" : "wrong";
  if (event.target === find) state.value = find.value.trim() ? "all" : "open";
}, { capture: true });

// ── pins, bulk, work, files ──

const PINNED = `psi-pinned-${RUN}`; // the state filter and the row before a pin
function pin(bug) {
  const { state, among, bug: pinned } = $("filters").elements;
  const before = JSON.parse(sessionStorage.getItem(PINNED) || "null");
  if (pinned.value !== String(bug)) {
    if (!pinned.value) sessionStorage.setItem(PINNED, JSON.stringify({ state: state.value, among: among.value, at: focus().at }));
    pinned.value = String(bug);
    state.value = among.value = "all";
    refilter();
    return;
  }
  pinned.value = "";
  if (before) [state.value, among.value] = [before.state, before.among];
  refilter(before?.at);
}
function refilter(at) {
  window.htmx.ajax("GET", "/board", { source: "#filters", values: at ? { at } : {}, target: "#shown", select: "#shown", swap: "outerHTML" });
}
function pinFirst() {
  const pinned = $("filters").elements.bug?.value;
  const first = document.querySelector("[data-pin]");
  if (pinned) pin(pinned); else if (first) pin(first.dataset.pin);
  else announce("This row explains no single error.");
}

let opening = false; // a key meant for the dialog must not decide the row in focus
async function openBulk() {
  opening = true;
  try { await list(); } finally { opening = false; }
  const [count, wrong, decided] = ["matching", "wrong", "decided"].map((name) => Number(marked()[name]));
  if (!count) return;
  Object.assign($("bulk").dataset, { count, wrong });
  $("bulk-count").textContent = `${count.toLocaleString("en")} ${count === 1 ? "row is" : "rows are"} shown`;
  $("bulk-wrong").textContent = `${wrong === count ? "All" : wrong.toLocaleString("en")} of them ${wrong === 1 ? "is" : "are"} probably wrong (more likely than not).`;
  $("bulk-correct").textContent = `Correct the ${wrong.toLocaleString("en")} probably wrong`;
  $("bulk").querySelector("[data-only-wrong]").disabled = !wrong;
  $("bulk-decided").hidden = !decided;
  $("bulk-decided").textContent = `${decided.toLocaleString("en")} of them ${decided === 1 ? "is" : "are"} already decided: the new verdict replaces the old one.`;
  $("bulk").showModal();
  $("bulk").querySelector("form button").focus(); // to cancel, not to decide
}
function bulk(action, onlyWrong) {
  const { count, wrong } = $("bulk").dataset;
  $("bulk").close();
  send("/bulk", { ...TESTS, filter: filter(), action, only_wrong: onlyWrong, expected: Number(onlyWrong ? wrong : count) });
}

async function begin(kind) {
  if (SET === "test") { status("idle", "Only verdicts on training labels are trained with: press g to go there."); return; }
  if ($("work").dataset.busy === "1") return;
  while (outbox.length && $("saved").dataset.state !== "failed") await new Promise((done) => setTimeout(done, 20));
  const told = outbox.length ? { wrong: "Some verdicts are not saved yet." } : await post("/begin", { kind });
  announce(told.wrong || told.said);
  $("work-said").textContent = told.wrong || "";
  if (told.wrong) return;
  ended = "0";
  await work();
}
async function work() {
  await window.htmx.ajax("GET", "/work", { target: "#work", swap: "outerHTML" }).catch(() => {}); // said in the panel
}

let vega;
const script = (name) => new Promise((done, wrong) => {
  const element = document.createElement("script");
  element.src = `/static/${name}`;
  element.onload = done;
  element.onerror = wrong;
  document.head.append(element);
});
async function draw() {
  try { await plot(); } catch { vega = undefined; } // the figures above the plot say the same
}
async function plot() {
  if (!$("history")) return;
  vega ??= ["vega.min.js", "vega-lite.min.js", "vega-embed.min.js"].reduce((before, name) => before.then(() => script(name)), Promise.resolve());
  await vega;
  const spec = JSON.parse(await read("/history"));
  if (!$("history") || !spec) return;
  $("history").classList.add("drawn"); // it has a width only when it is shown
  await window.vegaEmbed($("history"), spec, { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: false });
}

async function takeIn(event) {
  event.preventDefault();
  const [file] = $("import-file").files;
  if (!file) { $("import-said").textContent = "Choose a file first."; return; }
  const told = await decoded(file).then((text) => post("/import", { text, key: newKey() }), (error) => ({ wrong: error.message }));
  $("import-said").textContent = told.wrong || told.said;
  $("import-said").className = told.wrong ? "wrong" : "";
  if (!told.wrong) { ahead.clear(); show(focus().at); }
}

async function decoded(file) { // file.text() would put a mark in the place of what it cannot read
  const content = await file.arrayBuffer();
  try { return new TextDecoder("utf-8", { fatal: true }).decode(content); } catch {
    throw new Error("The file is not in UTF-8, so nothing was imported: save it as UTF-8.");
  }
}

async function post(path, body) {
  try {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...body, run: RUN }) });
    return await answer.json();
  } catch { return { wrong: "The server does not answer: nothing was started. Try again." }; }
}

// ── keys and clicks ──

const DO = {
  undo: () => send("/undo", {}),
  redo: () => send("/redo", {}),
  next: () => focus().next && show(focus().next),
  previous: () => focus().previous && show(focus().previous),
  help: () => $("help").showModal(),
  files: () => { $("files").showModal(); window.htmx.trigger("#offers", "opened"); },
  who: () => { $("who").showModal(); window.htmx.trigger("#reviewers", "opened"); },
  which: () => { $("which-class").value = ""; $("which-wrong").textContent = ""; $("which").showModal(); },
  bulk: openBulk,
  view: () => look($("filters").elements.view.value === "grid" ? "row" : "grid", focus().at),
  all: showAll,
  choose: () => chooseAll(),
  other: () => document.querySelector(".sets a:not([aria-current])")?.click(),
};
const KEYS = {
  c: () => decide("correct"), e: () => decide("keep"), s: () => decide("skip"), o: () => decide("second_opinion"),
  j: DO.next, k: DO.previous, u: DO.undo, r: DO.redo, b: DO.bulk, p: pinFirst, w: DO.which, x: DO.files, i: DO.who, g: DO.other, v: DO.view,
  f: () => $("filters").elements.find.select(),
  t: () => begin("retrain"), d: () => begin("diagnose"),
  n: () => $("comment")?.focus(), "/": () => $("filters").elements.state.focus(), "?": DO.help,
};
const HELD = new Set(["j", "k", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]); // only what changes nothing goes on while its key is held down

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.repeat && event.target.closest("button") && ["Enter", " "].includes(event.key)) { event.preventDefault(); return; }
  // A dialog that was just shut may still hold the focus: what is typed then is not meant for it.
  const typing = event.target.matches("input, select, textarea") && !event.target.closest("dialog:not([open])");
  if (typing) {
    const leaves = event.key === "Escape" || (event.key === "Enter" && event.target.id === "comment");
    if (leaves && !event.target.closest("dialog")) { event.target.blur(); event.preventDefault(); }
    return;
  }
  if (opening || (event.repeat && !HELD.has(event.key))) return;
  const dialog = document.querySelector("dialog[open]");
  if (dialog) {
    const all = dialog.id === "bulk" && [...dialog.querySelectorAll("[data-bulk]")].find((each) => each.dataset.key === event.key);
    if (all) { event.preventDefault(); all.click(); }
    if (dialog.id === "help" && event.key === "?") { event.preventDefault(); dialog.close(); }
    return;
  }
  if (cardKey(event)) { event.preventDefault(); return; }
  const named = /^[0-9]$/.test(event.key) && document.querySelector(`#focus [data-key="${event.key}"]`);
  if (named) { event.preventDefault(); decide("correct", Number(named.dataset.code)); return; }
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { decide: action, code, show: at, pin: bug, bulk: all, begin: kind } = button.dataset;
  if (action) decide(action, code === undefined ? undefined : Number(code));
  else if (at) show(at);
  else if (bug) pin(bug);
  else if (all) bulk(all, button.dataset.onlyWrong === "1");
  else if (kind) begin(kind);
  else if (button.dataset.do) DO[button.dataset.do]();
});

$("import").addEventListener("submit", takeIn);
$("rename").addEventListener("submit", async (event) => {
  event.preventDefault();
  const told = await post("/name", { name: $("rename-name").value });
  if (told.wrong) { $("invite-link").textContent = told.wrong; return; }
  $("who").close();
  list();
});
$("invite").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("invite-link").textContent = await post("/invite", {}).then((told) => told.wrong || told.link);
});
$("which-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const chosen = [...$("which-classes").options].find((each) => each.value === $("which-class").value);
  if (!chosen) { $("which-wrong").textContent = "There is no such class."; return; }
  $("which").close();
  decide("correct", Number(chosen.dataset.code));
});
// ── what htmx loads: the rows of a filter, similar rows, the model's panel; each says itself what went wrong ──

function say(text) {
  $("filters-said").hidden = !text;
  $("filters-said").textContent = text;
}
document.addEventListener("change", (event) => {
  if (event.target.closest("#filters")) say(event.target.validity.valid ? "" : "“Probably wrong from” must be a number from 0 to 1.");
});
function leave() {
  moving = true; // no verdict on a row that is about to go
  moves += 1; // and what was asked for before comes too late
  lists += 1;
}
document.addEventListener("htmx:beforeRequest", (event) => { if (event.detail.elt.id === "filters") leave(); });
function missed(event) {
  const { elt, target, xhr } = event.detail;
  const why = (xhr?.status && xhr.responseText.slice(0, 300)) || "the server does not answer.";
  if (["similar", "offers", "reviewers"].includes(elt.id)) {
    if (elt.id === "similar") elt.dataset.missed = "1";
    elt.replaceChildren(Object.assign(document.createElement("p"), { className: "wrong", textContent: `Cannot be shown: ${why}` }));
  }
  else if (target?.id === "work") $("work-said").textContent = `Progress unknown: ${why}`;
  else { moving = false; say(`These rows cannot be shown: ${why}`); }
}
for (const name of ["responseError", "sendError", "timeout"]) document.addEventListener(`htmx:${name}`, missed);
function retry() {
  const panel = $("similar");
  if (panel?.dataset.missed) { delete panel.dataset.missed; window.htmx.trigger(panel, "again"); }
}

let news = ""; // said together with the row that it leads to
document.addEventListener("htmx:afterSettle", (event) => {
  const where = event.detail.elt.id;
  if (where === "board" || where === "shown") {
    ahead.clear();
    lists += 1;
    moving = false;
    stuck = "";
    marked();
    recall();
    laid();
    inSight();
    if (document.activeElement === document.body) home().focus({ preventScroll: true });
    announce(`${news} ${focus().tell || "Nothing is shown."}`.trim());
    news = "";
    draw();
    prepare(focus().next);
  }
  if (where === "work") finished($("work").dataset);
});

let ended = $("work").dataset.ended;
async function finished(now) {
  if (now.busy === "1") { ended = "0"; return; }
  const fresh = ended === "0" && now.ended === "1";
  ended = now.ended;
  if (!fresh) { await draw(); return; }
  announce(now.told);
  if (now.told && !outbox.length) status("idle", now.told); // on a small screen the panel may be out of sight
  if (now.kind !== "diagnose") { await draw(); return; }
  const { slice, bug } = $("filters").elements; // they are numbered anew
  if (slice) slice.value = "";
  if (bug) bug.value = "";
  ahead.clear();
  news = now.told;
  leave();
  window.htmx.ajax("GET", `/board?${words()}`, { target: "#board", swap: "innerHTML" }).catch(() => { moving = false; });
}

// ── others ──

async function poll() {
  try {
    const now = JSON.parse(await read("/changes"));
    retry();
    if ($("saved").dataset.state === "failed" && !outbox.length) status("idle", "The server is back.");
    if (String(now.seen) !== marked().seen && !outbox.length) {
      ahead.clear();
      await show(focus().at, { quiet: true });
      if ($("work").dataset.busy === "0") await work();
    } else if (now.busy && $("work").dataset.busy === "0") await work();
  } catch (error) { failed(error); }
  setTimeout(poll, POLL);
}

window.addEventListener("beforeunload", (event) => { if (outbox.length) event.preventDefault(); });
marked();
recall();
draw();
if (outbox.length) flush();
prepare(focus().next);
setTimeout(poll, POLL);
