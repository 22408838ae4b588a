// What people do with the page, by name. Each runs in a browser of its own, from a page that is open and waits for a person.

import assert from "node:assert/strict";
import { positionText, points } from "./table.mjs";

// Rows of White's that cross on f6: d6–h6, and two of the six f4–f9.
const crossing = positionText(
  { W: "d7 h5 a3 k9", B: "d4 i8 b2 j10", w: "f4 f5 f6 f7 f8 f9 d6 e6 g6 h6 c3", b: "e7 g8 d8 h9 i9 c6 g9" },
  "W", "row", "W",
);
// Black has just moved and made a row of White's.
const gift = positionText(
  { W: "d7 h5 a3 k9 c1", B: "d4 i8 b2 j10 e1", w: "f4 f5 f6 f7 f8 c3", b: "e7 g8 d8 h9" },
  "W", "row", "B",
);
// White jumps over three markers.
const jump = positionText(
  { W: "f4 a2 a3 a4 a5", B: "k7 k8 k9 k10 j5", w: "f6", b: "f5 f7" },
  "W", "move", "B",
);
const mini =
  "example B played 3-2-20-4-2 g4 d3 f6 f7 g4-g5 d3-g6 g5-d5 g6-e4 d5-e6 f7-e7 f6-g7 e7-c5 e6-d6 e4-e5 g7-i7 e5-f5 " +
  "d6-h6 xg4-g7 xh6 xe4-e7 xc5 f5-f4 i7-h7 f4-h6 xf4-f7 xh6";

