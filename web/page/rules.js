// Draws the pictures of the rules page, with the code that draws the board.

import { arrow, band, halo } from "./marks.js";
import { hexagon, place } from "./geometry.js";
import { list, pictures, piecesOf } from "./pictures.js";
import { parse } from "./words.js";
import { picture } from "./board.js";
import { svg } from "./dom.js";

for (const figure of document.querySelectorAll("[data-picture]")) {
  const what = pictures[figure.dataset.picture];
  const { board, root } = picture(hexagon(what.radius), piecesOf(what), what.text);
  const { bands, below, above, arrows } = board.layers;
  if (what.from) below.append(halo(what.from, "can chosen"));
  for (const point of list(what.to)) {
    const { x, y } = place(point);
    above.append(svg("circle", { class: "dot", r: 8, cx: x, cy: y }));
  }
  if (what.move) {
    const { at, to } = parse(what.move);
    arrows.append(arrow(at, to, { weight: 0.2, name: "best" }));
  }
  for (const row of list(what.rows)) {
    const { at, to } = parse(row);
    bands.append(band(at, to, "chosen"));
  }
  figure.prepend(root);
}

// A link to a rule leads there before the pictures have their height.
if (location.hash) document.querySelector(location.hash)?.scrollIntoView();
