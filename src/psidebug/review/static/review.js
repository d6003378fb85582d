// Keys, saves and prefetch of the review page. No inline script, no eval; htmx loads the rest.
"use strict";

const $ = (id) => document.getElementById(id);
const RUN = document.body.dataset.run;
const OUTBOX = `psi-outbox-${RUN}`;
const POLL = 2000;

// ── where we are ──

const filter = () => {
  const form = new FormData($("filters"));
  return Object.fromEntries([...form.entries()].filter(([, value]) => value !== ""));
};
const words = (more = {}) => new URLSearchParams({ ...filter(), ...more }).toString();
const focus = () => $("focus").dataset;
const announce = (text) => { $("live").textContent = text; };

async function read(path) {
  const answer = await fetch(path, { headers: { "HX-Request": "true" } });
  if (!answer.ok) throw new Error((await answer.text()).slice(0, 300));
  return answer.text();
}

// ── the row in focus; the next one is fetched before it is asked for ──

let ahead = new Map();
const fetched = (at) => {
  const path = `/item?${words(at === "" ? {} : { at })}`;
  if (!ahead.has(path)) ahead.set(path, read(path).catch((error) => { ahead.delete(path); throw error; }));
  return ahead.get(path);
};

let moves = 0;
let moving = false; // on the way to another row: a key that decides would hit the one that is left
async function show(at, { quiet = false } = {}) {
  if (quiet && moving) return;
  const turn = quiet ? moves : ++moves;
  moving ||= !quiet;
  let html;
  try { html = await fetched(at); } catch (error) { moving = false; failed(error); return; }
  const typing = $("comment") === document.activeElement;
  if (turn !== moves || (quiet && typing)) return;
  moving = false;
  $("item").innerHTML = html;
  window.htmx.process($("item"));
  if (!quiet) {
    $("focus").focus({ preventScroll: true });
    announce(focus().tell || "Nothing is left in this filter.");
  }
  history.replaceState(null, "", `/?${words(focus().at ? { at: focus().at } : {})}`);
  await list();
  if (focus().next) fetched(focus().next).catch(() => {});
}

let lists = 0;
async function list() {
  const turn = ++lists;
  try {
    const html = await read(`/queue?${words(focus().at ? { at: focus().at } : {})}`);
    if (turn === lists) { $("queue").innerHTML = html; marked(); }
  } catch (error) { failed(error); }
}

function marked() {
  const fresh = $("queue").querySelector(".progress");
  if (fresh) $("progress").replaceChildren(fresh); // it stays in sight, in the head of the page
  const progress = document.querySelector(".progress").dataset;
  document.querySelector('[data-do="undo"]').disabled = progress.undo === "0";
  document.querySelector('[data-do="redo"]').disabled = progress.redo === "0";
  $("name").textContent = progress.name;
  return progress;
}

// ── saves: in order, each once (by its key), tried again until they are on disk, kept over a reload ──

let outbox = JSON.parse(localStorage.getItem(OUTBOX) || "[]");
let sending = false;
let patience = 1000;
const keep = () => localStorage.setItem(OUTBOX, JSON.stringify(outbox));
const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

function status(state, text) {
  $("saved").dataset.state = state;
  $("saved").textContent = text;
}
function failed(error) {
  status("failed", outbox.length
    ? `Not saved: ${outbox.length} waiting, trying again. ${error.message}`
    : `The server does not answer: ${error.message}`);
}

function send(path, body) {
  outbox.push({ path, body: { ...body, key: newKey() } });
  keep();
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
      if (answer.status === 401 || answer.status === 403) throw new Error("This browser is not let in any more: open the link that psi review printed last.");
    } catch (error) {
      failed(error);
      setTimeout(flush, patience);
      patience = Math.min(2 * patience, 10000);
      break;
    }
    patience = 1000;
    outbox.shift();
    keep();
    ahead = new Map([...ahead].filter(([address]) => address.includes(`at=${focus().next}`)));
    const told = await answer.json().catch(() => ({ wrong: "The server gave no answer." }));
    if (told.wrong) { status("wrong", told.wrong); announce(told.wrong); continue; }
    status("saved", `Saved. ${told.said}`);
    announce(`Saved. ${told.said}`);
    if (path === "/undo" || path === "/redo") { ahead.clear(); await show(told.at ?? focus().at); }
    if (path === "/bulk") { ahead.clear(); await show(""); }
  }
  sending = false;
  if (!outbox.length) await list();
}

function judge(action, code) {
  const { at, next } = focus();
  if (!at || moving) return;
  const saved = send("/verdict", { at: Number(at), action, code, comment: $("comment").value });
  if (next) show(next); else saved.then(() => { ahead.clear(); return show(""); });
}

// ── pins, bulk, work, files ──

function pin(bug) {
  const form = $("filters");
  form.elements.bug.value = form.elements.bug.value === String(bug) ? "" : String(bug);
  if (form.elements.bug.value) form.elements.state.value = "all";
  form.requestSubmit ? form.dispatchEvent(new Event("change", { bubbles: true })) : form.submit();
}
function pinFirst() {
  const pinned = $("filters").elements.bug?.value;
  const first = document.querySelector("[data-pin]");
  if (pinned) pin(pinned); else if (first) pin(first.dataset.pin);
  else announce("There is no single error that this row explains.");
}

