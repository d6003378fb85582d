// Draws what Python shows, and sends the keys back. All text is set as text: nothing of a row is read as HTML.
const STYLE = `
.psi-review { border: 1px solid currentColor; border-radius: 6px; padding: 0.8em 1em; max-width: 60em; font: inherit; }
.psi-review:focus { outline: 3px solid #4c78a8; outline-offset: 1px; }
.psi-review table { border-collapse: collapse; margin: 0.5em 0; }
.psi-review th, .psi-review td { text-align: left; padding: 0.1em 0.8em 0.1em 0; }
.psi-review img { image-rendering: pixelated; min-width: 96px; max-width: 100%; }
.psi-review .psi-text { white-space: pre-wrap; max-height: 14em; overflow: auto; }
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
  if (likelier) found.classList.add("psi-likelier");
  return found;
}

function drawn(shown, press) {
  const parts = [];
  const done = shown.total - shown.left;
  parts.push(made("div", shown.row || shown.left
    ? `${done} of ${shown.total} rows that are probably wrong have a verdict`
    : shown.total ? `Done: all ${shown.total} rows that are probably wrong have a verdict.` : "Nothing to review."));
  const row = shown.row;
  if (row) {
    parts.push(made("h4", `Row ${row.id}: given ${row.given}, proposed ${row.proposed}`));
    parts.push(made("div", `wrong with probability ${row.p_wrong} · PS ${row.ps}`));
    if (row.picture) parts.push(made("img", undefined, { src: row.picture, alt: `row ${row.id}` }));
    if (row.text) parts.push(made("div", row.text, { className: "psi-text" }));
    if (row.cells.length) {
      const table = made("table");
      for (const [name, value] of row.cells) {
        const line = table.insertRow();
        line.append(made("th", name, { scope: "row" }), made("td", value));
      }
      parts.push(table);
    }
    const likely = row.p_wrong >= 0.5;
    parts.push(button(`Correct to ${row.proposed}`, "c", press, likely), button(`Keep ${row.given}`, "e", press, !likely));
    parts.push(button("Skip", "s", press), button("Previous", "k", press), button("Next", "j", press));
  }
  parts.push(button("Undo", "u", press));
  parts.push(made("p", shown.said, { role: "status" }));
  return parts;
}

function render({ model, el }) {
  const box = made("div", undefined, { className: "psi-review", tabIndex: 0 });
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Review of suspected labels");
  const press = (key) => model.send({ key, row: model.get("shown").row?.id });
  const draw = () => {
    const inside = box.contains(document.activeElement);
    box.replaceChildren(...drawn(model.get("shown"), press));
    if (inside) box.focus();
  };
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !/^[ceskju1-9]$/.test(event.key)) return;
    event.preventDefault();
    event.stopPropagation(); // the keys of the notebook itself
    press(event.key);
  });
  model.on("change:shown", draw);
  draw();
  el.append(made("style", STYLE), box);
  return () => model.off("change:shown", draw);
}

export default { render };
