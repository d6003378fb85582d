// The page is whole without this script. It draws the plots, and sorts, filters and copies the suspects.
"use strict";
(() => {
  // ── plots ──
  const data = document.getElementById("plots");
  if (data && window.vegaEmbed) {
    const plots = JSON.parse(data.textContent);
    for (const place of document.querySelectorAll("[data-plot]")) {
      const spec = plots[place.dataset.plot];
      place.classList.add("drawn");  // it has a width only when it is shown
      if (spec.columns && place.clientWidth < 640) spec.columns = 1;
      // ast: expressions are interpreted, since the policy of the page forbids eval. defaultStyle, tooltip: these would
      // add a style element, which it forbids too.
      const options = { mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false, tooltip: false };
      window.vegaEmbed(place, spec, options);
    }
  }
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details")) each.open = true;
  });

  // ── suspects ──
  const table = document.getElementById("suspects-table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const form = document.getElementById("filter");
  const [find, given, leastWrong, leastPs] = ["find", "given", "least-wrong", "least-ps"].map((id) => document.getElementById(id));
  const shown = document.getElementById("shown");
  const inAll = Number(shown.dataset.inAll);
  const [ROW, GIVEN, , WRONG, PS] = [0, 1, 2, 3, 4];
  const text = (row, column) => row.cells[column].textContent.trim();
  const number = (row, column) => {
    const value = row.cells[column].dataset.value;
    return value === "" ? -Infinity : Number(value);
  };
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const said = (count) => count.toLocaleString("en");
  const ofRows = (count) => `${said(count)} row id${count === 1 ? "" : "s"}`;

  const filter = () => {
    const asked = find.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const keep =
        (!asked || words.get(row).includes(asked)) &&
        (!given.value || text(row, GIVEN) === given.selectedOptions[0].textContent.trim()) &&
        (leastWrong.value === "" || number(row, WRONG) >= Number(leastWrong.value)) &&
        (leastPs.value === "" || number(row, PS) >= Number(leastPs.value));
      row.hidden = !keep;
      count += keep;
    }
    const beyond = inAll > rows.length ? `; ${said(inAll - rows.length)} more not in this page` : "";
    shown.textContent = `${said(count)} of ${said(rows.length)} shown${beyond}.`;
  };

  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const kind = header.dataset.sort;
    if (!kind) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    header.replaceChildren(button);
    button.addEventListener("click", () => {
      const first = kind === "number" ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = header.getAttribute("aria-sort") === first ? other : first;
      for (const each of headers) each.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const collator = new Intl.Collator("en", { numeric: true });
      const compare =
        kind === "number"
          ? (a, b) => number(a, column) - number(b, column) || 0
          : (a, b) => collator.compare(text(a, column), text(b, column));
      rows.sort((a, b) => sign * compare(a, b));
      body.append(...rows);
    });
  });

  // From disk the clipboard may be refused: then an older way is tried, and at last the ids are shown to be copied by hand.
  const copy = async () => {
    const ids = rows.filter((row) => !row.hidden).map((row) => text(row, ROW));
    if (!ids.length) {
      shown.textContent = "No row is shown, so nothing was copied.";
      return;
    }
    const lines = ids.join("\n");
    const box = document.getElementById("ids");
    const area = box.querySelector("textarea");
    area.value = lines;
    let done = false;
    try {
      await navigator.clipboard.writeText(lines);
      done = true;
    } catch {
      box.hidden = false;
      area.select();
      done = document.execCommand("copy");
      box.hidden = done;
    }
    shown.textContent = done ? `${ofRows(ids.length)} copied.` : `${ofRows(ids.length)}, to be copied by hand:`;
  };

  form.addEventListener("input", filter);
  document.getElementById("all").addEventListener("click", () => {
    form.reset();
    filter();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("copy").addEventListener("click", copy);
  form.hidden = false;
  filter();
})();
