// What the engine thinks of the position on the board, while it thinks: win bar, moves and lines, heat and arrows.

import { byId, html } from "./dom.js";
import { fault } from "./notices.js";
import { heat, hint } from "./marks.js";
import { parse, side } from "./words.js";

const SHOWN = 6; // moves in the list
const ARROWS = 3; // of them on the board
const LINE = 5; // Moves of a line on the board

/** The query about a game in the JSON protocol, with the views of White. */
export function query(app, game, more) {
  const { variant, start, moves } = game;
  return {
    id: "page",
    ...(start ? { initialPosition: start } : { rules: variant }),
    moves,
    ...(app.model && { model: app.model }),
    overrideSettings: { reportAnalysisWinratesAs: "WHITE" },
    ...more,
  };
}

/** The Analysis of where the game stands: answer is the last one, shown the place in the list that is pointed at, or −1. */
export class Analysis {
  #search = null; // ends the search

  constructor(app) {
    this.app = app;
    this.answer = null;
    this.shown = -1;
    byId("heat").addEventListener("change", () => this.draw());
  }

  /** Ends the search; what it found stays until the next one. */
  stop() {
    this.#search?.abort();
    this.#search = null;
    this.answer = null;
    this.shown = -1;
  }

  /** Analyses the position on the board until it is left. */
  async follow() {
    const { app } = this;
    const search = new AbortController();
    this.#search = search;
    const { game } = app;
    const { at } = game;
    const { simulations, seconds } = app.about.limits;
    const question = query(app, game.upTo(), {
      maxVisits: simulations,
      maxTime: seconds,
      reportDuringSearchEvery: 0.25,
      includePolicy: true,
    });
    try {
      await app.asker.stream("analyse", question, search.signal, (line) => {
        if (search.signal.aborted) return;
        if (line.error) throw new Error(line.error);
        if (!line.rootInfo) return; // a warning
        this.answer = line;
        app.review.learn(game, at, line);
        app.review.draw();
        this.draw();
      });
    } catch (error) {
      if (!search.signal.aborted) fault(error);
    }
  }

  /** Draws what is known, or hides it where nobody asked for it. */
  draw() {
    const { app, answer } = this;
    const on = app.settings.analysing;
    byId("analysis").hidden = byId("winbar").hidden = !on;
    app.board.layers.heat.replaceChildren();
    app.board.layers.arrows.replaceChildren();
    if (!on) return;
    this.#bar();
    this.#list();
    if (answer && !app.position.over) this.#onBoard();
  }

  #bar() {
    const { answer } = this;
    const bar = byId("winbar");
    const white = answer ? Math.round(100 * answer.rootInfo.winrate) : 50;
    bar.classList.toggle("unknown", !answer);
    bar.setAttribute("aria-valuenow", white);
    bar.setAttribute("aria-valuetext", answer ? `White ${white} percent` : "not known yet");
    const [left, right] = bar.children;
    left.style.flexGrow = white;
    right.style.flexGrow = 100 - white;
    left.textContent = answer && white >= 12 ? `${white}%` : "";
    right.textContent = answer && white <= 88 ? `${100 - white}%` : "";
  }

  #list() {
    const { app, answer } = this;
    const text = byId("analysis-text");
    const infos = answer?.moveInfos.slice(0, SHOWN) ?? [];
    const list = byId("lines");
    while (list.children.length > infos.length) list.lastChild.remove();
    while (list.children.length < infos.length) list.append(this.#item(list.children.length));
    if (!answer) {
      text.textContent = app.waiting ? "It goes on when it is your turn." : "One moment…";
      return;
    }
    const { visits, proven } = answer.rootInfo;
    const sure = proven ? (proven === "draw" ? "; a draw, proven" : `; ${side[proven]} wins, proven`) : "";
    text.textContent = `${visits.toLocaleString("en")} simulations${answer.isDuringSearch ? "…" : ""}${sure}`;
    const mover = app.position.toMove;
    infos.forEach((info, i) => {
      const rate = mover === "W" ? info.winrate : 1 - info.winrate;
      const button = list.children[i].firstChild;
      button.setAttribute("aria-label", `Play ${info.move}: ${Math.round(100 * rate)} percent for ${side[mover]}, ${info.visits} visits`);
      const cells = [info.move, `${(100 * rate).toFixed(1)}%`, info.visits.toLocaleString("en"), info.pv.slice(1, 7).join(" ")];
      cells.forEach((text, k) => (button.children[k].textContent = text));
    });
  }

  // The button of a place in the list. It stays as the answers come, since a click is lost on one that is replaced under it.
  #item(i) {
    const { app } = this;
    const point = (there) => () => {
      this.shown = there ? i : -1;
      app.board.layers.arrows.replaceChildren();
      this.#onBoard();
    };
    const names = ["strong", "span", "span", "span"].map((tag, k) => html(tag, { class: ["", "rate", "visits", "pv"][k] }));
    const listeners = {
      onclick: () => this.answer && app.play(this.answer.moveInfos[i].move),
      onpointerenter: point(true),
      onpointerleave: point(false),
      onfocus: point(true),
      onblur: point(false),
    };
    return html("li", {}, html("button", { type: "button", ...listeners }, ...names));
  }

  #onBoard() {
    const { app, answer } = this;
    const { heat: warm, arrows } = app.board.layers;
    warm.replaceChildren();
    if (!answer) return;
    const moves = answer.moveInfos;
    const kind = byId("heat").value;
    if (this.shown >= 0 || kind === "line") {
      const line = moves[Math.max(0, this.shown)]?.pv ?? [];
      const hints = line.slice(0, LINE).map((move, i) => hint(parse(move), { weight: 0.3, text: i + 1, name: i % 2 ? "even" : "odd" }));
      arrows.append(...hints.reverse());
    } else if (kind === "lines") {
      const most = Math.max(...moves.map(({ visits }) => visits));
      const best = moves.slice(0, ARROWS).filter(({ visits }) => visits > 0);
      for (const { move, visits } of best.reverse()) {
        arrows.append(hint(parse(move), { weight: visits / most, name: move === moves[0].move ? "best" : "" }));
      }
    } else {
      this.#warm(kind, warm);
    }
  }

  // Where the visits or the policy go: to the ends of the Moves of the ring picked up; without one, from the rings as well.
  #warm(kind, layer) {
    const { position, choice } = this.app;
    const weights = kind === "policy" ? Object.entries(this.answer.policy ?? {}) : this.answer.moveInfos.map(({ move, visits }) => [move, visits]);
    const weight = new Map(weights);
    const shares = new Map();
    let sum = 0;
    const add = (point, value) => shares.set(point, (shares.get(point) ?? 0) + value);
    const picked = choice.ring;
    for (const { move, kind, at, to, points } of position.legal) {
      const value = weight.get(move) ?? 0;
      if (picked && at !== picked) continue;
      sum += value;
      if (kind === "row") points.forEach((point) => add(point, value));
      else if (kind !== "pass") {
        add(at, value);
        if (to) add(to, value);
      }
    }
    if (sum <= 0) return;
    const rest = [...shares].filter(([point]) => point !== picked);
    const peak = Math.max(...rest.map(([, value]) => value / sum));
    for (const [point, value] of rest) {
      if (value / sum > 0.002) layer.append(heat(point, value / sum, peak, !(point in position.pieces)));
    }
  }
}
