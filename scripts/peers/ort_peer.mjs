// The network of yinshzero in ONNX Runtime, one thread.
//
// usage: node ort_peer.mjs DIRECTORY
//
// The directory holds what `yinshzero bench vectors` and `yinshzero export` write: batch.safetensors and model.onnx.
// Requests and answers are those of torch_peer.py; training is not among them. ONNX Runtime is that of
// scripts/onnxruntime.sh.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const reply = answer => process.stdout.write(JSON.stringify(answer) + '\n');
const home = new URL('../../net/onnx/testdata/', import.meta.url);
let ort, version;
try {
  const require = createRequire(home);
  ort = require('onnxruntime-node');
  version = JSON.parse(readFileSync(new URL('node_modules/onnxruntime-node/package.json', home))).version;
} catch (error) {
  reply({ missing: error.message.split('\n')[0] });
  process.exit(0);
}

// The tensors of a safetensors file of float32: name → {dims, data}.
function read(path) {
  const file = readFileSync(path);
  const size = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.subarray(8, 8 + size));
  const data = new Float32Array(new Uint8Array(file.subarray(8 + size)).buffer);
  delete header.__metadata__;
  const tensors = {};
  for (const [name, { shape, data_offsets: [start, end] }] of Object.entries(header))
    tensors[name] = { dims: shape, data: data.subarray(start / 4, end / 4) };
  return tensors;
}

const directory = process.argv[2];
const batch = read(join(directory, 'batch.safetensors'));
const session = await ort.InferenceSession.create(join(directory, 'model.onnx'), {
  intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential', graphOptimizationLevel: 'all',
});

const rows = batch.planes.dims[0];
const first = (name, n) => {
  const { dims, data } = batch[name];
  return new ort.Tensor('float32', data.slice(0, data.length / rows * n), [n, ...dims.slice(1)]);
};
const feeds = n => ({ planes: first('planes', n), globals: first('globals', n) });

const requests = {
  // The largest differences of the logits that a search asks for, and the largest logit.
  async check() {
    const out = await session.run(feeds(rows));
    let error = 0, largest = 0;
    const compare = (theirs, ours) => {
      error = Math.max(error, Math.abs(theirs - ours));
      largest = Math.max(largest, Math.abs(ours));
    };
    batch['out.wdl'].data.forEach((ours, i) => compare(out.wdl.data[i], ours));
    const planes = out.policy.data.length / rows, width = batch.legal.dims[1];
    batch.legal.data.forEach((place, i) => {
      if (place >= 0) compare(out.policy.data[Math.floor(i / width) * planes + place], batch['out.policy'].data[i]);
    });
    return { error, largest };
  },

  async eval({ batch: n, seconds }) {
    const input = feeds(n);
    await session.run(input);
    const start = performance.now(), before = process.cpuUsage();
    for (let done = 0; ;) {
      await session.run(input);
      done += n;
      const elapsed = (performance.now() - start) / 1e3;
      if (elapsed < seconds) continue;
      const { user, system } = process.cpuUsage(before);
      return { rate: done / elapsed, share: (user + system) / 1e6 / elapsed };
    }
  },
};

reply({ name: 'ONNX Runtime', version });
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  reply(await requests[request.do](request));
}
