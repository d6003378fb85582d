// The grid of the review page: rows are chosen by mouse or keyboard, decided together, and undone in one step.
"use strict";

const chosen = new Set(); // places; kept while the grid is drawn again
let current = ""; // the card that the arrows start from
let anchor = ""; // where a choice of several began

const cards = () => [...document.querySelectorAll("#cards [role=option]")];
const card = (place) => cards().find((each) => each.dataset.place === place);

function laid() { // after the grid was drawn: what was chosen still is, unless it is gone
  const all = cards();
  if (!all.length) { chosen.clear(); return; }
  for (const place of chosen) if (!card(place)) chosen.delete(place);
  if (!card(current)) current = all[0].dataset.place;
  mark();
}

function mark() {
  for (const each of cards()) {
    each.setAttribute("aria-selected", String(chosen.has(each.dataset.place)));
    each.tabIndex = each.dataset.place === current ? 0 : -1;
  }
  const count = chosen.size;
  $("chosen").textContent = count ? `${count} chosen` : "None chosen";
  // To correct is the likely answer only where every chosen label is probably wrong.
  $("correct-chosen").classList.toggle("first", count > 0 && [...chosen].every((place) => card(place).dataset.likely === "1"));
}

function choose(place, { range = false } = {}) {
  const all = cards().map((each) => each.dataset.place);
  if (range && all.includes(anchor)) {
    const [from, to] = [all.indexOf(anchor), all.indexOf(place)].sort((a, b) => a - b);
    for (const each of all.slice(from, to + 1)) chosen.add(each);
  } else {
    anchor = place;
    if (!chosen.delete(place)) chosen.add(place);
  }
  current = place;
  mark();
}

function chooseAll() {
  const all = cards().map((each) => each.dataset.place);
  const every = all.every((each) => chosen.has(each));
  chosen.clear();
  if (!every) for (const each of all) chosen.add(each);
  mark();
}

function decideChosen(action, code) {
  if (moving) return;
  const rows = [...chosen].map(Number);
  if (!rows.length) { status("idle", "No row is chosen: choose some by a click or Space, or all by a."); return; }
  for (const place of chosen) card(place).dataset.verdict = "waiting";
  chosen.clear();
  anchor = "";
  mark();
  send("/together", { ...TESTS, set: SET, rows, action, code });
}

function step(key) { // the card that an arrow leads to
  const all = cards();
  const at = all.findIndex((each) => each.dataset.place === current);
  const columns = all.filter((each) => each.offsetTop === all[0].offsetTop).length;
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, Home: -at, End: all.length - 1 - at }[key];
  return by === undefined ? undefined : all[at + by];
}

function cardKey(event) { // whether the key was for the grid
  if (!event.target.closest("#cards")) {
    if (event.key !== "a" || !$("cards")) return false;
    chooseAll();
    return true;
  }
  const next = step(event.key);
  if (next) {
    const from = current;
    current = next.dataset.place;
    if (event.shiftKey) { if (!chosen.has(from)) choose(from); choose(current, { range: true }); } else mark();
    next.focus();
  } else if (event.key === " ") choose(current, { range: event.shiftKey });
  else if (event.key === "a") chooseAll();
  else if (event.key === "Enter") alone(current);
  else return false;
  return true;
}

document.addEventListener("click", (event) => {
  const clicked = event.target.closest("#cards [role=option]");
  if (!clicked) return;
  choose(clicked.dataset.place, { range: event.shiftKey });
  clicked.focus({ preventScroll: true });
});
document.addEventListener("dblclick", (event) => {
  const clicked = event.target.closest("#cards [role=option]");
  if (clicked) alone(clicked.dataset.place);
});
laid();
