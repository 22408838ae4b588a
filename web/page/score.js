// The score above the board: both sides with their rings, and the pool between them.

import { html, svg } from "./dom.js";
import { token } from "./board.js";
import { side } from "./words.js";

/** Draws the score of a position. names says who plays a side; after the end nobody is to move. */
export function drawScore(root, position, names) {
  root.replaceChildren(seat(position, "W", names.W), pool(position), seat(position, "B", names.B));
}

function seat(position, color, name) {
  const { hand, taken, ringsToWin } = position;
  const turn = position.phase !== "over" && position.toMove === color;
  const won = position.result?.winner === color;
  const slots = [];
  for (let i = 0; i < ringsToWin; i++) slots.push(token(`${color}R`, i >= taken[color]));
  const left = hand[color] > 0 ? html("span", { class: "hand" }, `${hand[color]} to place`) : null;
  const spoken = `${taken[color]} of ${ringsToWin} rings taken`;
  return html(
    "div",
    { class: `seat ${turn ? "next" : ""} ${won ? "won" : ""}`, "data-side": color },
    html("div", { class: "who" }, token(`${color}M`), html("strong", {}, side[color]), html("span", { class: "faint" }, name)),
    html(
      "div",
      { class: "rings", title: spoken },
      html("span", { class: "slots", role: "img", "aria-label": spoken, "data-taken": taken[color] }, ...slots),
      left,
    ),
  );
}

// The markers that are left, seen from the edge: white above, black below.
function pool(position) {
  const n = position.pool;
  const stack = svg("svg", { class: "stack", viewBox: "0 0 204 14", "aria-hidden": "true", preserveAspectRatio: "xMidYMid" });
  const wide = Math.min(4, 204 / Math.max(1, n));
  for (let i = 0; i < n; i++) {
    const x = (204 - n * wide) / 2 + i * wide;
    stack.append(svg("rect", { class: "up", x, y: 0, width: wide * 0.72, height: 7 }));
    stack.append(svg("rect", { class: "down", x, y: 7, width: wide * 0.72, height: 7 }));
  }
  const low = n <= 5 ? "pool low" : "pool";
  return html("div", { class: low, title: "Markers left; when none is left the game ends" }, html("span", {}, `${n} markers`), stack);
}
