// Keeps the page about a training run up to date: asks how the run stands and, when that has changed, fetches the page again
// and puts its contents in the place of the old. Where one has scrolled to, what is unfolded and which curves are hidden stays.

const every = 5000; // milliseconds
const main = document.querySelector("main");
let version = "", failed = document.querySelector("main table") === null, busy = false;

const live = document.createElement("p");
live.className = "note";
live.setAttribute("role", "status");
const back = document.createElement("p");
back.innerHTML = '<a href="./">Play</a>';
document.body.prepend(back);
back.style.cssText = "margin:0;padding:12px 16px 0";
live.style.cssText = "margin:0;padding:4px 16px 0";
back.after(live);

function tell(status) {
  const figure = (x, digits = 0) => x.toLocaleString("en", { maximumFractionDigits: digits });
  const parts = [status.error ?? status.name];
  if (status.games) parts.push(`${figure(status.games)} games`);
  if (status.step) parts.push(`step ${figure(status.step)}`);
  if (status.games_per_hour) parts.push(`${figure(status.games_per_hour)} games/h`);
  if (status.best) parts.push(`best ${status.best.id} of step ${figure(status.best.step)}`);
  if (status.best?.rating) parts.push(`Elo ${figure(status.best.rating.elo)} over random`);
  if (status.candidate) parts.push(`on trial ${status.candidate.id}`);
  live.textContent = parts.join(" · ");
}

async function refresh() {
  const response = await fetch("run", { cache: "no-cache" });
  if (!response.ok) throw new Error(response.statusText);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  const open = new Map(Array.from(main.querySelectorAll("details"), (d) => [d.querySelector("summary").textContent, d.open]));
  const off = new Set(Array.from(main.querySelectorAll("[data-run][aria-pressed=false]"), (b) => b.dataset.run));
  for (const d of fresh.querySelectorAll("details")) {
    const was = open.get(d.querySelector("summary").textContent);
    if (was !== undefined) d.open = was;
  }
  for (const b of fresh.querySelectorAll("[data-run]")) {
    if (off.has(b.dataset.run)) b.setAttribute("aria-pressed", "false");
  }
  const top = scrollY;
  main.replaceChildren(...fresh.querySelector("main").childNodes);
  document.title = fresh.title;
  scrollTo(scrollX, top);
}

async function look() {
  if (document.hidden || busy) return;
  busy = true;
  try {
    const response = await fetch("run/status", { cache: "no-cache" });
    if (!response.ok) throw new Error(response.statusText);
    const status = await response.json();
    if ((status.error !== undefined) !== failed) location.reload(); // another page, with styles of its own
    if (version !== "" && version !== status.version) await refresh();
    version = status.version;
    tell(status);
  } catch {
    live.textContent = "The server does not answer. This page goes on when it does.";
  }
  busy = false;
}

async function keepLooking() {
  for (;;) {
    await look();
    await new Promise((done) => setTimeout(done, every));
  }
}

document.addEventListener("visibilitychange", look);
keepLooking();