export const scenarios = {
  // A game of the small board from the first ring to the end, against the engine.
  async game(table) {
    const { page } = table;
    await page.selectOption("#variant", "mini");
    await page.selectOption("#level", "beginner");
    await page.click("#new");
    let clicks = 0;
    for (;;) {
      await page.waitForSelector('#board[data-state="still"]:is([data-turn="person"], [data-turn="over"])');
      const position = await table.position();
      assert.deepEqual(await table.drawn(), position.pieces);
      if (position.over) break;
      assert.equal(position.toMove, "W");
      const move = position.legal[(7 * ++clicks) % position.legal.length];
      await table.play(move);
      await page.waitForFunction((ply) => Number(document.querySelector("#board").dataset.ply) > ply, position.ply);
    }
    assert.ok(clicks > 5, `${clicks} decisions`);
    await table.status((await table.position()).result.reason);
    const live = await page.locator("#live").textContent();
    assert.match(live, /White|Black|draw/);
  },

  // Of rows that cross and overlap one is chosen by further clicks; then a ring, and the engine goes on.
  async crossing(table) {
    const { page } = table;
    await page.selectOption("#level", "beginner");
    await table.load(crossing, "W");
    await table.status("Choose one of 3 rows");
    await page.locator('[data-point="e6"]').hover();
    assert.equal(await page.locator("#board line.band.chosen:not(.can)").count(), 1);
    await table.click("f6");
    await table.status("3 rows have f6");
    await table.click("f5");
    await table.status("2 rows have f6, f5");
    await table.click("d6"); // in none of these two: begin again
    await table.status("take one of the white rings off");
    await page.click("#undo");
    await table.status("Choose one of 3 rows");
    await page.getByRole("button", { name: "Take the row f5 to f9" }).click();
    await table.status("take one of the white rings off");
    assert.equal((await table.drawn()).f9, undefined);
    assert.equal((await table.drawn()).f4, "WM");
    await table.click("k9");
    await table.reply(3);
    const position = await table.position();
    assert.equal(position.taken.W, 2);
    assert.equal(position.turns[0].text, "xf5-f9xk9");
    assert.equal(position.turns[1].by, "B");
    assert.equal(await page.locator('[data-side="W"] [data-taken]').getAttribute("data-taken"), "2");
  },

  // A row that the opponent made is taken before the own ring moves, in one turn.
  async gift(table) {
    await table.load(gift, "W");
    await table.status("five in a row");
    await table.click("f4");
    await table.status("take one of the white rings off");
    await table.click("c1");
    await table.status("choose a white ring to move");
    await table.click("d7");
    await table.status("ring d7");
    await table.page.selectOption("#level", "beginner");
    await table.click("c7");
    await table.reply(4);
    const { turns } = await table.position();
    assert.equal(turns[0].text, "xf4-f8xc1;d7-c7");
    assert.deepEqual([turns[1].by, turns.length], ["B", 2]);
  },

  // Clicks that come before the answer to the first one play nothing.
  // A question that fails takes the Move back, so that game and board agree; a game that was kept and is none is left.
  async failure(table) {
    const { page } = table;
    await page.selectOption("#sides", "WB");
    await table.click("e5");
    await table.ply(1);
    const broken = (route) => route.fulfill({ status: 500, contentType: "application/json", body: '{"error":"out of order"}' });
    await page.route("**/api/position", broken);
    await table.click("f6");
    assert.match(await (await table.notice("fault")).textContent(), /out of order/);
    assert.deepEqual((await table.game()).moves, ["e5"]);
    await page.unroute("**/api/position", broken);
    await table.click("g7");
    await table.ply(2);
    assert.deepEqual(await table.drawn(), { e5: "WR", g7: "BR" });
    await page.evaluate(() => sessionStorage.setItem("yinshzero", '{"game":{"nodes":[{"next":-1,"children":[]}],"at":99},"settings":{}}'));
    await page.reload();
    await table.ply(0);
    await table.status("Your turn");
  },

  async hasty(table) {
    const { page } = table;
    await page.selectOption("#sides", "WB");
    await table.turn("person");
    await page.locator('[data-point="e5"]').click({ clickCount: 3 });
    await table.ply(1);
    await table.status("Black");
    assert.deepEqual((await table.game()).moves, ["e5"]);
    assert.deepEqual(await table.drawn(), { e5: "WR" });
  },

  // Taking back goes to the own last decision, and another Move there is another line.
  async undo(table) {
    const { page } = table;
    await page.selectOption("#level", "beginner");
    await table.click("f6");
    await table.ply(2);
    await table.turn("person");
    await page.click("#undo");
    await table.ply(0);
    assert.deepEqual(await table.drawn(), {});
    await page.click("#redo");
    await table.ply(2);
    await page.click("#undo");
    await table.ply(0);
    await table.click("e5");
    await table.ply(2);
    assert.equal((await table.game()).moves[0], "e5");
    await page.locator("#moves").getByRole("button", { name: "or f6" }).click();
    await table.ply(1);
    assert.deepEqual((await table.game()).moves, ["f6"]);
    await table.turn("waits");
    await page.getByRole("button", { name: "Let it play" }).click();
    await table.turn("person");
    await page.click("#new");
    await table.ply(0);
    await (await table.notice("old")).getByRole("button", { name: "Back" }).click();
    await table.ply(2);
    assert.equal((await table.game()).moves[0], "f6");
  },

  // The engine against itself, which can be held and let go.
  async watch(table) {
    const { page } = table;
    await page.selectOption("#level", "beginner");
    await page.selectOption("#sides", "");
    await page.waitForFunction(() => Number(document.querySelector("#board").dataset.ply) >= 3);
    await page.getByRole("button", { name: "Pause" }).click();
    await table.turn("waits");
    const { moves } = await table.game();
    await page.keyboard.press("[");
    await table.ply(moves.length - 1);
    await page.keyboard.press("p");
    await page.waitForFunction((n) => Number(document.querySelector("#board").dataset.ply) > n, moves.length);
    await page.keyboard.press("p");
    await table.turn("waits");
  },

  // Analysis: the bar, the list, and each way to show it on the board; a line is played by a click.
  async analysis(table) {
    const { page } = table;
    await table.load(jump);
    await page.click("#analyse");
    await page.locator("#lines li").first().waitFor();
    assert.equal(await page.locator("#winbar").getAttribute("aria-valuenow"), "50");
    await page.locator("#board .arrow.best").waitFor();
    await page.selectOption("#heat", "policy");
    await page.locator("#board .heat .share").first().waitFor();
    const whole = await page.locator("#board .heat .share").count();
    await table.click("f4");
    await table.status("Where shall the ring f4 go");
    await page.waitForFunction((n) => document.querySelectorAll("#board .heat .share").length < n, whole);
    await page.keyboard.press("Escape");
    await page.selectOption("#heat", "visits");
    await page.locator("#board .heat .share").first().waitFor();
    await page.selectOption("#heat", "line");
    await page.locator("#board .arrows .badge").first().waitFor();
    const move = await page.locator("#lines strong").first().textContent();
    await page.locator("#lines button").first().focus();
    await page.keyboard.press("Enter");
    await table.ply(1);
    assert.equal((await table.game()).moves.length, 1, move);
    await page.keyboard.press("a");
    await page.locator("#analysis").waitFor({ state: "hidden" });
    assert.equal(await page.locator("#board .arrows *").count(), 0);
  },

  // A review: the graph, the mistakes that the search proves, and going to a ply by the graph and the list.
  async review(table) {
    const { page } = table;
    await table.load(mini);
    await table.ply(26);
    await page.click("#review");
    await page.locator("#review-text", { hasText: "blunder" }).waitFor();
    assert.ok((await page.locator("#graph circle.blunder").count()) > 0);
    assert.ok((await page.locator("#moves .blunder .sign").count()) > 0);
    const box = await page.locator("#graph").boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await table.ply(13);
    await page.locator("#graph").focus();
    await page.keyboard.press("ArrowRight");
    await table.ply(14);
    assert.match(await page.locator("#graph").getAttribute("aria-valuetext"), /ply 14, White \d+ percent/);
    await page.locator('#moves button[data-ply="3"]').click();
    await table.ply(3);
    assert.deepEqual(await table.drawn(), (await table.position()).pieces);
  },

  // A game goes out as SGF, and comes in the same.
  async sgf(table) {
    const { page } = table;
    const moves = "e5 f6 d4 g7 e4 f5 d5 g6 c4 h7 e5-e6 f6-f7 d4-c3".split(" ");
    await table.load(`test unknown played standard ${moves.join(" ")}`);
    await table.ply(13);
    await page.click("#open-files");
    const written = page.getByLabel("This game as text");
    await page.waitForFunction(() => document.querySelector("#files [readonly]").value.includes("SU[Yinsh]"));
    const text = await written.inputValue();
    await page.selectOption("#files select", "turns");
    await page.waitForFunction(() => document.querySelector("#files [readonly]").value.includes(" d4-c3"));
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    assert.equal((await download).suggestedFilename(), "yinsh.txt");
    await page.locator("#files").getByRole("button", { name: "Close" }).click();
    await page.click("#new");
    await table.ply(0);
    await page.click("#open-files");
    await page.getByLabel("A file of games").setInputFiles({ name: "game.sgf", mimeType: "text/plain", buffer: Buffer.from(text) });
    await table.ply(13);
    assert.deepEqual((await table.game()).moves, moves);
    // Names and a resignation come through.
    const resigned = text.replace('id "White"', 'id "Ada"').replace('id "Black"', 'id "Bo"').replace(/\)\s*$/, "; P1[99 Resign]\n)");
    await table.load(resigned);
    await table.ply(13);
    assert.match(await (await table.notice("old")).textContent(), /White won it/);
    await page.locator('[data-side="B"]', { hasText: "Bo" }).waitFor();
    await page.click("#open-files");
    await page.selectOption("#files select", "sgf");
    await page.waitForFunction(() => /id "Ada"/.test(document.querySelector("#files [readonly]").value));
    assert.match(await written.inputValue(), /Resign|RE\[/);
  },

  // Text that is no game: each fault is told, the game on the board stays.
  async faults(table) {
    const { page } = table;
    await page.selectOption("#sides", "WB");
    await table.click("f6");
    await table.ply(1);
    await table.paste("(;GM[24]SU[Yinsh]P0[0 place wr E 5]P1[1 place br E 5])");
    await page.locator("#files .wrong").first().waitFor();
    assert.match(await page.locator("#files .wrong").first().textContent(), /pasted/);
    const open = page.locator("#files").getByRole("button", { name: "Open" });
    for (const text of ["good morning", "test unknown played standard e5 e5", "(;", "a/b/c/d/e/f/g/h/i"]) {
      await page.getByLabel("Games as text").fill(text);
      await open.click();
      await page.locator("#files .wrong").first().waitFor();
    }
    // Of two games in a text, one right, that one may be taken.
    await page.getByLabel("Games as text").fill("right unknown played standard e5 e6\nwrong unknown played standard e5 e5");
    await open.click();
    await page.locator("#files").getByRole("button", { name: "right" }).waitFor();
    assert.deepEqual((await table.game()).moves, ["f6"]);
    await page.locator("#files").getByRole("button", { name: "right" }).click();
    await table.ply(2);
  },

  // A click that is no Move is answered with the reason, and the rule can be read.
  async why(table, { context }) {
    const { page } = table;
    await table.load(jump);
    await table.click("k7");
    assert.match(await (await table.notice("why")).textContent(), /ring on k7 is Black's/);
    await table.click("f4");
    await table.status("ring f4");
    await table.click("f9");
    const notice = await table.notice("why");
    assert.match(await notice.textContent(), /stops on the first empty point/);
    const [rules] = await Promise.all([context.waitForEvent("page"), notice.getByRole("link").click()]);
    await rules.locator("figure svg .piece").first().waitFor();
    assert.equal(new URL(rules.url()).hash, "#landing");
    assert.equal(await rules.locator(":target").count(), 1);
    await rules.close();
    await page.keyboard.press("Escape");
    await notice.waitFor({ state: "detached" });
    await table.status("choose a white ring");
  },

  // A ring is drawn to its end with the mouse; its markers turn over before the eyes.
  motion: {
    options: { reducedMotion: "no-preference" },
    async run(table) {
      const { page } = table;
      await table.load(jump);
      await table.turn("person");
      const middle = async (point) => {
        const box = await page.locator(`[data-point="${point}"]`).boundingBox();
        return [box.x + box.width / 2, box.y + box.height / 2];
      };
      await page.mouse.move(...(await middle("f4")));
      await page.mouse.down();
      await page.mouse.move(...(await middle("f8")));
      await page.evaluate(() => {
        window.moved = 0;
        const { animate } = Element.prototype;
        Element.prototype.animate = function (...how) {
          window.moved++;
          return animate.apply(this, how);
        };
      });
      await page.mouse.up();
      await table.ply(1);
      assert.equal(await page.evaluate(() => window.moved), 8); // the ring, the marker laid, two faces of each turned over
      assert.deepEqual(await table.drawn(), (await table.position()).pieces);
      assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
      assert.equal(await page.locator("#live").textContent(), "White moves the ring f4 to f8, turning 3 markers: f5, f6, f7.");
    },
  },

  // Without a mouse: rings, a row among several, a ring off, analysis and help, all by keys.
  async keyboard(table) {
    const { page } = table;
    await page.selectOption("#level", "beginner");
    await page.locator("#level").blur();
    await page.keyboard.press("ArrowUp"); // onto the board
    const at = () => page.evaluate(() => document.activeElement.dataset.point);
    assert.equal(await at(), "f6");
    for (const [key, point] of [["ArrowUp", "f7"], ["ArrowRight", "g7"], ["ArrowRight", "h8"], ["ArrowLeft", "g7"], ["ArrowUp", "g8"]]) {
      await page.keyboard.press(key);
      assert.equal(await at(), point, key);
    }
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "g8, empty, free to place a ring");
    await page.keyboard.press("Enter");
    await table.ply(2);
    await table.turn("person");
    assert.equal((await table.game()).moves[0], "g8");
    await page.keyboard.press("u");
    await table.ply(0);
    await page.keyboard.press("r");
    await table.ply(2);
    await page.keyboard.press("?");
    await page.locator("#help").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("#help").waitFor({ state: "hidden" });
    await page.keyboard.press("g");
    await page.getByLabel("Games as text").focus();
    await page.keyboard.insertText(crossing);
    await page.getByLabel("A file of games").focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await table.status("Choose one of 3 rows");
    await page.keyboard.press(".");
    await page.keyboard.press(".");
    await page.locator("#board line.band.chosen:not(.can)").waitFor({ state: "attached" });
    await page.keyboard.press("Enter");
    await table.status("take one of the white rings off");
    await page.keyboard.press(".");
    assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /can be taken off/);
    await page.keyboard.press("Enter");
    await table.ply(2);
    assert.match((await table.game()).moves.join(" "), /^xf4-f8 x\w+$/);
    await page.keyboard.press("n");
    await table.ply(0);
  },

  // The width of a phone: nothing has to be pushed sideways.
  phone: {
    options: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, colorScheme: "dark" },
    async run(table) {
      const { page } = table;
      await table.fits("the start");
      await page.locator('[data-point="f6"]').tap();
      await table.reply(2);
      await table.load(mini);
      await table.ply(26);
      await page.click("#first");
      await table.ply(0);
      await page.click("#analyse");
      await page.locator("#lines li").first().waitFor();
      await table.fits("the analysis");
      await page.click("#open-files");
      await table.fits("the games");
      await page.locator("#files").getByRole("button", { name: "Close" }).click();
      await table.load(crossing);
      await table.status("Choose one of 3 rows");
      await table.fits("the choice of rows");
      const board = await page.locator("#board").boundingBox();
      assert.ok(board.width > 330 && board.y + board.height < 740, "the board is seen whole");
      await page.goto(`${table.base}/rules.html`);
      await page.locator("figure svg .piece").first().waitFor();
      await table.fits("the rules");
    },
  },

  // The server goes away in the midst of a game and comes back: a notice, and nothing is lost.
  restart: {
    alone: true,
    async run(table) {
      const { page } = table;
      await page.selectOption("#level", "beginner");
      await table.click("f6");
      await table.ply(2);
      await table.turn("person");
      await table.server("down");
      await table.click("e5");
      assert.match(await (await table.notice("again")).textContent(), /Nobody answers/);
      await table.server("up");
      await page.getByRole("button", { name: "Try now" }).click({ timeout: 2000 }).catch(() => {}); // or it was asked again by itself
      await table.ply(4);
      await table.turn("person");
      assert.equal(await page.locator(".notice").count(), 0);
      assert.deepEqual((await table.game()).moves.filter((_, i) => i % 2 === 0), ["f6", "e5"]);
    },
  },

  // A reload keeps the game, and two tabs are two games.
  async tabs(table, { another }) {
    const { page } = table;
    await page.selectOption("#sides", "WB");
    await table.click("f6");
    await table.ply(1);
    const second = await another();
    await second.page.goto(table.base);
    await second.ply(0);
    await second.page.selectOption("#sides", "WB");
    await second.click("e5");
    await second.ply(1);
    await page.reload();
    await table.ply(1);
    assert.deepEqual((await table.game()).moves, ["f6"]);
    assert.deepEqual((await second.game()).moves, ["e5"]);
    assert.equal(await page.locator("#sides").inputValue(), "WB");
    assert.deepEqual(await table.drawn(), { f6: "WR" });
  },

  // Light and dark follow the system until one is chosen.
  async theme(table) {
    const { page } = table;
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await ground();
    assert.notEqual(light, dark);
    await page.click("#theme");
    assert.equal(await ground(), light);
    await page.reload();
    await table.turn("person");
    assert.equal(await ground(), light);
  },

  // The same page with a worker in the place of the server, as an export has it.
  async worker(table, { context }) {
    const { page } = table;
    await context.route(/\/(index\.html)?$/, async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('name="backend" content="http"', 'name="backend" content="worker"');
      await route.fulfill({ response, body });
    });
    await context.route("**/worker.js", (route) => route.fulfill({ contentType: "text/javascript", body: `(${relay})()` }));
    await page.goto(table.base);
    await table.turn("person");
    await page.selectOption("#level", "beginner");
    await table.click("f6");
    await table.ply(2);
    await table.turn("person");
    await page.click("#analyse");
    await page.locator("#lines li").first().waitFor();
    await table.click("e5");
    await table.ply(4);
    await page.evaluate(() => (document.querySelector("#live").textContent = ""));
    await table.paste("good morning");
    await page.locator("#files .wrong").first().waitFor();
  },

  // The pictures of the rules page are true.
  async rules(table) {
    const { page } = table;
    const pictures = await page.evaluate(async () => (await import("./pictures.js")).pictures);
    for (const [name, picture] of Object.entries(pictures)) {
      const { WR: W, BR: B, WM: w, BM: b, radius, mover, from, to, move, rows } = picture;
      if (!mover) continue;
      const last = rows ? "W" : "B"; // who moved last: White made all of these rows
      const rules = { rings: 5, win: 5, variant: `${radius}-5-51-5-5` };
      const text = positionText({ W, B, w, b }, mover, rows ? "row" : "move", last, rules);
      const position = await table.ask("position", { game: { start: text } });
      assert.equal(position.error, undefined, `${name}: ${position.error}`);
      const list = (text) => text.split(" ").filter(Boolean).sort();
      const legal = position.legal;
      if (rows) assert.deepEqual(legal.map(({ move }) => move).sort(), list(rows), name);
      if (from !== undefined) assert.deepEqual(legal.filter(({ at }) => at === from).map(({ to }) => to).sort(), list(to), name);
      if (move) assert.ok(legal.some((one) => one.move === move), name);
    }
    const board = await page.evaluate(async () => (await import("./geometry.js")).hexagon(5));
    assert.deepEqual(board, points);
    const { before, after, gift, given } = pictures;
    for (const [one, two] of [[before, after], [gift, given]]) {
      const { WR: W, BR: B, WM: w, BM: b, radius } = one;
      const start = positionText({ W, B, w, b }, "W", "move", "B", { rings: 5, win: 5, variant: `${radius}-5-51-5-5` });
      const { pieces } = await table.ask("position", { game: { start, moves: [one.move] } });
      const want = await page.evaluate(async (two) => (await import("./pictures.js")).piecesOf(two), two);
      assert.deepEqual(pieces, want);
    }
  },
};

// Stands in for the engine in a worker: it asks the server, in the messages of backend.js.
function relay() {
  const open = new Map();
  onmessage = async ({ data: { id, name, body, cancel } }) => {
    if (cancel) return open.get(id)?.abort();
    const ending = new AbortController();
    open.set(id, ending);
    try {
      const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal: ending.signal };
      const response = await fetch(`api/${name}`, body === undefined ? {} : post);
      if (!response.ok) return postMessage({ id, fault: await response.json() });
      if (name !== "analyse") return postMessage({ id, answer: await response.json() });
      let rest = "";
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part; !(part = await reader.read()).done; ) {
        const lines = (rest + part.value).split("\n");
        rest = lines.pop();
        for (const line of lines) postMessage({ id, line: JSON.parse(line) });
      }
      postMessage({ id, answer: null });
    } catch (error) {
      if (!ending.signal.aborted) postMessage({ id, fault: { error: String(error) } });
    }
  };
}

for (const [name, scenario] of Object.entries(scenarios)) {
  if (typeof scenario === "function") scenarios[name] = { run: scenario };
}
