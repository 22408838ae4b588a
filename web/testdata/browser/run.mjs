// Drives a browser through the scenarios, for browser_test.go: node run.mjs BASE CONTROL BROWSER [NAME]. BASE is the address of
// the page; a post to CONTROL/down ends its server, one to CONTROL/up starts it again. A line of JSON for each scenario goes
// out: {name, error, ms}. With NAME only that scenario runs; with SHOTS=DIR pictures of the page are kept there.

import { chromium } from "playwright-core";
import { scenarios } from "./scenarios.mjs";
import { Table } from "./table.mjs";

const [base, control, executablePath, only] = process.argv.slice(2);
const WAIT = 60_000; // milliseconds until a condition counts as never true

const VIEW = { width: 1000, height: 720 };

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

// A Seat is a window in which one scenario after the other runs: to make a new one costs more than most scenarios.
class Seat {
  faults = []; // of the pages

  static async open(options = {}) {
    const seat = new Seat();
    const { reducedMotion = "reduce", colorScheme = "light", ...rest } = options;
    seat.media = { reducedMotion, colorScheme };
    seat.context = await browser.newContext({ baseURL: base, viewport: VIEW, ...rest });
    seat.context.setDefaultTimeout(WAIT);
    // The page draws the seeds of the engine's turns: the same ones each time.
    await seat.context.addInitScript(() => {
      let state = 1;
      Math.random = () => (state = (state * 48271) % 2147483647) / 2147483647;
    });
    seat.table = await seat.another();
    await seat.table.page.goto(base);
    return seat;
  }

  // A further page.
  async another() {
    const page = await this.context.newPage();
    page.on("pageerror", (fault) => this.faults.push(fault.stack ?? String(fault)));
    page.on("console", (message) => {
      const asked = message.location().url.includes("/api/"); // an answer that is an error is told by the page
      if (message.type() === "error" && !asked) this.faults.push(`${message.text()} ${message.location().url}`);
    });
    return new Table(page, { base, control });
  }

  // Leaves nothing of the scenario before.
  async clear() {
    const { page } = this.table;
    for (const other of this.context.pages()) if (other !== page) await other.close();
    await this.context.unrouteAll();
    await page.emulateMedia(this.media);
    await page.evaluate(() => [localStorage, sessionStorage].forEach((storage) => storage.clear()));
    this.faults.length = 0;
  }

  async play(name, run) {
    const begin = performance.now();
    let error;
    try {
      await this.clear();
      const { table, context } = this;
      await table.page.goto(base);
      await table.turn("person");
      await run(table, { context, another: () => this.another() });
      if (this.faults.length > 0) throw new Error(`the page has faults: ${this.faults.join("; ")}`);
    } catch (fault) {
      error = fault.stack ?? String(fault);
      for (const [i, page] of this.context.pages().entries()) {
        error += `\n${await page.evaluate(() => document.body.innerText.replace(/\n+/g, " ")).catch(String)}`;
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}-${i}.png` }).catch(() => {});
      }
    }
    console.log(JSON.stringify({ name, error, ms: Math.round(performance.now() - begin) }));
    return error === undefined;
  }
}

// Two seats share the scenarios; those that want a window of their own kind get it, and one that failed leaves its seat. Those
// that need the server for themselves follow.
async function sit(queue) {
  let seat;
  for (let next; (next = queue.shift()); ) {
    const [name, { options, run }] = next;
    const own = options && (await Seat.open(options));
    seat ??= own ? undefined : await Seat.open();
    const good = await (own ?? seat).play(name, run);
    if (own) await own.context.close();
    else if (!good) {
      await seat.context.close();
      seat = undefined;
    }
  }
}

const all = Object.entries(scenarios).filter(([name]) => !only || only === name);
const queue = all.filter(([, { alone }]) => !alone);
await Promise.all([sit(queue), sit(queue)]);
await sit(all.filter(([, { alone }]) => alone));
await browser.close();
