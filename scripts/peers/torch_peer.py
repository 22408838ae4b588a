"""The network of yinshzero in PyTorch: the same tensors, the same losses, the same update, one thread.

usage: torch_peer.py DIRECTORY

The directory is what `yinshzero bench vectors` writes. Every line of standard input is a request and is answered with a
line, both JSON objects:

  {"do": "check"}                                    how far the answers and the losses of training are from yinshzero's
  {"do": "eval", "batch": 8, "seconds": 2}           evaluations a second of the heads that a search asks for
  {"do": "train", "batch": 64, "seconds": 2}         positions a second: forward, losses, backward, clipping, AdamW
  {"do": "memory", "batch": 256}                     bytes resident at most, before and after two training steps

The first line of output says who answers.
"""

import functools
import itertools
import json
import os
import resource
import struct
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(json.dumps({"missing": str(error)}), flush=True)
    sys.exit(0)

PLANE_BOARD = 4
LAYOUTS = {torch.contiguous_format: "contiguous", torch.channels_last: "channels last"}


def read(path):
    """The tensors and the metadata of a safetensors file of float32."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = bytearray(file.read())
    meta = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        tensors[name] = torch.frombuffer(data, dtype=torch.float32, count=(end - start) // 4, offset=start).view(entry["shape"])
    return tensors, meta


class Network:
    """The network in training form: scales are tensors of their own. tensors are those of the weights' file."""

    def __init__(self, tensors, layout):
        self.layout = layout
        self.t = {}
        for name, tensor in tensors.items():
            if tensor.dim() == 4:  # [row][column][in][out] to [out][in][row][column]
                tensor = tensor.permute(3, 2, 0, 1)
                self.t[name] = tensor.clone(memory_format=layout)
            else:
                self.t[name] = tensor.clone()
            self.t[name].requires_grad_()
        self.blocks = sum(name.endswith("conv1.weight") for name in self.t)

    def fold(self):
        """Multiplies the scales into the convolutions, for inference."""
        for name in [name for name in self.t if name.endswith(".scale")]:
            scale = self.t.pop(name)[:, None, None, None]
            weight = name[:-len("scale")] + "weight"
            self.t[weight] = (self.t[weight] * scale).contiguous(memory_format=self.layout)
        self.t = {name: tensor.detach() for name, tensor in self.t.items()}
        return self

    def convolve(self, x, name, bias=None):
        weight = self.t[name + "weight"]
        if name + "scale" in self.t:
            weight = weight * self.t[name + "scale"][:, None, None, None]
        return F.conv2d(x, weight, bias, padding=1)

    def trunk(self, planes, globals_):
        t = self.t
        board = planes[:1, PLANE_BOARD:PLANE_BOARD + 1]  # of the standard game, in every row
        points = board.sum()

        def pool(x):
            return torch.cat((x.sum((2, 3)) / points, x.amax((2, 3))), 1)

        bias = t["input.bias"] + globals_ @ t["globals.weight"]
        x = self.convolve(planes, "input.").add_(bias[:, :, None, None]).mul_(board).relu_()
        for i in range(self.blocks):
            name = f"block.{i}."
            y = self.convolve(x, name + "conv1.", t[name + "conv1.bias"]).mul_(board).relu_()
            if name + "pool.weight" in t:
                bias = t[name + "conv2.bias"] + pool(y) @ t[name + "pool.weight"]
                y = self.convolve(y, name + "conv2.").add_(bias[:, :, None, None])
            else:
                y = self.convolve(y, name + "conv2.", t[name + "conv2.bias"])
            x = y.add_(x).mul_(board).relu_()
        h = F.relu(torch.cat((pool(x), globals_), 1) @ t["value.weight"] + t["value.bias"])
        return x, h

    def cells(self, x, name):
        """The outputs of a head at every cell, [rows][planes][cells]."""
        weight = self.t[name + "weight"].t()[:, :, None, None]
        return F.conv2d(x, weight, self.t[name + "bias"]).flatten(2)

    def dense(self, h, name):
        return torch.addmm(self.t[name + "bias"], h, self.t[name + "weight"])

    def has(self, name):
        return name + "weight" in self.t

    def play(self, planes, globals_):
        """What a search asks for: the policy's planes and the logits of win, draw and loss."""
        x, h = self.trunk(planes, globals_)
        return self.cells(x, "policy.").flatten(1), self.dense(h, "wdl.")

    def answers(self, batch):
        """All heads, as yinshzero numbers them."""
        x, h = self.trunk(batch["planes"], batch["globals"])
        out = {"policy": at(self.cells(x, "policy.").flatten(1), batch["legal"]), "wdl": self.dense(h, "wdl.")}
        if self.has("rings."):
            out["rings"] = self.dense(h, "rings.")
        if self.has("reply."):
            out["reply"] = at(self.cells(x, "reply.").flatten(1), batch["replies"])
        if self.has("ownership."):
            out["ownership"] = self.cells(x, "ownership.").transpose(1, 2)
        if self.has("plies."):
            out["plies"] = self.dense(h, "plies.")
        return out

    def losses(self, batch):
        """The sum over the rows of every head's cross-entropy; targets are multiplied by their weights."""
        return {name: -(batch["target." + name] * F.log_softmax(logits, -1)).sum() for name, logits in self.answers(batch).items()}


