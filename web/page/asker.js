// Asks the backend, and goes on asking where nobody answers: a server that is started again has lost nothing.

import { drop, notice, shows } from "./notices.js";

const WAITS = [500, 1000, 2000, 4000]; // milliseconds before the next try; the last one again and again

export class Asker {
  #waiting = new Set(); // what ends each wait
  #unanswered = 0; // questions that are asked again

  constructor(backend) {
    this.backend = backend;
  }

  /** The answer to a question; until there is one, a notice says so. */
  ask(name, body, signal) {
    return this.#steady(() => this.backend.ask(name, body, signal), signal);
  }

  /** A stream of lines. After a break it is begun again from its first line. */
  stream(name, body, signal, line) {
    return this.#steady(() => this.backend.stream(name, body, signal, line), signal);
  }

  async #steady(question, signal) {
    let tries = 0;
    try {
      for (;;) {
        try {
          return await question();
        } catch (error) {
          if (!error.again) throw error;
          if (tries === 0) this.#unanswered++;
          await this.#wait(WAITS[Math.min(tries++, WAITS.length - 1)], error, signal);
        }
      }
    } finally {
      if (tries > 0 && --this.#unanswered === 0) drop("again");
    }
  }

  // Waits for the time, or for the button of the notice.
  #wait(milliseconds, { message }, signal) {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        if (signal?.aborted) reject(signal.reason);
        else resolve();
      };
      const timer = setTimeout(end, milliseconds);
      signal?.addEventListener("abort", end, { once: true });
      this.#waiting.add(end);
      if (!shows("again")) notice("again", message, { action: { text: "Try now", run: () => [...this.#waiting].forEach((end) => end()) } });
    });
  }
}
