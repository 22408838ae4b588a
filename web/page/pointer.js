// Mouse, finger and arrow keys on the board's Points, which are buttons for screen readers as well.

import { walk } from "./geometry.js";
import { draw } from "./marks.js";
import { label } from "./words.js";

/** A Pointer knows the Point under the mouse or, with the keyboard, the one that has the focus: hover. */
export class Pointer {
  #cursor = { point: "f6" }; // where the arrow keys stand, and the level of their walk
  #pressed = null;

  constructor(app) {
    this.app = app;
    this.hover = null;
    const { root } = app.board;
    const pointOf = (event) => event.target.dataset?.point ?? null;
    root.addEventListener("click", (event) => pointOf(event) && app.click(pointOf(event)));
    root.addEventListener("pointerdown", (event) => {
      this.#pressed = event.pointerType === "touch" ? null : pointOf(event);
    });
    root.addEventListener("pointerup", (event) => this.#drop(pointOf(event)));
    root.addEventListener("pointerover", (event) => event.pointerType !== "touch" && this.#point(pointOf(event)));
    root.addEventListener("pointerleave", () => this.#point(null));
    root.addEventListener("focusin", (event) => {
      if (!pointOf(event)) return;
      this.#cursor = { ...this.#cursor, point: pointOf(event) };
      if (event.target.matches(":focus-visible")) this.#point(pointOf(event));
    });
    root.addEventListener("focusout", () => this.#point(null));
    root.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Puts the keyboard's cursor on a Point. */
  focus(point = this.#cursor.point) {
    const hit = this.app.board.hit(point) ?? this.app.board.hit(this.app.board.points[0]);
    hit.focus();
  }

  /** The next Point, or the one before, that a click is good for. */
  next(way) {
    const { points } = this.app.board;
    const { targets } = this.app.choice;
    const good = points.filter((point) => targets.has(point));
    if (good.length === 0) return;
    const at = points.indexOf(this.#cursor.point);
    const found = way > 0 ? good.find((point) => points.indexOf(point) > at) : good.findLast((point) => points.indexOf(point) < at);
    this.focus(found ?? good.at(way > 0 ? 0 : -1));
  }

  /** Makes the Points buttons with labels; one of them can be reached with Tab. */
  label(active) {
    const { board, position, choice } = this.app;
    if (!board.points.includes(this.#cursor.point)) this.#cursor = { point: board.points[board.points.length >> 1] };
    const { targets } = choice;
    for (const point of board.points) {
      const hit = board.hit(point);
      hit.setAttribute("role", "button");
      hit.setAttribute("tabindex", point === this.#cursor.point ? 0 : -1);
      hit.setAttribute("aria-label", label(position, choice, point, targets));
      hit.classList.toggle("good", active && targets.has(point));
    }
  }

  #point(point) {
    if (point === this.hover) return;
    this.hover = point;
    const { app } = this;
    if (!app.position) return;
    if (point) app.row = null;
    const person = !app.position.over && !app.engine(app.position.toMove);
    draw(app.board, app.position, person ? app.choice : null, point, app.row);
  }

  // A ring drawn to a Point is two clicks.
  async #drop(point) {
    const from = this.#pressed;
    this.#pressed = null;
    const { app } = this;
    if (!from || !point || from === point || !app.choice || app.engine(app.position.toMove)) return;
    if (app.choice.stage === "to" && app.choice.ring !== from) app.cancel();
    if (app.choice.stage === "ring") await app.click(from);
    if (app.choice.stage === "to") await app.click(point);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const point = event.target.dataset?.point;
    if (!point) return;
    if (event.key.startsWith("Arrow")) {
      const from = this.#cursor.point === point ? this.#cursor : { point };
      const to = walk(this.app.board.points, from, event.key);
      this.focus(to.point);
      this.#cursor = to;
    } else if (event.key === "Enter" || event.key === " ") {
      if (this.app.row) this.app.play(this.app.row.move);
      else this.app.click(point);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
