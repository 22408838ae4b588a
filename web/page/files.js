// Games in and out: SGF, turn lists, move lists and traces as text, from a file or pasted; or the text of a position.

import { Game } from "./game.js";
import { byId, html } from "./dom.js";
import { notice } from "./notices.js";
import { side } from "./words.js";

const formats = [
  { name: "sgf", text: "SGF (Boardspace)", ending: "sgf" },
  { name: "turns", text: "turn list", ending: "txt" },
  { name: "moves", text: "move list", ending: "txt" },
  { name: "trace", text: "trace", ending: "txt" },
  { name: "position", text: "this position", ending: "txt" },
];

/** The dialog that reads and writes games. */
export class Files {
  #writing = 0; // counts what is written: only the last counts

  constructor(app) {
    this.app = app;
    const close = html("button", { type: "button", "aria-label": "Close", onclick: () => this.dialog.close() }, "×");
    this.text = html("textarea", { rows: 6, spellcheck: "false", "aria-label": "Games as text", placeholder: "Paste a game here: SGF, a turn list, a move list, or a position." });
    this.file = html("input", { type: "file", "aria-label": "A file of games", onchange: () => this.#pick(this.file.files[0]) });
    this.found = html("div", { class: "found", role: "status" });
    this.format = html(
      "select",
      { "aria-label": "Format", onchange: () => this.#write() },
      ...formats.map(({ name, text }) => html("option", { value: name }, text)),
    );
    this.written = html("textarea", { rows: 6, readonly: true, spellcheck: "false", "aria-label": "This game as text" });
    this.unwritten = html("p", { class: "wrong" });
    this.dialog = byId("files");
    const sheet = [
      html("div", { class: "row" }, html("h2", { id: "files-title" }, "Games"), close),
      html("h3", {}, "Open"),
      this.text,
      html("div", { class: "row" }, this.file, html("button", { type: "button", class: "main", onclick: () => this.#read(this.text.value, "pasted") }, "Open")),
      this.found,
      html("h3", {}, "Save this game"),
      html(
        "div",
        { class: "row" },
        this.format,
        html("button", { type: "button", onclick: () => this.#copy() }, "Copy"),
        html("button", { type: "button", onclick: () => this.#download() }, "Download"),
      ),
      this.written,
      this.unwritten,
    ];
    this.dialog.append(html("div", { class: "sheet" }, ...sheet));
    this.dialog.addEventListener("dragover", (event) => event.preventDefault());
    this.dialog.addEventListener("drop", (event) => {
      event.preventDefault();
      this.#pick(event.dataTransfer.files[0]);
    });
  }

  open() {
    this.found.replaceChildren();
    this.dialog.showModal();
    this.#write();
  }

  async #pick(file) {
    if (!file) return;
    try {
      await this.#read(await file.text(), file.name);
    } catch (error) {
      this.#tell([`${file.name}: ${error.message}`]);
    }
  }

  // Reads a text; one game is taken up at once, of several one is chosen.
  async #read(text, name) {
    this.found.replaceChildren();
    text = text.trim();
    if (text === "") return this.#tell(["There is nothing to open: paste a game or choose a file."]);
    try {
      if (/^[^\s/]+(\/[^\s/]+){8}$/.test(text)) {
        const { variant } = await this.app.asker.ask("position", { game: { start: text } });
        return this.#take({ variant, start: text, moves: [] });
      }
      const { games, faults } = await this.app.asker.ask("read", { text: text + "\n", name });
      if (games.length === 1 && faults.length === 0) return this.#take(games[0]);
      this.#tell(games.length === 0 && faults.length === 0 ? ["No game was found in this text."] : faults);
      for (const game of games) {
        const who = [game.names?.W, game.names?.B].filter(Boolean).join(" – ");
        const label = `${game.id ?? "game"}${who ? `: ${who}` : ""}, ${game.moves.length} moves`;
        this.found.append(html("button", { type: "button", onclick: () => this.#take(game) }, label));
      }
    } catch (error) {
      this.#tell([error.message]);
    }
  }

  #tell(faults) {
    for (const text of faults) this.found.append(html("p", { class: "wrong" }, text));
  }

  async #take(read) {
    this.dialog.close();
    const { app } = this;
    const game = new Game(read);
    if (read.resigned) game.resigned = { result: read.result, ply: read.moves.length };
    await app.load(game, "WB");
    await app.goPly(read.moves.length ? Infinity : 0);
    if (read.moves.length === 0) return;
    const given = won(game) ? ` ${side[won(game)]} won it, as the other side resigned.` : "";
    notice("old", `A game of ${read.moves.length} moves.${given} Step through it with [ and ], or play on from anywhere.`);
  }

  async #write() {
    const { app } = this;
    const format = this.format.value;
    this.written.value = "";
    this.unwritten.replaceChildren();
    const writing = ++this.#writing;
    try {
      if (format === "position") {
        this.written.value = app.position.position;
        return;
      }
      const { game } = app;
      const names = { W: game.names.W || "White", B: game.names.B || "Black" };
      const result = won(game) ? { result: won(game) } : {};
      const { text } = await app.asker.ask("write", { game: game.upTo(Infinity), format, names, ...result });
      if (writing === this.#writing) this.written.value = text;
    } catch (error) {
      if (writing === this.#writing) this.unwritten.append(error.message);
    }
  }

  async #copy() {
    this.written.select();
    try {
      await navigator.clipboard.writeText(this.written.value);
      this.found.replaceChildren(html("p", {}, "Copied."));
    } catch {
      this.#tell(["The browser does not let the page copy: the text is selected, copy it with the keyboard."]);
    }
  }

  #download() {
    const { ending } = formats.find(({ name }) => name === this.format.value);
    const href = URL.createObjectURL(new Blob([this.written.value], { type: "text/plain" }));
    html("a", { href, download: `yinsh.${ending}` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }
}

// Who has won a game that was read, as the other side resigned; nobody if another line of it is shown.
function won(game) {
  const { result, ply } = game.resigned ?? {};
  return (result === "W" || result === "B") && game.line.at(-1) === ply && game.line.length === ply + 1 ? result : undefined;
}
