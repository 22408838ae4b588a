// node run.mjs DIR BATCH …
//
// Runs DIR/model.onnx on the positions in DIR/planes.f32 and DIR/globals.f32, once for every batch size and as many
// positions at a time, and writes every output to DIR/<output>.<batch>.f32. The last batch may be smaller.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ort from 'onnxruntime-node';

const [dir, ...batches] = process.argv.slice(2);
const numbers = async name => new Float32Array(new Uint8Array(await readFile(join(dir, name + '.f32'))).buffer);
const inputs = { planes: [await numbers('planes'), [7, 11, 11]], globals: [await numbers('globals'), [22]] };
const session = await ort.InferenceSession.create(join(dir, 'model.onnx'), { intraOpNumThreads: 1 });
const total = inputs.globals[0].length / 22;
for (const batch of batches.map(Number)) {
  const written = {};
  for (let from = 0; from < total; from += batch) {
    const n = Math.min(batch, total - from);
    const feeds = {};
    for (const [name, [data, shape]] of Object.entries(inputs)) {
      const size = shape.reduce((a, b) => a * b);
      feeds[name] = new ort.Tensor('float32', data.subarray(from * size, (from + n) * size), [n, ...shape]);
    }
    for (const [name, tensor] of Object.entries(await session.run(feeds))) {
      if (tensor.dims[0] !== n) throw new Error(`${name} has dims ${tensor.dims} for ${n} positions`);
      (written[name] ??= []).push(Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength));
    }
  }
  for (const [name, parts] of Object.entries(written)) await writeFile(join(dir, `${name}.${batch}.f32`), Buffer.concat(parts));
}
