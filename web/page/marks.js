// What is drawn around the pieces: where one may click, the last Move, rows, the heat of an analysis, arrows.

import { place } from "./geometry.js";
import { piece } from "./board.js";
import { svg } from "./dom.js";

const at = (point) => {
  const { x, y } = place(point);
  return { cx: x, cy: y };
};

/** A stroke along a row from end to end. */
export function band(from, to, name) {
  const a = place(from);
  const b = place(to);
  return svg("line", { class: `band ${name}`, x1: a.x, y1: a.y, x2: b.x, y2: b.y });
}

/** A ring of light around a Point. */
export const halo = (point, name) => svg("circle", { class: `halo ${name}`, r: 29.5, ...at(point) });

/** A piece that is not there yet. */
export function ghost(point, code) {
  const { x, y } = place(point);
  const element = piece(code);
  element.classList.add("ghost");
  element.setAttribute("transform", `translate(${x} ${y})`);
  return element;
}

/** An arrow from Point to Point; weight from 0 to 1 is its breadth. A number may stand on its end. */
export function arrow(from, to, { weight = 0.5, name = "", text } = {}) {
  const a = place(from);
  const b = place(to);
  const length = Math.hypot(b.x - a.x, b.y - a.y);
  const along = { x: (b.x - a.x) / length, y: (b.y - a.y) / length };
  const half = 2 + 5 * weight;
  const head = half + 7;
  const outline = [[24, half], [length - 26, half], [length - 26, head], [length - 6, 0]];
  const all = [...outline, ...outline.slice(0, 3).reverse().map(([u, v]) => [u, -v])];
  const points = all.map(([u, v]) => `${a.x + along.x * u - along.y * v},${a.y + along.y * u + along.x * v}`).join(" ");
  const shape = svg("polygon", { class: `arrow ${name}`, points });
  if (text === undefined) return shape;
  const middle = { x: a.x + along.x * length * 0.5, y: a.y + along.y * length * 0.5 };
  return svg("g", {}, shape, badge(middle, text, name));
}

/** A number in a disc. */
function badge({ x, y }, text, name) {
  return svg("g", { class: `badge ${name}` }, svg("circle", { cx: x, cy: y, r: 13 }), svg("text", { x, y: y + 6 }, text));
}

/** A Move of an analysis, however it looks: an arrow, a band, or a ring with its number. move is parsed. */
export function hint(move, options) {
  switch (move.kind) {
    case "move":
      return arrow(move.at, move.to, options);
    case "row":
      return band(move.at, move.to, options.name);
    case "pass":
      return svg("g");
    default: {
      const around = svg("circle", { class: `spot ${options.name}`, r: 25, ...at(move.at) });
      return svg("g", {}, around, options.text === undefined ? null : badge(place(move.at), options.text, options.name));
    }
  }
}

/** How much of something, from 0 to 1, belongs to a Point: a disc below it, with the percentage where there is room. */
export function heat(point, share, peak, free) {
  const { x, y } = place(point);
  const strength = Math.sqrt(share / peak);
  const disc = svg("circle", { class: "share", r: 12 + 16 * strength, "fill-opacity": 0.12 + 0.68 * strength, ...at(point) });
  const label = free && share >= 0.01 ? svg("text", { class: "percent", x, y: y + 5 }, Math.round(100 * share)) : null;
  return svg("g", {}, disc, label);
}

/**
 * Draws the last Move and what the player may do on a Board. choice is the Choice, or null where nobody may click; hover is
 * the Point under the pointer or the cursor, if any; row is a row to show as if it were pointed at.
 */
export function draw(board, position, choice, hover, row) {
  const { bands, below, above } = board.layers;
  for (const layer of [bands, below, above]) layer.replaceChildren();
  const last = position.last;
  if (last?.kind === "move") below.append(arrowless(last));
  if (last?.kind === "row" && choice?.stage !== "row") bands.append(band(last.at, last.to, "last"));
  if (last?.kind === "place" || last?.kind === "ring") below.append(halo(last.at, "last"));
  if (!choice) return;

  const color = position.toMove;
  const meant = hover ? choice.at(hover) : [];
  switch (choice.stage) {
    case "place":
      if (meant.length) above.append(ghost(hover, `${color}R`));
      break;
    case "ring":
      for (const point of choice.targets) below.append(halo(point, hover === point ? "can chosen" : "can"));
      break;
    case "to":
      below.append(halo(choice.ring, "can chosen"));
      above.append(ghost(choice.ring, `${color}M`));
      for (const point of choice.targets) if (point !== hover) above.append(svg("circle", { class: "dot", r: 7, ...at(point) }));
      if (meant.length) {
        for (const point of meant[0].points ?? []) above.append(svg("circle", { class: "flips", r: 15, ...at(point) }));
        above.append(ghost(hover, `${color}R`));
      }
      break;
    case "row": {
      for (const move of choice.fits) bands.append(band(move.at, move.to, "can"));
      const shown = row ? [row] : meant;
      for (const move of shown) bands.append(band(move.at, move.to, shown.length === 1 ? "chosen" : "can chosen"));
      for (const point of choice.clicked) above.append(svg("circle", { class: "dot", r: 6, ...at(point) }));
      if (shown.length === 1) for (const point of shown[0].points) above.append(svg("circle", { class: "flips", r: 15, ...at(point) }));
      break;
    }
    case "take":
      for (const point of choice.targets) below.append(halo(point, hover === point ? "off chosen" : "off"));
      break;
  }
}

// The last ring move: where it came from and where it went.
function arrowless({ at: from, to }) {
  return svg("g", {}, band(from, to, "trail"), halo(to, "last"));
}