def at(planes, places):
    """The logits at places, which are -1 past a row's Moves."""
    return planes.gather(1, places.clamp(min=0)).masked_fill(places < 0, -1e9)


class Trainer:
    """AdamW with clipping, as the metadata of the batch say."""

    def __init__(self, tensors, meta, layout, foreach):
        self.net = Network(tensors, layout)
        self.meta = {key: float(value) for key, value in meta.items() if key != "sha256"}
        m = self.meta
        params = list(self.net.t.values())
        self.params = params
        self.solver = torch.optim.AdamW(
            [{"params": [p for p in params if p.dim() > 1], "weight_decay": m["decay"]},
             {"params": [p for p in params if p.dim() == 1], "weight_decay": 0.0}],
            lr=m["lr"], betas=(m["beta1"], m["beta2"]), eps=m["eps"], foreach=foreach)

    def step(self, parts):
        """Takes a step on a batch in parts, whose gradients are summed, and returns the total loss before it."""
        self.solver.zero_grad(set_to_none=True)
        rows = sum(part["planes"].shape[0] for part in parts)
        result = 0.0
        for part in parts:
            total = sum(self.meta["loss." + name] / rows * loss for name, loss in self.net.losses(part).items())
            total.backward()
            result += total.item()
        torch.nn.utils.clip_grad_norm_(self.params, self.meta["clip"])
        self.solver.step()
        return result


