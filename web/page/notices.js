// Notices at the foot of the page: a reason, a fault, a server that is gone. Each is of a kind, and there is one of a kind.

import { byId, html } from "./dom.js";

/**
 * Shows a notice in the place of any other of its kind. rule is an anchor of the rules page; action is {text, run}. It stays
 * until it is closed, replaced or dropped.
 */
export function notice(kind, text, { rule, action } = {}) {
  drop(kind);
  const close = html("button", { type: "button", class: "plain", "aria-label": "Close", onclick: () => drop(kind) }, "×");
  const more = rule && html("a", { href: `rules.html#${rule.replace(/^#/, "")}`, target: "rules" }, "The rule");
  const run = () => {
    drop(kind);
    action.run();
  };
  const button = action && html("button", { type: "button", onclick: run }, action.text);
  byId("notices").append(html("div", { class: `notice ${kind}`, role: "alert", "data-kind": kind }, html("p", {}, text, " ", more), button, close));
}

/** Whether there is a notice of a kind. */
export const shows = (kind) => byId("notices").querySelector(`[data-kind="${kind}"]`) !== null;

/** Takes the notice of a kind away, or all of them. */
export function drop(kind) {
  for (const element of byId("notices").querySelectorAll(kind ? `[data-kind="${kind}"]` : ".notice")) element.remove();
}

/** Tells moves and results to screen readers. */
export function say(text) {
  byId("live").replaceChildren(html("p", {}, text));
}

/** Shows a fault. One that was asked to end is none. */
export function fault(error) {
  if (error?.name === "AbortError") return;
  notice("fault", error?.message ?? String(error), { rule: error?.rule });
}
