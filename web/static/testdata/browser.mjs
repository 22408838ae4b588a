// node browser.mjs ADDRESS BROWSER
//
// Opens an exported page, places a ring, waits for the engine's, places another, looks at an analysis and cancels one. What goes wrong
// ends it with an error, and so does a message of the browser's about a fault. It drives the browser with what scripts/browser.sh
// has installed.
import { chromium } from "../../testdata/browser/node_modules/playwright-core/index.mjs";

const [address, executablePath] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000); // for a machine that does much else
  const faults = [];
  page.on("pageerror", (fault) => faults.push(fault.stack ?? String(fault)));
  page.on("console", (message) => message.type() === "error" && faults.push(`${message.text()} ${message.location().url}`));
  page.on("request", (request) => new URL(request.url()).origin === new URL(address).origin || faults.push(`asks ${request.url()}`));
  await page.goto(address);
  for (const [ply, point] of ["e5", "g7"].entries()) {
    await page.waitForSelector(`#board[data-turn="person"][data-ply="${2 * ply}"]`);
    const taken = await page.locator(`#board [data-point="${point}"]`);
    await taken.click();
  }
  await page.waitForSelector('#board[data-turn="person"][data-ply="4"]');
  await page.locator("#analyse").click();
  await page.locator("#lines li").first().waitFor();
  // A search that is cancelled ends with a fault; one that is not heard of ends with an answer.
  const end = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const worker = new Worker("worker.js");
        worker.onmessage = ({ data: { id, line, answer, fault } }) => {
          if (line) worker.postMessage({ id, cancel: true });
          else if (id) resolve(fault ? "cancelled" : JSON.stringify(answer));
        };
        worker.postMessage({ id: 1, name: "analyse", body: { id: "a", moves: [], maxVisits: 20000, reportDuringSearchEvery: 0.05 } });
      }),
  );
  if (end !== "cancelled") throw new Error(`a search that was cancelled went on: ${end}`);
  if (faults.length > 0) throw new Error(faults.join("\n"));
} finally {
  await browser.close();
}
