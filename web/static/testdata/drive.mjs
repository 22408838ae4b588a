// node drive.mjs DIR
//
// Runs DIR/worker.js without a browser: each line of standard input is a message to the worker, each of its messages becomes a
// line of standard output. It ends with its input, once all questions are answered. A message {id, cancel} that has "after"
// is sent when so many lines of its answer have come. As in a browser the worker hears of a message in a task of its own.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.argv[2] + "/");
const open = new Map(); // id → lines that have come
const later = [];
const send = (data) => setImmediate(() => onmessage({ data }));
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
console.log = console.error; // what Go says when it breaks down
let ended = false;

// One whose messages are tasks of their own: Node's handles many in one.
class MessageChannel {
  port1 = {};
  port2 = { postMessage: (data) => setImmediate(() => this.port1.onmessage({ data })) };
}

Object.assign(globalThis, {
  MessageChannel,
  self: globalThis,
  location: { href: new URL("worker.js", folder).href, origin: folder.href },
  onmessage: null,
  fetch: async (url) => new Response(await readFile(new URL(url))),
  postMessage(message) {
    say(message);
    const { id, line } = message;
    if (id === undefined) return;
    if (line === undefined) open.delete(id);
    else open.set(id, open.get(id) + 1);
    for (const data of later.filter((m) => m.id === id && m.after === open.get(id))) send(data);
    quit();
  },
});
function quit() {
  if (ended && open.size === 0) process.stdout.write("", () => process.exit(0));
}

await import(new URL("worker.js", folder));
for await (const text of createInterface({ input: process.stdin })) {
  const data = JSON.parse(text);
  if (data.after !== undefined) {
    later.push(data);
    continue;
  }
  if (!data.cancel) open.set(data.id, 0);
  send(data);
}
ended = true;
quit();