class Peer:
    def __init__(self, directory):
        self.weights, _ = read(os.path.join(directory, "weights.safetensors"))
        self.batch, self.meta = read(os.path.join(directory, "batch.safetensors"))
        for name in ("legal", "replies"):
            self.batch[name] = self.batch[name].long()
        self.trainers = {}
        self.programs = {}

    def rows(self, start, end, layout=torch.contiguous_format):
        batch = {name: tensor[start:end].clone() for name, tensor in self.batch.items()}
        batch["planes"] = batch["planes"].contiguous(memory_format=layout)
        return batch

    def check(self, _):
        net = Network(self.weights, torch.contiguous_format)
        worst, largest = 0.0, 0.0
        with torch.no_grad():
            for name, answer in net.answers(self.batch).items():
                ours = self.batch["out." + name]
                seen = {"policy": self.batch["legal"] >= 0, "reply": self.batch["replies"] >= 0}.get(name, torch.ones_like(answer) > 0)
                if name == "ownership":
                    seen = (self.batch["planes"][:, PLANE_BOARD].flatten(1) > 0)[:, :, None].expand_as(answer)
                worst = max(worst, float((answer - ours)[seen].abs().max()))
                largest = max(largest, float(ours[seen].abs().max()))
        trainer = Trainer(self.weights, self.meta, torch.contiguous_format, False)
        ours = self.batch["losses"].tolist()
        theirs = [trainer.step([self.batch]) for _ in ours]
        return {"error": worst, "largest": largest, "losses": theirs, "loss_error": max(abs(a / b - 1) for a, b in zip(theirs, ours))}

    def train(self, request):
        """Of the ways in which PyTorch can do it the fastest is kept: layout of memory, the batch at once or in parts that
        fit the cache, an update tensor by tensor or of all at once."""
        n, seconds = request["batch"], request["seconds"]
        if n not in self.trainers:
            ways = {}
            for layout, size, foreach in itertools.product(LAYOUTS, sorted({n, 32, min(n, 64)}), (False, True)):
                trainer = Trainer(self.weights, self.meta, layout, foreach)
                parts = [self.rows(start, min(start + size, n), layout) for start in range(0, n, size)]
                ways[f"{LAYOUTS[layout]}, parts of {size}" + (", foreach" if foreach else "")] = trainer, parts
            way = fastest({way: functools.partial(trainer.step, parts) for way, (trainer, parts) in ways.items()}, n, seconds)
            self.trainers[n] = way, *ways[way]
        way, trainer, parts = self.trainers[n]
        return measure(lambda: trainer.step(parts), n, seconds) | {"way": way}

    def eval(self, request):
        """Likewise: layout of memory, eager or traced."""
        n = request["batch"]
        if n not in self.programs:
            ways = {}
            for layout in LAYOUTS:
                net, batch = Network(self.weights, layout).fold(), self.rows(0, n, layout)
                inputs = batch["planes"], batch["globals"]
                with torch.no_grad():
                    ways |= {f"{LAYOUTS[layout]}, {name}": (program, inputs) for name, program in programs(net, inputs).items()}
            with torch.no_grad():
                way = fastest({way: functools.partial(program, *inputs) for way, (program, inputs) in ways.items()}, n, request["seconds"])
            self.programs[n] = way, *ways[way]
        way, program, inputs = self.programs[n]
        with torch.no_grad():
            return measure(lambda: program(*inputs), n, request["seconds"]) | {"way": way}

    def memory(self, request):
        before = resident()
        trainer, batch = Trainer(self.weights, self.meta, torch.contiguous_format, False), self.rows(0, request["batch"])
        for _ in range(2):
            trainer.step([batch])
        return {"before": before, "most": resident()}


def programs(net, inputs):
    """Eager, traced and frozen, and that with PyTorch's own further steps for inference."""

    class Module(torch.nn.Module):
        def forward(self, planes, globals_):
            return net.play(planes, globals_)

    trace = torch.jit.trace(Module().eval(), inputs, check_trace=False)
    return {"eager": net.play, "frozen": torch.jit.freeze(trace), "optimized": torch.jit.optimize_for_inference(trace)}


def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(work, rows, seconds, least=1):
    """What is done a second, and CPU time by time passed, over at least so many calls."""
    done, start, cpu = 0, time.perf_counter(), time.process_time()
    while True:
        work()
        done += 1
        elapsed = time.perf_counter() - start
        if elapsed >= seconds and done >= least:
            return {"rate": done * rows / elapsed, "share": (time.process_time() - cpu) / elapsed}


def fastest(ways, rows, seconds):
    """The name of the way that does most in a second of CPU time. All have their turn three times and the best of it counts,
    so that what else the machine does decides nothing; the first turn warms up."""
    best = dict.fromkeys(ways, 0.0)
    for least in (3, 2, 2):
        for name, work in ways.items():
            m = measure(work, rows, seconds / 8, least)
            best[name] = max(best[name], m["rate"] / m["share"])
    return max(best, key=best.get)


def main():
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(True)
    print(json.dumps({"name": "PyTorch", "version": torch.__version__}), flush=True)
    peer = Peer(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(peer, request["do"])(request)), flush=True)


main()
