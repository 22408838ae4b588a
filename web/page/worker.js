// The page's backend where the page is plain files: a Web Worker that holds the rules and the search, which are Go compiled to
// WebAssembly (web/wasm), and the model, an ONNX file that ONNX Runtime runs. What it needs lies beside it: site.json, which
// says what there is, and the files that are named below. backend.js speaks with it and says what messages there are; besides
// those the worker tells {progress: 0 to 1} while it loads, and 1 once it is ready. Questions may come before that. A worker
// that could not start, or that has broken down, answers every question with a fault.

const files = { go: "yinshzero.wasm.gz", runtime: "ort.wasm.gz", model: "model.onnx" };
const here = (name) => new URL(name, location.href).href;

async function get(name) {
  const answer = await fetch(here(name), { cache: "no-cache" }); // after an update all are of one export
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}: is the folder whole?`);
  return answer;
}

// expand decompresses what is compressed and returns the bytes. Some servers have done so already.
async function expand(blob) {
  const [first, second] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  if (first !== 0x1f || second !== 0x8b) return new Uint8Array(await blob.arrayBuffer());
  const plain = blob.stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

// load starts everything and returns the program's door: ask(id, name, body, line, end) and cancel(id).
async function load() {
  const site = await (await get("site.json")).json();
  const total = Object.values(files).reduce((sum, name) => sum + site.files[name], 0);
  let loaded = 0;
  const bytes = async (name) => {
    const parts = [];
    const reader = (await get(name)).body.getReader();
    for (let part; !(part = await reader.read()).done; ) {
      parts.push(part.value);
      loaded += part.value.length;
      postMessage({ progress: 0.9 * Math.min(loaded / total, 1) });
    }
    return expand(new Blob(parts));
  };
  const [go, runtime, model] = await Promise.all(Object.values(files).map(bytes));
  const [ort] = await Promise.all([import(here("ort.js")), import(here("wasm_exec.js"))]);
  ort.env.wasm.numThreads = 1; // more would need a host that isolates the page from others
  ort.env.wasm.wasmBinary = runtime.buffer;
  const session = await ort.InferenceSession.create(model, { executionProviders: ["wasm"] });
  return start(go, site, judge(ort, session));
}

// judge is what the program asks about a position: it fills planes and globals and calls run, which calls settled with null
// when the outputs are there as bytes, or else with the reason.
function judge(ort, session) {
  const planes = new Float32Array(7 * 11 * 11);
  const globals = new Float32Array(22);
  const feeds = {
    planes: new ort.Tensor("float32", planes, [1, 7, 11, 11]),
    globals: new ort.Tensor("float32", globals, [1, 22]),
  };
  const wanted = ["policy", "wdl", "rings", "ownership"].filter((name) => session.outputNames.includes(name));
  const outputs = {};
  let last = performance.now();
  const run = async (settled) => {
    try {
      if (performance.now() - last > 30) {
        await nextTask();
        last = performance.now();
      }
      for (const [name, { data }] of Object.entries(await session.run(feeds, wanted))) {
        outputs[name] = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      }
    } catch (error) {
      return settled(String(error.message ?? error));
    }
    settled(null);
  };
  return { planes: new Uint8Array(planes.buffer), globals: new Uint8Array(globals.buffer), outputs, run };
}

// nextTask resolves in a task of its own, so that what was sent to the worker meanwhile is heard.
const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();
function nextTask() {
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(null);
  });
}

// start runs the Go program, which gives its door to ready.
async function start(bytes, site, network) {
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(bytes, go.importObject);
  return new Promise((ready, failed) => {
    globalThis.yinshzero = {
      site: JSON.stringify(site),
      network,
      ready: (ask, cancel) => ready({ ask, cancel }),
      failed: (text) => (broken = new Error(text)),
    };
    go.run(instance).then(() => {
      broken ??= new Error("the engine in this page has ended: reload the page");
      failed(broken);
      for (const id of [...open]) end(id, { fault: { error: broken.message } });
    });
  });
}

const open = new Set(); // the ids of questions that are not answered
let broken = null; // why there is no program any more
const door = load();
door.then(
  () => postMessage({ progress: 1 }),
  (error) => console.error(error),
);

function end(id, message) {
  if (open.delete(id)) postMessage({ id, ...message });
}

onmessage = async ({ data: { id, name, body, cancel } }) => {
  if (cancel) return door.then((program) => program.cancel(id)).catch(() => {}); // its fault is told to those who ask
  open.add(id);
  try {
    const { ask } = await door;
    if (broken) throw broken;
    ask(
      id,
      name,
      JSON.stringify(body ?? {}),
      (line) => postMessage({ id, line: JSON.parse(line) }),
      (answer, fault) => end(id, fault ? { fault: JSON.parse(fault) } : { answer: JSON.parse(answer) }),
    );
  } catch (error) {
    end(id, { fault: { error: String(error.message ?? error) } });
  }
};
