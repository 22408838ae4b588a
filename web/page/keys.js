// What keys do, and the panel that tells it: one table for both.

import { byId, html } from "./dom.js";

const table = [
  { keys: ["↑ ↓ ← →"], text: "walk over the points of the board" },
  { keys: ["Enter"], text: "choose the point: place, pick up, move, take" },
  { keys: [".", ","], text: "to the next point that may be chosen, or the one before; among rows, show the next row", run: next },
  { keys: ["Escape"], text: "drop what was picked up", run: (app) => app.cancel() },
  { keys: ["u"], text: "take back", run: (app) => app.undo() },
  { keys: ["r"], text: "play again what was taken back", run: (app) => app.redo() },
  { keys: ["[", "]"], text: "one move back, one move on", run: (app, key) => app.goPly(app.game.ply + (key === "[" ? -1 : 1)) },
  { keys: ["Home", "End"], text: "to the start, to the end", run: (app, key) => app.goPly(key === "Home" ? 0 : Infinity) },
  { keys: ["p"], text: "let the engine play, or wait", run: (app) => app.resume(!app.settings.auto) },
  { keys: ["n"], text: "new game", run: (app) => app.newGame() },
  { keys: ["a"], text: "analysis on or off", run: (app) => app.toggleAnalysis() },
  { keys: ["g"], text: "load and save games", run: (app) => app.files.open() },
  { keys: ["t"], text: "light or dark", run: () => byId("theme").click() },
  { keys: ["?"], text: "this panel", run: () => help() },
];

function next(app, key) {
  const way = key === "." ? 1 : -1;
  if (app.choice?.stage === "row" && app.choice.fits.length > 1) app.nextRow(way);
  else app.pointer.next(way);
}

/** Listens to the keys, but not where text is typed or a dialog is open. */
export function listen(app) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") || event.target.closest("input, textarea, select")) return;
    const entry = table.find(({ keys, run }) => run && keys.includes(event.key));
    if (entry && app.position) {
      event.preventDefault();
      entry.run(app, event.key);
    } else if (event.key.startsWith("Arrow") && event.target === document.body) {
      event.preventDefault();
      app.pointer.focus();
    }
  });
}

/** Opens the panel of keys. */
export function help() {
  const dialog = byId("help");
  const key = (text) => html("kbd", {}, text);
  const rows = table.map(({ keys, text }) => html("tr", {}, html("th", { scope: "row" }, ...keys.map(key)), html("td", {}, text)));
  const close = html("button", { type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "×");
  const sheet = [
    html("div", { class: "row" }, html("h2", { id: "help-title" }, "Keys"), close),
    html("table", { class: "keys" }, html("tbody", {}, ...rows)),
    html("p", { class: "faint" }, "How the game goes is told in the ", html("a", { href: "rules.html", target: "rules" }, "rules"), "."),
  ];
  dialog.replaceChildren(html("div", { class: "sheet" }, ...sheet));
  dialog.showModal();
}
