// node browser.mjs ADDRESS BROWSER
//
// Opens an exported page, places a ring, waits for the engine's, places another, and looks at an analysis. What goes wrong
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
  if (faults.length > 0) throw new Error(faults.join("\n"));
} finally {
  await browser.close();
}
