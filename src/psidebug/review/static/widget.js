// Draws what Python shows, and sends the keys back. All text is set as text: nothing of a row is read as HTML.
const STYLE = `
.psi-review { border: 1px solid currentColor; border-radius: 6px; padding: 0.8em 1em; max-width: 60em; font: inherit; }
.psi-review:focus { outline: 3px solid #4c78a8; outline-offset: 1px; }
.psi-review table { border-collapse: collapse; margin: 0.5em 0; }
.psi-review th, .psi-review td { text-align: left; padding: 0.1em 0.8em 0.1em 0; }
.psi-review img { image-rendering: pixelated; min-width: 96px; max-width: 100%; }
.psi-review .psi-text { white-space: pre-wrap; }
.psi-review .psi-text, .psi-review .psi-cells { max-height: 14em; overflow: auto; } /* the buttons stay in sight */
.psi-review button { font: inherit; padding: 0.25em 0.8em; margin: 0.2em 0.4em 0 0; }
.psi-review .psi-likelier { font-weight: bold; }
`;

function made(tag, text, properties = {}) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  return Object.assign(element, properties);
}

function button(label, key, press, likelier) {
  const found = made("button", `${label} (${key})`, { type: "button", onclick: () => press(key) });
  found.dataset.key = key;
  if (likelier) found.classList.add("psi-likelier");
  return found;
}

function counted(number) {
  return number === 1 ? "row that is" : "rows that are";
}

function progress({ row, left, total }) {
  if (!total) return "Nothing to review: no label is probably wrong.";
  if (!row && !left) return `Done: all ${total} ${counted(total)} probably wrong ${total === 1 ? "has" : "have"} a verdict.`;
  if (!row) return `Nothing is left here: ${left} of ${total} wait for a second opinion.`;
  return `${total - left} of ${total} ${counted(total)} probably wrong decided`;
}

function number(value) {
  return value === null ? "not known" : value;
}

function drawn(shown, press) {
  const parts = [made("div", progress(shown))];
  const row = shown.row;
  if (row) {
    parts.push(made("h4", `${row.predicted ? "Test row" : "Row"} ${row.id}: given ${row.given}, proposed ${row.proposed}`));
    parts.push(made("div", row.predicted
      ? `A label of the test set · wrong with probability ${number(row.p_wrong)} · the model says ${row.predicted}`
      : `wrong with probability ${number(row.p_wrong)} · PS ${number(row.ps)}`));
    if (row.answers.length) parts.push(made("div", `answers: ${row.answers.join(", ")}`));
    if (row.note) parts.push(made("div", row.note));
    if (row.picture) parts.push(made("img", undefined, { src: row.picture, alt: `row ${row.id}` }));
    if (row.text) parts.push(made("div", row.text, { className: "psi-text" }));
    if (row.cells.length) {
      const table = made("table");
      for (const [name, value] of row.cells) {
        const line = table.insertRow();
        line.append(made("th", name, { scope: "row" }), made("td", value));
      }
      const cells = made("div", undefined, { className: "psi-cells", tabIndex: 0 });
      cells.setAttribute("role", "region");
      cells.setAttribute("aria-label", "Values of the row");
      cells.append(table);
      parts.push(cells);
    }
    if (row.more) parts.push(made("div", `and ${row.more} more columns`));
    parts.push(button(`Correct to ${row.proposed}`, "c", press, row.likely), button(`Keep ${row.given}`, "e", press, !row.likely));
    parts.push(button("Skip", "s", press), button("Second opinion", "o", press));
    const classes = Object.entries(row.keys);
    if (classes.length > 2) {
      const group = made("div");
      group.append(...classes.map(([key, name]) => button(name, key, press)));
      parts.push(group);
    }
    parts.push(button("Previous", "k", press), button("Next", "j", press));
  }
  parts.push(button("Undo", "u", press), button("Redo", "r", press));
  return parts;
}

function render({ model, el }) {
  const box = made("div", undefined, { className: "psi-review", tabIndex: 0 });
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Review of suspected labels");
  box.dataset.lmSuppressShortcuts = "true"; // Jupyter has keys of its own, such as c for "copy the cell"
  const inside = made("div"), said = made("p");
  said.setAttribute("role", "status"); // it stays, so that what happens is read aloud
  box.append(inside, said);
  const press = (key) => model.send({ key, row: model.get("shown").row?.id });
  const draw = () => {
    const focused = box.contains(document.activeElement), key = document.activeElement?.dataset.key;
    const shown = model.get("shown");
    inside.replaceChildren(...drawn(shown, press));
    said.textContent = shown.said;
    if (focused) (inside.querySelector(`[data-key="${key}"]`) ?? box).focus({ preventScroll: true });
  };
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !/^[ceskjour0-9]$/.test(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    press(event.key);
  });
  model.on("change:shown", draw);
  draw();
  el.append(made("style", STYLE), box);
  return () => model.off("change:shown", draw);
}

export default { render };
