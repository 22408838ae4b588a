// The page on which one plays: what a click, a button or a key leads to, and when the engine moves. It holds one Game, the
// position where it stands, and the Choice of the player to move; all else is drawn from them.

import { Analysis } from "./analysis.js";
import { Asker } from "./asker.js";
import { Board } from "./board.js";
import { Choice } from "./choice.js";
import { connect } from "./backend.js";
import { Files } from "./files.js";
import { Game } from "./game.js";
import { listen, help } from "./keys.js";
import { Review } from "./review.js";
import { byId, html } from "./dom.js";
import { draw } from "./marks.js";
import { drawMoves } from "./moves.js";
import { drawScore } from "./score.js";
import { drop, fault, notice, say } from "./notices.js";
import { Pointer } from "./pointer.js";
import { ask, outcome, side, tell } from "./words.js";

const KEEP = "yinshzero"; // the name of what is kept in this tab
const BREATH = 350; // milliseconds between the Moves of an engine that plays itself

class App {
  #arrival = new AbortController();
  #arriving = false; // the position where the game stands is not known yet // ends with the next arrival
  #shown = null; // the game and the node in it that the board shows
  #known = new Map(); // positions by their question

  async start() {
    this.asker = new Asker(connect((share) => this.#load(share)));
    this.board = new Board(byId("board"));
    this.settings = { sides: "W", analysing: false, auto: true };
    this.coming = []; // the rest of the engine's turn
    this.thinking = false;
    this.row = null; // the row shown by the keys
    this.about = await this.asker.ask("about");
    this.pointer = new Pointer(this);
    this.analysis = new Analysis(this);
    this.review = new Review(this);
    this.files = new Files(this);
    this.#offer();
    this.#wire();
    if (!this.#restore()) this.game = new Game({ variant: this.about.variant });
    byId("run").hidden = !this.about.run;
    await this.arrive();
  }

  #load(share) {
    if (!this.position) byId("status").textContent = `The engine is on its way: ${Math.round(100 * share)}%`;
  }

  /** Who plays a side: true if the engine does. */
  engine(color) {
    return !this.settings.sides.includes(color);
  }

  /** The level of play: what a move question wants besides the game. */
  get level() {
    const { name, ...level } = this.about.levels.find((level) => level.name === byId("level").value) ?? this.about.levels[0];
    return level;
  }

  /** The model that is asked. */
  get model() {
    return byId("model").value;
  }

  // What can be chosen.
  #offer() {
    const option = (value, text, chosen) => html("option", { value, selected: chosen }, text);
    const { levels, variants, models, variant } = this.about;
    byId("level").append(...levels.map(({ name }, i) => option(name, name, i === (levels.length - 1) >> 1)));
    byId("variant").append(...variants.map(({ name, text }) => option(text, name || text, text === variant)));
    byId("model").append(...models.map(({ name }) => option(name, name)));
    byId("model-label").hidden = models.length < 2;
    this.#tellVariant();
  }

  #tellVariant() {
    const v = this.about.variants.find(({ text }) => text === byId("variant").value);
    const win = v.ringsToWin === 1 ? "the first ring taken wins" : `${v.ringsToWin} rings taken win`;
    byId("variant-text").textContent = `${v.rings} rings a side, ${v.markers} markers, rows of ${v.rowLength}; ${win}.`;
  }

