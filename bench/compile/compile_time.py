#!/usr/bin/env python3
"""Times the compiler: a large model, its depth and the number of devices.

    compile_time.py [--build build] [--runs 7] [-o results.json]

Processor seconds (user and system) and the largest resident size of `ulsc compile` on llama-3.1-405b's shapes.
Variants of a comparison run in turn, so that what else the machine does meets all of them; printed are medians, and
the medians of the ratios of runs side by side.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "test/Frontend/models/llama-3.1-405b.json"


def run(command):
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"failed with status {status}: {command}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


class Bench:
    def __init__(self, arguments, work):
        self.ulsc, self.runs, self.work = arguments.build.resolve() / "bin/ulsc", arguments.runs, work
        self.results = {}

    def command(self, mesh, emit, layers=None):
        model = MODEL
        if layers:
            model = self.work / f"layers-{layers}.json"
            model.write_text(json.dumps({**json.loads(MODEL.read_text()), "num_hidden_layers": layers}))
        ranks = 2048 if mesh.startswith("dp=2048") else 2
        return [self.ulsc, "compile", model, "--mesh", mesh, "--seq", 4096, "--batch", ranks, "--emit", emit,
                "-o", self.work / "out.mlir"]

    def compare(self, title, variants, limit):
        """Runs all variants in turn; the ratio is of the first to the second."""
        samples = {name: [] for name in variants}
        for _ in range(self.runs):
            for name, command in variants.items():
                samples[name].append(run(command))
        cells = []
        for name, values in samples.items():
            seconds, memory = statistics.median(v[0] for v in values), max(v[1] for v in values)
            cells.append(f"{name}: {seconds:.2f} s, {memory / 2**20:.0f} MiB")
        first, *others = samples.values()
        ratio = statistics.median(a[0] / b[0] for a, b in zip(first, others[0])) if others else None
        print(f"| {title} | {'; '.join(cells)} | {'' if ratio is None else f'{ratio:.2f}'} | {limit} |", flush=True)
        self.results[title] = {"samples": samples, "ratio": ratio}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(arguments, pathlib.Path(directory))
        print("| what | measured | ratio | aim |\n|---|---|---:|---|")
        large, small = "dp=2048,tp=8", "dp=2,tp=4"
        bench.compare("to `scheduled`, 16,384 devices", {"126 layers": bench.command(large, "scheduled")}, "10 s, 2 GB")
        for emit in ("scheduled", "llvm"):
            bench.compare(f"depth, to `{emit}`", {"126 layers": bench.command(large, emit),
                                                  "2 layers": bench.command(large, emit, 2)}, "1.5")
            bench.compare(f"devices, to `{emit}`", {"16,384 devices": bench.command(large, emit),
                                                    "8 devices": bench.command(small, emit)}, "1.1")
        if arguments.output:
            pathlib.Path(arguments.output).write_text(json.dumps(bench.results, indent=1) + "\n")


if __name__ == "__main__":
    main()
