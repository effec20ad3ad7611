#!/usr/bin/env python3
"""Times what split state, sequence parallelism and recomputation cost in a step, beside the extra bytes and FLOPs.

    state.py [MODEL] [--ranks 2] [--batch 4] [--seq 128] [--microbatches 1] [--steps 5] [--runs 3] [--build build]
             [-o results.json]

All variants train the same model on the same ranks of this machine, one thread each. A run trains each of them in
turn for `steps` steps; its step is the median of all but the first two. Printed are the medians over the runs of the
ratios to the plain variant of the same run: `ddp` for split state, `tp` for `tp+sp`, and `--recompute none` for
recomputation. Bytes and FLOPs are those of the report: wire bytes that a rank moves in a step, and what is computed
again as a share of the model's.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import ROOT, compile_program, make_tokens, time_step

# Name, mesh axis, flags, and what it is compared to.
VARIANTS = (
    ("ddp", "dp", ["--strategy", "ddp"], None),
    ("zero1", "dp", ["--strategy", "zero1"], "ddp"),
    ("zero2", "dp", ["--strategy", "zero2"], "ddp"),
    ("zero3", "dp", ["--strategy", "zero3"], "ddp"),
    ("zero3, not resharded", "dp", ["--strategy", "zero3", "--reshard-after-forward", "false"], "ddp"),
    ("tp", "tp", ["--strategy", "tp"], None),
    ("tp+sp", "tp", ["--strategy", "tp+sp"], "tp"),
    ("none", "dp", ["--strategy", "ddp", "--recompute", "none"], None),
    ("norm,act (default)", "dp", ["--strategy", "ddp"], "none"),
    ("selective", "dp", ["--strategy", "ddp", "--recompute", "selective"], "none"),
    ("full", "dp", ["--strategy", "ddp", "--recompute", "full"], "none"),
)


def compile_variant(arguments, work, index):
    name, axis, flags, baseline = VARIANTS[index]
    report = compile_program(arguments.build, arguments.model,
                             ["--seq", str(arguments.seq), "--batch", str(arguments.batch), "--microbatches",
                              str(arguments.microbatches), "--mesh", f"{axis}={arguments.ranks}", *flags],
                             work / str(index))
    return {"name": name, "baseline": baseline,
            "wire_bytes": sum(c["count_per_step"] * c["wire_bytes"] for c in report["collectives"]),
            "recomputed": report["recompute"]["flops_per_step"] / report["model"]["flops_per_step"],
            "peak_bytes": max(row["peak"] for row in report["memory"]), "step_ms": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default=str(ROOT / "test/Frontend/models/gpt2.json"))
    for name, default in (("ranks", 2), ("batch", 4), ("seq", 128), ("microbatches", 1), ("steps", 5), ("runs", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("-o", "--output", help="also write all numbers as JSON")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        tokens = make_tokens(arguments.build, work)
        variants = [compile_variant(arguments, work, index) for index in range(len(VARIANTS))]
        for _ in range(arguments.runs):
            for index, variant in enumerate(variants):
                variant["step_ms"].append(time_step(work / str(index), arguments.ranks, tokens, arguments.steps))
    by_name = {variant["name"]: variant for variant in variants}
    print("| variant | step, ms | of | ratio | wire MB of a rank | FLOPs again | peak MB |\n|---|---:|---|---:|---:|---:|---:|")
    for variant in variants:
        baseline = by_name.get(variant["baseline"])
        ratio = "" if not baseline else "%.2f" % statistics.median(
            mine / plain for mine, plain in zip(variant["step_ms"], baseline["step_ms"]))
        print(f"| {variant['name']} | {statistics.median(variant['step_ms']):.0f} | {variant['baseline'] or ''} | {ratio} | "
              f"{variant['wire_bytes'] / 1e6:.0f} | {variant['recomputed']:.1%} | {variant['peak_bytes'] / 1e6:.0f} |")
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(variants, indent=1) + "\n")


if __name__ == "__main__":
    main()
