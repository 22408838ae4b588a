// Drives a browser through the scenarios, for browser_test.go: node run.mjs BASE CONTROL BROWSER [NAME]. BASE is the address of
// the page; a post to CONTROL/down ends its server, one to CONTROL/up starts it again. A line of JSON for each scenario goes
// out: {name, error, ms}. With NAME only that scenario runs; with SHOTS=DIR pictures of the page are kept there.

import { chromium } from "playwright-core";
import { scenarios } from "./scenarios.mjs";
import { Table } from "./table.mjs";

const [base, control, executablePath, only] = process.argv.slice(2);
const WAIT = 60_000; // milliseconds until a condition counts as never true

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

// Runs a scenario in a browser of its own, as far as cookies, storage and windows go.
async function play(name, { options = {}, run }) {
  const begin = performance.now();
  const context = await browser.newContext({
    baseURL: base,
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    colorScheme: "light",
    ...options,
  });
  context.setDefaultTimeout(WAIT);
  // The page draws the seeds of the engine's turns: the same ones each time.
  await context.addInitScript(() => {
    let state = 1;
    Math.random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  });
  const faults = [];
  const open = async () => {
    const page = await context.newPage();
    page.on("pageerror", (fault) => faults.push(fault.stack ?? String(fault)));
    page.on("console", (message) => {
      const asked = message.location().url.includes("/api/"); // an answer that is an error is told by the page
      if (message.type() === "error" && !asked) faults.push(`${message.text()} ${message.location().url}`);
    });
    return new Table(page, { base, control });
  };
  let error;
  try {
    const table = await open();
    await table.page.goto(base);
    await table.turn("person");
    await run(table, { open, context });
    if (faults.length > 0) throw new Error(`the page has faults: ${faults.join("; ")}`);
  } catch (fault) {
    error = fault.stack ?? String(fault);
    for (const [i, page] of context.pages().entries()) {
      error += `\n${await page.evaluate(() => document.body.innerText.replace(/\n+/g, " ")).catch(String)}`;
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}-${i}.png` }).catch(() => {});
    }
  }
  await context.close();
  console.log(JSON.stringify({ name, error, ms: Math.round(performance.now() - begin) }));
}

// Two run at a time; those that need the server for themselves follow.
const all = Object.entries(scenarios).filter(([name]) => !only || only === name);
const queue = all.filter(([, { alone }]) => !alone);
const lane = async () => {
  for (let next; (next = queue.shift()); ) await play(...next);
};
await Promise.all([lane(), lane()]);
for (const scenario of all.filter(([, { alone }]) => alone)) await play(...scenario);
await browser.close();