async function openBulk() {
  await list();
  const count = Number(marked().matching);
  if (!count) return;
  $("bulk").dataset.count = count;
  $("bulk-count").textContent = `${count.toLocaleString("en")} ${count === 1 ? "row is" : "rows are"} shown`;
  $("bulk").showModal();
  $("bulk").querySelector("form button").focus(); // to cancel, not to decide
}
function bulk(action) {
  $("bulk").close();
  send("/bulk", { filter: filter(), action, expected: Number($("bulk").dataset.count) });
}

async function begin(kind) {
  if ($("work").dataset.busy === "1") return;
  while (outbox.length && $("saved").dataset.state !== "failed") await new Promise((done) => setTimeout(done, 20));
  const answer = await fetch("/begin", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ kind }) });
  const told = await answer.json();
  announce(told.wrong || told.said);
  if (told.wrong) status("wrong", told.wrong);
  await work();
}
async function work() {
  window.htmx.ajax("GET", "/work", { target: "#work", swap: "outerHTML" });
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
  const answer = await fetch("/import", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text: await file.text(), key: newKey() }),
  });
  const told = await answer.json();
  $("import-said").textContent = told.wrong || told.said;
  $("import-said").className = told.wrong ? "wrong" : "";
  if (!told.wrong) { ahead.clear(); show(focus().at); }
}

async function post(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  return answer.json();
}

// ── keys and clicks ──

const DO = {
  undo: () => send("/undo", {}),
  redo: () => send("/redo", {}),
  next: () => focus().next && show(focus().next),
  previous: () => focus().previous && show(focus().previous),
  help: () => $("help").showModal(),
  files: () => $("files").showModal(),
  who: () => $("who").showModal(),
  which: () => { $("which-class").value = ""; $("which-wrong").textContent = ""; $("which").showModal(); },
  bulk: openBulk,
};
const KEYS = {
  c: () => judge("correct"), e: () => judge("keep"), s: () => judge("skip"), o: () => judge("second_opinion"),
  j: DO.next, k: DO.previous, u: DO.undo, r: DO.redo, b: DO.bulk, p: pinFirst, w: DO.which, x: DO.files, i: DO.who,
  t: () => begin("retrain"), d: () => begin("diagnose"),
  n: () => $("comment")?.focus(), "/": () => $("filters").elements.state.focus(), "?": DO.help,
};
const BULK = { c: "correct", e: "keep", s: "skip", o: "second_opinion" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const typing = event.target.matches("input, select, textarea");
  if (typing) {
    const leaves = event.key === "Escape" || (event.key === "Enter" && event.target.id === "comment");
    if (leaves && !event.target.closest("dialog")) { event.target.blur(); event.preventDefault(); }
    return;
  }
  const dialog = document.querySelector("dialog[open]");
  if (dialog) {
    if (dialog.id === "bulk" && BULK[event.key]) { event.preventDefault(); bulk(BULK[event.key]); }
    if (dialog.id === "help" && event.key === "?") { event.preventDefault(); dialog.close(); }
    return;
  }
  const number = /^[1-9]$/.test(event.key) && document.querySelector(`[data-code="${Number(event.key) - 1}"][data-judge]`);
  if (number) { event.preventDefault(); judge("correct", Number(event.key) - 1); return; }
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { judge: action, code, show: at, pin: bug, bulk: all, begin: kind } = button.dataset;
  if (action) judge(action, code === undefined ? undefined : Number(code));
  else if (at) show(at);
  else if (bug) pin(bug);
  else if (all) bulk(all);
  else if (kind) begin(kind);
  else if (button.dataset.do) DO[button.dataset.do]();
});

$("import").addEventListener("submit", takeIn);
$("rename").addEventListener("submit", async (event) => {
  event.preventDefault();
  await post("/name", { name: $("rename-name").value });
  $("who").close();
  list();
});
$("invite").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("invite-link").textContent = (await post("/invite", {})).link;
});
$("which-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const chosen = [...$("which-classes").options].find((each) => each.value === $("which-class").value);
  if (!chosen) { $("which-wrong").textContent = "There is no such class."; return; }
  $("which").close();
  judge("correct", Number(chosen.dataset.code));
});
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status >= 400) { status("failed", event.detail.xhr.responseText.slice(0, 300)); }
});
document.addEventListener("htmx:afterSettle", (event) => {
  const where = event.detail.elt.id;
  if (where === "board") { ahead.clear(); marked(); announce(focus().tell || "Nothing is shown."); draw(); if (focus().next) fetched(focus().next).catch(() => {}); }
  if (where === "work") finished($("work").dataset);
});

let ended = $("work").dataset.ended;
async function finished(now) {
  if (now.busy === "1") { ended = "0"; return; }
  await draw();
  const fresh = ended === "0" && now.ended === "1";
  ended = now.ended;
  if (!fresh) return;
  announce($("work").innerText);
  if (now.kind === "diagnose") { ahead.clear(); window.htmx.ajax("GET", `/board?${words()}`, { target: "#board", swap: "innerHTML" }); }
}

// ── others ──

async function poll() {
  try {
    const now = JSON.parse(await read("/changes"));
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
draw();
if (outbox.length) flush();
if (focus().next) fetched(focus().next).catch(() => {});
setTimeout(poll, POLL);