  #wire() {
    const click = (id, run) => byId(id).addEventListener("click", run);
    click("new", () => this.newGame());
    click("undo", () => this.undo());
    click("redo", () => this.redo());
    click("first", () => this.goPly(0));
    click("tip", () => this.goPly(Infinity));
    click("analyse", () => this.toggleAnalysis());
    click("review", () => this.review.run());
    click("open-files", () => this.files.open());
    click("open-help", help);
    for (const dialog of document.querySelectorAll("dialog")) {
      dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // beside it
    }
    byId("variant").addEventListener("change", () => this.#tellVariant());
    byId("sides").addEventListener("change", () => {
      this.settings.sides = byId("sides").value;
      this.settings.auto = true;
      this.arrive();
    });
    for (const id of ["level", "model"]) byId(id).addEventListener("change", () => this.#keep());
    listen(this);
  }

  /** A new game of the chosen variant; the old one can be had back. */
  newGame() {
    const old = this.game;
    this.load(new Game({ variant: byId("variant").value }), this.settings.sides);
    if (old.line.length > 1) notice("old", "A new game has begun.", { action: { text: "Back to the old one", run: () => this.load(old) } });
  }

  /** Takes up another game, with the sides that people play. */
  load(game, sides = this.settings.sides) {
    this.game = game;
    this.coming = [];
    this.settings.sides = byId("sides").value = sides;
    this.settings.auto = true;
    this.review.forget();
    for (const kind of ["old", "why", "fault"]) drop(kind);
    return this.arrive();
  }

  /** Plays a legal Move. Where the game was stepped through, this is a new line. */
  play(move) {
    if (this.#arriving) return; // the second half of a double click
    drop("old");
    this.game.play(move, this.position.toMove);
    this.settings.auto = true;
    return this.arrive(true);
  }

  /** Takes back to the last decision that a person made. */
  undo() {
    return this.#step(-1);
  }

  /** Plays again what was taken back. */
  redo() {
    return this.#step(1);
  }

  #step(way) {
    return this.goPly(this.game.decision(way, (by) => this.settings.sides === "" || !this.engine(by)));
  }

  /** Goes to a ply of the line that is shown, and leaves the engine waiting. */
  goPly(ply) {
    const line = this.game.line;
    return this.go(line[Math.max(0, Math.min(ply, line.length - 1))]);
  }

  /** Goes to a node of the game. */
  go(node) {
    const forward = this.game.nodes[node].parent === this.game.at;
    drop("old");
    this.coming = [];
    this.game.go(node);
    this.settings.auto = false;
    return this.arrive(forward);
  }

  /** A click, or its like from the keyboard. */
  async click(point) {
    drop("why");
    if (!this.position || this.position.over) return;
    if (this.engine(this.position.toMove)) {
      const text = this.thinking ? "yinshzero is thinking." : "This side is played by yinshzero.";
      return notice("why", text, this.thinking ? {} : { action: { text: "Let it play", run: () => this.resume() } });
    }
    const { move, why } = this.choice.click(point);
    this.row = null;
    if (move) return this.play(move.move);
    this.draw();
    if (why) return this.#why(why);
    say(ask(this.position, this.choice));
  }

  async #why(click) {
    try {
      const { reason, rule } = await this.asker.ask("why", { game: this.game.upTo(), ...click }, this.#arrival.signal);
      if (reason) notice("why", `${reason[0].toUpperCase()}${reason.slice(1)}.`, { rule });
    } catch (error) {
      fault(error);
    }
  }

  /** Drops what was picked up. */
  cancel() {
    this.choice?.cancel();
    this.row = null;
    drop("why");
    if (this.position) this.draw();
  }

  /** Shows the next of the rows to choose from, for people without a mouse. */
  nextRow(way = 1) {
    if (this.choice?.stage !== "row") return;
    const rows = this.choice.fits;
    this.pointer.focus();
    this.row = rows[(rows.indexOf(this.row) + way + rows.length) % rows.length];
    say(`Row ${this.row.at} to ${this.row.to}`);
    this.draw();
  }

  /** Lets the engine play, or wait. */
  resume(auto = true) {
    this.settings.auto = auto;
    return this.arrive();
  }

  toggleAnalysis() {
    this.settings.analysing = !this.settings.analysing;
    return this.arrive();
  }

  /** The position at a ply of the line. */
  async positionAt(ply, signal) {
    const game = this.game.upTo(ply);
    const key = JSON.stringify(game);
    if (!this.#known.has(key)) {
      const position = await this.asker.ask("position", { game }, signal);
      if (this.#known.size >= 300) this.#known.clear();
      this.#known.set(key, position);
    }
    return this.#known.get(key);
  }

  /** What follows when the game stands elsewhere, or who plays has changed. forward: by one Move, which is shown. */
  async arrive(forward = false) {
    this.#arrival.abort();
    this.#arrival = new AbortController();
    const { signal } = this.#arrival;
    this.thinking = false;
    this.#arriving = true;
    this.analysis.stop();
    try {
      const { ply, line } = this.game;
      const position = await this.positionAt(ply, signal);
      const tip = ply === line.length - 1 ? position : await this.positionAt(Infinity, signal);
      if (signal.aborted) return;
      this.#arriving = false;
      this.#shown = { game: this.game, node: this.game.at };
      this.position = position;
      this.turns = tip.turns;
      this.game.learn(tip.turns);
      this.choice = new Choice(position);
      this.row = null;
      drop("why");
      this.board.lay(position.points);
      const still = this.board.show(position.pieces, forward ? position.last : null);
      this.draw();
      this.#keep();
      if (forward) say([tell(position.last, position), position.over && outcome(position.result)].filter(Boolean).join(" "));
      if (this.settings.analysing && !this.waiting) this.analysis.follow();
      await still;
      if (!signal.aborted && this.waiting) await this.#think(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.thinking = this.#arriving = false;
      this.settings.auto = false;
      fault(error);
      if (this.#shown) { // back to where the board is
        this.game = this.#shown.game;
        this.game.go(this.#shown.node);
        this.draw();
      } else byId("status").textContent = "This game cannot be shown.";
    }
  }

  /** Whether the engine is to move and may. */
  get waiting() {
    return this.settings.auto && !this.position.over && this.engine(this.position.toMove);
  }

  async #think(signal) {
    if (this.coming.length === 0) {
      this.thinking = true;
      this.draw();
      const question = { game: this.game.upTo(), ...this.level, seed: 1 + Math.floor(Math.random() * 2 ** 31) };
      if (this.model) question.model = this.model;
      const answer = await this.asker.ask("move", question, signal);
      this.coming = answer.moves;
    }
    if (this.settings.sides === "") await new Promise((resolve) => setTimeout(resolve, BREATH));
    if (!signal.aborted) await this.play(this.coming.shift());
  }

  /** Draws everything but the pieces. */
  draw() {
    const { position, choice } = this;
    const person = !position.over && !this.engine(position.toMove);
    drawScore(byId("score"), position, { W: this.#name("W"), B: this.#name("B") });
    draw(this.board, position, person ? choice : null, this.pointer.hover, this.row);
    this.pointer.label(person);
    this.board.root.dataset.turn = position.over ? "over" : person ? "person" : this.waiting ? "engine" : "waits";
    this.board.root.dataset.ply = this.game.ply;
    byId("status").textContent = this.#status(person);
    this.#drawOffers(person);
    drawMoves(byId("moves"), this, this.review.marks());
    this.review.draw();
    this.analysis.draw();
    const { ply, line } = this.game;
    byId("undo").disabled = byId("first").disabled = ply === 0;
    byId("redo").disabled = byId("tip").disabled = ply === line.length - 1;
    byId("review").disabled = line.length < 2;
    byId("analyse").setAttribute("aria-pressed", this.settings.analysing);
    document.title = person && this.settings.sides !== "WB" ? "Your turn · yinshzero" : "yinshzero";
  }

  // Who plays a side, in a word.
  #name(color) {
    if (this.engine(color)) return "yinshzero";
    return this.game.names?.[color] || (this.settings.sides === "WB" ? "" : "you");
  }

  #status(person) {
    const { position, choice, settings } = this;
    if (position.over) return outcome(position.result);
    if (!person) return this.waiting ? "yinshzero is thinking…" : `yinshzero would play ${side[position.toMove]} here.`;
    return `${settings.sides === "WB" ? side[position.toMove] : "Your turn"}: ${lower(ask(position, choice))}`;
  }

  // Buttons are left alone while they stay the same: a click is lost on one that is replaced under it.
  #drawOffers(person) {
    const offers = this.#offers(person);
    const rows = this.choice.stage === "row" ? this.position.position + this.choice.fits.length : "";
    const same = offers.map(({ textContent, className }) => textContent + className).join("\n") + rows;
    const root = byId("offers");
    if (root.dataset.same === same) return;
    root.dataset.same = same;
    root.replaceChildren(...offers);
  }

  // Buttons beside the status: what can be done other than on the board.
  #offers(person) {
    const { position, choice } = this;
    const button = (text, onclick, more) => html("button", { type: "button", onclick, ...more }, text);
    if (position.over) {
      return [button("New game", () => this.newGame()), button("Review", () => this.review.run())];
    }
    if (!person) {
      if (!this.waiting) return [button("Let it play", () => this.resume(), { class: "main" })];
      return this.settings.sides === "" ? [button("Pause", () => this.resume(false))] : [];
    }
    if (position.legal[0].kind === "pass") return [button("Pass", () => this.play("pass"), { class: "main" })];
    if (this.game.line.length === 1 && choice.stage === "place") {
      return [html("a", { href: "rules.html", target: "rules" }, "New to YINSH? The rules in two minutes")];
    }
    if (choice.stage !== "row" || choice.fits.length < 2) return [];
    const show = (move) => () => {
      this.row = move;
      draw(this.board, position, choice, this.pointer.hover, move);
    };
    return choice.fits.map((move) =>
      button(`${move.at}–${move.to}`, () => this.play(move.move), {
        class: move === this.row ? "chosen" : "",
        "aria-label": `Take the row ${move.at} to ${move.to}`,
        onpointerenter: show(move),
        onpointerleave: show(null),
        onfocus: show(move),
      }),
    );
  }

  // The tab keeps its game: a reload, or a server that is started again, loses nothing.
  #keep() {
    const chosen = Object.fromEntries(["level", "model", "variant", "heat"].map((id) => [id, byId(id).value]));
    try {
      sessionStorage.setItem(KEEP, JSON.stringify({ game: this.game, settings: this.settings, chosen }));
    } catch {
      notice("fault", "This browser keeps nothing for this page: a reload will lose the game.");
    }
  }

  #restore() {
    try {
      const { game, settings, chosen } = JSON.parse(sessionStorage.getItem(KEEP));
      this.game = Game.from(game);
      this.settings = settings;
      byId("sides").value = settings.sides;
      for (const [id, value] of Object.entries(chosen)) {
        if ([...byId(id).options].some((option) => option.value === value)) byId(id).value = value;
      }
      this.#tellVariant();
      return true;
    } catch {
      return false; // nothing kept, or not by this version
    }
  }
}

const lower = (text) => text[0].toLowerCase() + text.slice(1);

new App().start().catch((error) => {
  byId("status").textContent = "The page could not start.";
  fault(error);
});
