// Who answers the page's questions: a server (http), or Go compiled to WebAssembly in a Web Worker (worker). Which one is said
// by <meta name="backend"> in index.html, which an export changes. The questions are those of web/desk, the same in both.
//
// A backend has two methods:
//   ask(name, body, signal)            the answer, a Promise; without a body it is a question that only reads, such as about
//   stream(name, body, signal, line)   calls line(object) for each line of the answer; the Promise ends with the answer
// signal, an AbortSignal, ends the question on both sides; the Promise then rejects with the signal's AbortError. Whatever
// else goes wrong is a Fault.
//
// To the worker go   {id, name, body}   and   {id, cancel: true}.
// From the worker come   {id, line: object}   for each line of a stream, and one last message for each id:
// {id, answer: object}   (null after a stream)   or   {id, fault: {error, field, rule}}.   And, until it is ready,
// {progress: 0 to 1}.

/** What went wrong with a question. again: nobody answered, or nobody had the time, so that it may be asked again. */
export class Fault extends Error {
  constructor({ error, field, rule }, again = false) {
    super(error);
    Object.assign(this, { name: "Fault", field, rule, again });
  }
}

const GONE = "Nobody answers: yinshzero may have been stopped. Your game is kept here, and goes on when it is back.";
const BUSY = "yinshzero has too much to do at once; your question waits.";

/** The backend that the page names. While it makes itself ready progress is called, with 0 to 1. */
export function connect(progress) {
  const kind = document.querySelector('meta[name="backend"]')?.content;
  return kind === "worker" ? new Desk(new Worker("worker.js"), progress) : new Server("api/");
}

class Server {
  constructor(base) {
    this.base = base;
  }

  async ask(name, body, signal) {
    const response = await this.#send(name, body, signal);
    try {
      return await response.json();
    } catch (error) {
      throw lost(error, signal);
    }
  }

  async stream(name, body, signal, line) {
    const response = await this.#send(name, body, signal);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      let part;
      try {
        part = await reader.read();
      } catch (error) {
        throw lost(error, signal);
      }
      const lines = (rest + (part.value ?? "")).split("\n");
      rest = part.done ? "" : lines.pop();
      for (const text of lines) {
        if (text.trim() !== "") line(JSON.parse(text));
      }
      if (part.done) return;
    }
  }

  async #send(name, body, signal) {
    const request = { signal, cache: "no-store", credentials: "same-origin" };
    if (body !== undefined) {
      Object.assign(request, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
    }
    let response;
    try {
      response = await fetch(this.base + name, request);
    } catch (error) {
      throw lost(error, signal);
    }
    if (response.ok) return response;
    const text = await response.text().catch(() => "");
    if (response.status === 429) throw new Fault({ error: BUSY }, true);
    if ([502, 503, 504].includes(response.status)) throw new Fault({ error: GONE }, true);
    let told;
    try {
      told = JSON.parse(text);
    } catch {
      told = { error: text.trim().slice(0, 300) };
    }
    told.error ||= `the server answers ${response.status} ${response.statusText}`;
    throw new Fault(told);
  }
}

// lost is what a failed fetch means: the question was taken back, or nobody is there.
function lost(error, signal) {
  if (signal?.aborted) return signal.reason;
  console.info(error); // tells those who look why
  return new Fault({ error: GONE }, true);
}

class Desk {
  #open = new Map(); // id → {done, fail, line}
  #last = 0;

  constructor(worker, progress) {
    this.worker = worker;
    worker.onmessage = ({ data }) => (data.progress === undefined ? this.#hear(data) : progress(data.progress));
    worker.onerror = (event) => {
      event.preventDefault();
      const fault = new Fault({ error: `the engine in this page broke: ${event.message ?? "worker.js cannot be loaded"}` });
      for (const question of this.#open.values()) question.fail(fault);
      this.#open.clear();
    };
  }

  ask(name, body, signal) {
    return this.stream(name, body, signal, () => {});
  }

  stream(name, body, signal, line) {
    const id = ++this.#last;
    return new Promise((done, fail) => {
      if (signal?.aborted) return fail(signal.reason);
      this.#open.set(id, { done, fail, line });
      signal?.addEventListener("abort", () => {
        if (!this.#open.delete(id)) return;
        this.worker.postMessage({ id, cancel: true });
        fail(signal.reason);
      });
      this.worker.postMessage({ id, name, body });
    });
  }

  #hear({ id, line, answer, fault }) {
    const question = this.#open.get(id);
    if (!question) return; // taken back
    if (line !== undefined) return question.line(line);
    this.#open.delete(id);
    if (fault) question.fail(new Fault(fault));
    else question.done(answer);
  }
}
