// The list of the turns, with the lines that branch off.

import { html } from "./dom.js";
import { side } from "./words.js";

/** Draws the turns of the line that is shown. marks says what a review found: node → {sign, name, text}. */
export function drawMoves(root, app, marks) {
  const { game, turns } = app;
  const { line, ply } = game;
  const same = JSON.stringify([turns, ply, line.map((node) => [node, game.others(node), marks.get(node)?.text])]);
  if (root.dataset.same === same) return; // a click is lost on a button that is replaced under it
  root.dataset.same = same;
  const rows = html("ol", { class: "turns" });
  let from = 0;
  let row;
  turns.forEach((turn, index) => {
    const nodes = line.slice(from + 1, turn.ply + 1);
    const here = ply > from && ply <= turn.ply;
    const worst = nodes.map((node) => marks.get(node)).filter(Boolean).at(-1);
    const button = html(
      "button",
      {
        type: "button",
        class: `turn ${worst ? worst.name : ""}`,
        "aria-current": here ? "step" : undefined,
        "aria-label": `${side[turn.by]} ${turn.text}${worst ? `, ${worst.text}` : ""}`,
        title: worst?.text,
        "data-ply": turn.ply,
        onclick: () => app.goPly(turn.ply),
      },
      turn.text,
      worst && html("span", { class: "sign" }, worst.sign),
    );
    const branches = nodes.flatMap((node) => game.others(node)).map((node) =>
      html("button", { type: "button", class: "branch", title: "Another line", onclick: () => app.go(node) }, `or ${game.nodes[node].move}`),
    );
    if (!row || turn.by === "W" || row.dataset.full) {
      row = html("li", {});
      if (turn.by === "B") row.append(html("span", { class: "turn none" }, "…"));
      rows.append(row);
    }
    row.append(html("div", { class: "half-turn" }, button, ...branches));
    if (turn.by === "B") row.dataset.full = "yes";
    from = turn.ply;
  });
  root.replaceChildren(turns.length ? rows : html("p", { class: "faint" }, "None yet."));
  const current = root.querySelector('[aria-current="step"]');
  if (!current) root.scrollTop = 0;
  else {
    const top = current.offsetTop - root.offsetTop;
    if (top < root.scrollTop || top + current.offsetHeight > root.scrollTop + root.clientHeight) {
      root.scrollTop = top - root.clientHeight / 2;
    }
  }
}
