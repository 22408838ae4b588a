// Asks the backend, and goes on asking where nobody answers: a server that is started again has lost nothing.

import { drop, notice } from "./notices.js";

const WAITS = [500, 1000, 2000, 4000]; // milliseconds before the next try; the last one again and again

export class Asker {
  constructor(backend) {
    this.backend = backend;
  }

  /** The answer to a question; until somebody answers, a notice says so. */
  ask(name, body, signal) {
    return this.#steady(() => this.backend.ask(name, body, signal), signal);
  }

  /** A stream of lines. After a break it is begun again from its first line. */
  stream(name, body, signal, line) {
    return this.#steady(() => this.backend.stream(name, body, signal, line), signal);
  }

  async #steady(question, signal) {
    for (let tries = 0; ; tries++) {
      try {
        const answer = await question();
        if (tries > 0) drop("gone");
        return answer;
      } catch (error) {
        if (!error.gone) {
          if (error.name !== "AbortError") drop("gone");
          throw error;
        }
        await this.#wait(WAITS[Math.min(tries, WAITS.length - 1)], signal);
      }
    }
  }

  // Waits for the time, or for the button.
  #wait(milliseconds, signal) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, milliseconds);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
      const run = () => {
        clearTimeout(timer);
        resolve();
      };
      notice("gone", "Nobody answers: yinshzero may have been stopped. Your game is kept here and goes on when it is back.", {
        action: { text: "Try now", run },
      });
    });
  }
}
