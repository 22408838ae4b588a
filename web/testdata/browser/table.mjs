// A page with a game, as the scenarios see it: what a person would do and look for. Nothing here waits for a time.

import assert from "node:assert/strict";

const COLUMNS = "a2-5 b1-7 c1-8 d1-9 e1-10 f2-10 g2-11 h3-11 i4-11 j5-11 k7-10";

/** The Points of the standard board in the order of a Position's text. */
export const points = COLUMNS.split(" ").flatMap((column) => {
  const [first, last] = column.slice(1).split("-").map(Number);
  return Array.from({ length: last - first + 1 }, (_, i) => `${column[0]}${first + i}`);
});

/** The text of a Position of the standard game in which all rings have been placed: {W, B, w, b} are lists of Points. */
export function positionText({ W = "", B = "", w = "", b = "" }, side, phase, last, { rings = 5, win = 3, variant = "standard" } = {}) {
  const at = new Map();
  const count = {};
  for (const [code, list] of Object.entries({ W, B, w, b })) {
    const names = list.split(" ").filter(Boolean);
    count[code] = names.length;
    for (const point of names) at.set(point, code);
  }
  const board = points.map((point) => at.get(point) ?? ".").join("");
  assert.ok(rings - count.W < win && rings - count.B < win, "too few rings");
  const pool = 51 - count.w - count.b;
  return `${board}/${side}/${phase}/${pool}/${rings - count.W}-${rings - count.B}/0-0/${last}/0/${variant}`;
}

export class Table {
  constructor(page, { base, control }) {
    Object.assign(this, { page, base, control });
  }

  /** A click on a Point. */
  click(point) {
    return this.page.locator(`[data-point="${point}"]`).click();
  }

  /** Waits until it is the turn of "person", "engine", "over" or "waits", and all lies still. */
  turn(whose) {
    return this.page.waitForSelector(`#board[data-turn="${whose}"][data-state="still"]`);
  }

  /** Waits for the status to contain a text. */
  async status(text) {
    await this.page.locator("#status", { hasText: text }).waitFor();
  }

  /** Waits until the page shows this ply. */
  ply(n) {
    return this.page.waitForSelector(`#board[data-ply="${n}"][data-state="still"]`);
  }

  /** Waits until a person is to move at this ply or a later one. */
  async reply(n) {
    await this.page.waitForFunction((n) => Number(document.querySelector("#board").dataset.ply) >= n, n);
    await this.turn("person");
  }

  /** The notice of a kind, once it is there. */
  async notice(kind) {
    const notice = this.page.locator(`.notice[data-kind="${kind}"]`);
    await notice.waitFor();
    return notice;
  }

  /** The game as the tab keeps it: as a question asks for it, up to where it stands. */
  game() {
    return this.page.evaluate(() => {
      const { game } = JSON.parse(sessionStorage.getItem("yinshzero"));
      const moves = [];
      for (let node = game.at; node !== 0; node = game.nodes[node].parent) moves.unshift(game.nodes[node].move);
      return { variant: game.variant, moves, ...(game.start && { start: game.start }) };
    });
  }

  /** Asks the server itself. */
  ask(name, body) {
    return this.page.evaluate(
      async ([name, body]) => {
        const response = await fetch(`api/${name}`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(body),
        });
        return response.json();
      },
      [name, body],
    );
  }

  /** The position on the board, from the server. */
  async position() {
    return this.ask("position", { game: await this.game() });
  }

  /** The pieces that are drawn, by Point. */
  async drawn() {
    return this.page.evaluate(() => {
      const at = new Map();
      for (const hit of document.querySelectorAll("#board .hit")) at.set(hit.getAttribute("transform"), hit.dataset.point);
      const pieces = {};
      for (const piece of document.querySelectorAll("#board .pieces > .piece")) {
        const list = piece.classList;
        const code = (list.contains("white") ? "W" : "B") + (list.contains("ring") ? "R" : "M");
        pieces[at.get(piece.getAttribute("transform"))] = code;
      }
      return pieces;
    });
  }

  /** Opens a text by the dialog. */
  async paste(text) {
    await this.page.click("#open-files");
    await this.page.getByLabel("Games as text").fill(text);
    await this.page.locator("#files").getByRole("button", { name: "Open" }).click();
  }

  /** Opens a text in which nothing is wrong, with the sides that people play. */
  async load(text, sides = "WB") {
    await this.paste(text);
    await this.page.locator("#files").waitFor({ state: "hidden" });
    await this.page.selectOption("#sides", sides);
  }

  /** Plays a legal Move by clicks. */
  async play({ kind, at, to, points }) {
    if (kind === "pass") return this.page.getByRole("button", { name: "Pass" }).click();
    if (kind === "row") {
      await this.click(points[0]);
      const open = await this.page.locator("#offers button").count();
      if (open > 0 && (await this.page.locator("#status").textContent()).includes("have")) await this.click(points.at(-1));
      return;
    }
    await this.click(at);
    if (to) await this.click(to);
  }

  /** Has the server end or start. */
  async server(state) {
    const response = await fetch(`${this.control}/${state}`, { method: "POST" });
    assert.equal(response.status, 200);
  }

  /** Fails if the page is wider than the window. */
  async fits(what) {
    const [wide, window] = await this.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= window, `${what} is ${wide} wide in a window of ${window}`);
  }
}
