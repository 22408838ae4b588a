// A game looked through: the value after each ply as a graph, and the Moves that gave chances away.

import { byId, svg } from "./dom.js";
import { fault } from "./notices.js";
import { query } from "./analysis.js";
import { side } from "./words.js";

const VISITS = 64; // for each ply
const WIDE = 320; // of the graph
const HIGH = 96;
const EDGE = 6;

// What a Move that gives away this much of a won game is called.
const grades = [
  { from: 0.3, sign: "??", name: "blunder", text: "a blunder" },
  { from: 0.2, sign: "?", name: "mistake", text: "a mistake" },
  { from: 0.1, sign: "?!", name: "slip", text: "a slip" },
];

/** The Review of the line that is shown. It keeps the last value of every node that was looked at, White's chance to win. */
export class Review {
  #search = null;
  #values = new Map(); // node → {white, best, visits}
  #done = 0;

  constructor(app) {
    this.app = app;
    const graph = byId("graph");
    const plyAt = (event) => {
      const { left, width } = graph.getBoundingClientRect();
      const share = ((event.clientX - left) / width) * WIDE;
      return Math.round(((share - EDGE) / (WIDE - 2 * EDGE)) * (app.game.line.length - 1));
    };
    graph.addEventListener("click", (event) => app.goPly(plyAt(event)));
    graph.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      app.goPly(app.game.ply + way);
    });
  }

  /** Another game: what was known is of no use. */
  forget() {
    this.#search?.abort();
    this.#search = null;
    this.#values.clear();
  }

  /** Takes an answer of an analysis for the value of a node; one with more visits is better. */
  learn(game, node, { rootInfo, moveInfos }) {
    if (game !== this.app.game) return;
    if (rootInfo.visits < (this.#values.get(node)?.visits ?? 0)) return;
    this.#values.set(node, { white: rootInfo.winrate, best: moveInfos[0]?.move, visits: rootInfo.visits });
  }

  /** Looks at every ply of the line; a second call ends it. */
  async run() {
    const { app } = this;
    if (this.#search) {
      this.#search.abort();
      return;
    }
    const search = new AbortController();
    this.#search = search;
    this.#done = 0;
    app.analysis.stop();
    const { game } = app;
    const { line } = game;
    const question = query(app, game.upTo(line.length - 1), {
      analyzeTurns: line.map((_, ply) => ply),
      maxVisits: Math.min(VISITS, app.about.limits.simulations),
      maxTime: app.about.limits.seconds,
    });
    try {
      await app.asker.stream("analyse", question, search.signal, (answer) => {
        if (search.signal.aborted) return;
        if (answer.error) throw new Error(answer.error);
        if (!answer.rootInfo) return;
        this.learn(game, line[answer.turnNumber], answer);
        this.#done++;
        app.draw();
      });
    } catch (error) {
      if (!search.signal.aborted) fault(error);
    }
    if (this.#search === search) this.#search = null;
    if (game !== app.game) return;
    app.draw();
    if (app.settings.analysing && !app.waiting) app.analysis.follow();
  }

  /** The Moves of the line that gave something away: node → {sign, name, text}. */
  marks() {
    const { nodes, line } = this.app.game;
    const marks = new Map();
    for (let ply = 1; ply < line.length; ply++) {
      const before = this.#values.get(line[ply - 1]);
      const after = this.#values.get(line[ply]);
      const { by, move } = nodes[line[ply]];
      if (!before || !after || !by || move === before.best) continue;
      const lost = (by === "W" ? 1 : -1) * (before.white - after.white);
      const grade = grades.find(({ from }) => lost >= from);
      if (grade) {
        const text = `${grade.text}: ${side[by]} gives away ${Math.round(100 * lost)}%; better was ${before.best}`;
        marks.set(line[ply], { ...grade, text });
      }
    }
    return marks;
  }

  /** Draws the graph, if there is anything to draw. */
  draw() {
    const { app } = this;
    const { line, ply } = app.game;
    const n = Math.max(1, line.length - 1);
    const known = line.map((node, i) => ({ i, node, value: this.#values.get(node) })).filter(({ value }) => value);
    const text = byId("review-text");
    const marks = this.marks();
    byId("review").textContent = this.#search ? "Stop" : "Review";
    text.hidden = known.length < 2;
    text.textContent = this.#search
      ? `${this.#done} of ${line.length} positions looked at…`
      : `White's chance to win by move. ${summary(marks)}`;
    const graph = byId("graph");
    graph.toggleAttribute("hidden", known.length < 2);
    if (known.length < 2) return;
    const x = (i) => EDGE + (i / n) * (WIDE - 2 * EDGE);
    const y = (white) => EDGE + (1 - white) * (HIGH - 2 * EDGE);
    const path = known.map(({ i, value }, k) => `${k ? "L" : "M"}${x(i).toFixed(1)} ${y(value.white).toFixed(1)}`).join("");
    const floor = `L${x(known.at(-1).i).toFixed(1)} ${HIGH - EDGE}L${x(known[0].i).toFixed(1)} ${HIGH - EDGE}Z`;
    const dots = known
      .filter(({ node }) => marks.has(node))
      .map(({ i, node, value }) => svg("circle", { class: marks.get(node).name, cx: x(i), cy: y(value.white), r: 4 }));
    graph.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
    graph.replaceChildren(
      svg("rect", { class: "ground", width: WIDE, height: HIGH, rx: 6 }),
      svg("path", { class: "area", d: path + floor }),
      svg("line", { class: "even", x1: EDGE, x2: WIDE - EDGE, y1: y(0.5), y2: y(0.5) }),
      svg("path", { class: "curve", d: path }),
      ...dots,
      svg("line", { class: "now", x1: x(ply), x2: x(ply), y1: 2, y2: HIGH - 2 }),
    );
    const here = this.#values.get(line[ply]);
    graph.setAttribute("aria-valuemin", 0);
    graph.setAttribute("aria-valuemax", line.length - 1);
    graph.setAttribute("aria-valuenow", ply);
    graph.setAttribute("aria-valuetext", `ply ${ply}${here ? `, White ${Math.round(100 * here.white)} percent` : ""}`);
  }
}

function summary(marks) {
  const all = [...marks.values()];
  if (all.length === 0) return "No mistakes found.";
  return grades
    .map(({ name }) => [name, all.filter((mark) => mark.name === name).length])
    .filter(([, n]) => n > 0)
    .map(([name, n]) => `${n} ${name}${n > 1 ? "s" : ""}`)
    .join(", ") + ".";
}
