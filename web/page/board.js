// The board and its pieces, as SVG. What is drawn over it is in marks.js.

import { box, lines, place } from "./geometry.js";
import { svg } from "./dom.js";

const MARGIN = 58; // around the Points, for the names of the lines
const STEP = 70; // milliseconds that a ring takes for one step
const TURN = 300; // milliseconds that a marker takes to turn over

const translate = (point) => {
  const { x, y } = place(point);
  return `translate(${x} ${y})`;
};

/** A piece by its code: WR, BR a ring; WM, BM a marker. Its body lies around 0, 0. */
export function piece(code) {
  const ring = code[1] === "R";
  const circles = ring
    ? [svg("circle", { class: "edge", r: 21.5 }), svg("circle", { class: "band", r: 21.5 })]
    : [svg("circle", { class: "disc", r: 15 }), svg("circle", { class: "dimple", r: 9 })];
  const color = code[0] === "W" ? "white" : "black";
  return svg("g", { class: `piece ${ring ? "ring" : "marker"} ${color}` }, svg("g", { class: "body" }, ...circles));
}

/**
 * A Board draws in an <svg>. layers are groups from the bottom up, for marks.js: under the pieces heat, bands and below, over
 * them arrows and above; and hits, the Points as buttons.
 */
export class Board {
  #hits = new Map(); // Point → its button
  #pieces = new Map(); // Point → {code, element}
  #running = new Map(); // animation → what ends it
  #key = "";

  constructor(root) {
    this.root = root;
    this.layers = {};
    for (const layer of ["lines", "heat", "bands", "below", "pieces", "arrows", "above", "hits"]) {
      this.layers[layer] = svg("g", { class: layer });
    }
    root.replaceChildren(...Object.values(this.layers));
    root.dataset.state = "still";
  }

  /** Draws the lines of a board of these Points; nothing if they are the same as before. */
  lay(points) {
    const key = points.join(" ");
    if (key === this.#key) return;
    this.#key = key;
    this.points = points;
    this.settle();
    this.#pieces.clear();
    this.#hits.clear();
    for (const layer of Object.values(this.layers)) layer.replaceChildren();
    const { x, y, width, height } = box(points, MARGIN);
    this.root.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    const name = (x, y, text) => this.layers.lines.append(svg("text", { x, y: y + 7 }, text));
    for (const { axis, points: line } of lines(points)) {
      const from = place(line[0]);
      const to = place(line.at(-1));
      this.layers.lines.append(svg("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y }));
      if (axis === 0) name(from.x, from.y + 42, line[0][0]);
      if (axis === 1) name(from.x - 37, from.y - 21, line[0].slice(1));
    }
    for (const point of points) {
      const hit = svg("circle", { class: "hit", r: 25, transform: translate(point), "data-point": point });
      this.layers.hits.append(hit);
      this.#hits.set(point, hit);
    }
  }

  /** The button of a Point. */
  hit(point) {
    return this.#hits.get(point);
  }

  /**
   * Shows pieces ({e5: "WR", …}). With the Move that led to them, if the pieces before it are on the board, it is played
   * before the eyes; the Promise is kept when all lies still. A call cuts short the one before.
   */
  async show(pieces, move) {
    this.settle();
    const moving = move && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.root.dataset.state = "moving";
    const slides = moving && move.kind === "move" && this.#pieces.get(move.at)?.code[1] === "R";
    if (slides) this.#slide(move, pieces[move.to]);
    const order = move?.points ?? [];
    const after = (point) => (slides ? STEP * (2 + steps(move.at, point)) : 60 * Math.max(0, order.indexOf(point)));

    for (const [point, { code, element }] of this.#pieces) {
      if (pieces[point] === code) continue;
      this.#pieces.delete(point);
      const body = element.firstChild;
      if (moving && pieces[point]?.[1] === "M" && code[1] === "M") {
        this.#animate(body, turnedAway, { duration: TURN, delay: after(point) }, () => element.remove());
      } else if (moving && !(point in pieces)) {
        this.#animate(body, lifted, { duration: 260, delay: after(point) }, () => element.remove());
      } else {
        element.remove();
      }
    }
    for (const [point, code] of Object.entries(pieces)) {
      if (this.#pieces.get(point)?.code === code) continue;
      const turned = slides && move.points?.includes(point);
      const body = this.#add(point, code).firstChild;
      if (moving && turned) this.#animate(body, turnedUp, { duration: TURN, delay: after(point) });
      else if (moving) this.#animate(body, laid, { duration: 220 });
    }
    await Promise.allSettled([...this.#running].map(([animation, end]) => animation.finished.then(end)));
    if (this.#running.size === 0) this.root.dataset.state = "still";
  }

  /** Ends what is moving at once. */
  settle() {
    for (const end of this.#running.values()) end();
  }

  #add(point, code) {
    const element = piece(code);
    element.setAttribute("transform", translate(point));
    // Rings lie over markers, so that one that slides is seen.
    if (code[1] === "R") this.layers.pieces.append(element);
    else this.layers.pieces.prepend(element);
    this.#pieces.set(point, { code, element });
    return element;
  }

  // The ring of a Move goes to its end; there it is the same piece, which slides in from where it was.
  #slide({ at, to }, code) {
    const { element } = this.#pieces.get(at);
    this.#pieces.delete(at);
    this.#pieces.set(to, { code, element });
    element.setAttribute("transform", translate(to));
    this.layers.pieces.append(element);
    const from = place(at);
    const end = place(to);
    const frames = [{ transform: `translate(${from.x - end.x}px, ${from.y - end.y}px)` }, { transform: "none" }];
    this.#animate(element.firstChild, frames, { duration: STEP * (2 + steps(at, to)), easing: "ease-in-out" });
  }

  #animate(element, frames, options, done = () => {}) {
    const animation = element.animate(frames, { fill: "both", ...options });
    this.#running.set(animation, () => {
      if (!this.#running.delete(animation)) return;
      animation.cancel(); // the element is as it should be without it
      done();
    });
  }
}

const steps = (from, to) => {
  const a = place(from);
  const b = place(to);
  return Math.round(Math.hypot(a.x - b.x, a.y - b.y) / 60);
};

// A marker turns over: its old face away, then its new one up.
const turnedAway = [
  { transform: "scale(1)", opacity: 1 },
  { transform: "scale(0, 1.12)", opacity: 1, offset: 0.5 },
  { transform: "scale(0, 1.12)", opacity: 0 },
];
const turnedUp = [
  { transform: "scale(0, 1.12)", opacity: 0 },
  { transform: "scale(0, 1.12)", opacity: 1, offset: 0.5 },
  { transform: "scale(1)", opacity: 1 },
];
const laid = [{ transform: "scale(1.5)", opacity: 0 }, { transform: "scale(1)", opacity: 1 }];
const lifted = [{ transform: "scale(1)", opacity: 1 }, { transform: "scale(1.4)", opacity: 0 }];

/** A small picture of a piece for use in text, hidden from screen readers. */
export function token(code, faint = false) {
  const viewBox = code[1] === "R" ? "-30 -30 60 60" : "-18 -18 36 36";
  const picture = svg("svg", { class: faint ? "token faint" : "token", viewBox, "aria-hidden": "true" });
  picture.append(piece(code));
  return picture;
}

/** A picture of a position that cannot be played on, with a text for those who do not see it. */
export function picture(points, pieces, text) {
  const root = svg("svg", { class: "board picture", role: "img", "aria-label": text });
  const board = new Board(root);
  board.lay(points);
  board.layers.hits.remove();
  board.show(pieces);
  return { board, root };
}
