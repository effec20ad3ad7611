#!/usr/bin/env python3
"""Times two pipeline stages on two ranks against one rank of two threads and against PyTorch's stages on gloo.

    pipeline.py [MODEL] [--batch 8] [--microbatches 8] [--seq 256] [--steps 5] [--runs 3] [--peer PYTHON]
                [--build build] [-o results.json]

All train the same model with the same batch and microbatches; stages have one thread each. A run times each in turn;
its step is the median of all but the first two. Printed are medians over the runs of the ratios to the one rank of
the same run. PyTorch's stages have the same layers as ours. A second table has what each stage waited for in the last
run, predicted and measured, as shares of the predicted and of the measured step: the prediction is for the cluster of
the cost description, not for this machine.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import ROOT, compile_program, make_tokens, read_exposure, time_step

STAGES = ["--mesh", "pp=2", "--pp-schedule"]
# Name, ranks, threads, flags.
VARIANTS = (
    ("1 rank, 2 threads", 1, 2, []),
    ("1f1b", 2, 1, STAGES + ["1f1b"]),
    ("gpipe", 2, 1, STAGES + ["gpipe"]),
    ("interleaved, 2 chunks", 2, 1, STAGES + ["interleaved", "--pp-chunks", "2"]),
    ("zb-h1", 2, 1, STAGES + ["zb-h1"]),
    ("zbv", 2, 1, STAGES + ["zbv", "--pp-chunks", "2"]),
)


def time_peer(arguments, schedule):
    out = subprocess.run([arguments.peer, ROOT / "bench/peers/torch_pipeline.py", "--config", arguments.model, "--layers",
                          arguments.layers, "--batch", str(arguments.batch), "--microbatches",
                          str(arguments.microbatches), "--seq", str(arguments.seq), "--steps", str(arguments.steps - 2),
                          "--schedule", schedule], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["step_ms"]


def sum_exposure(program, report):
    """Rows of stage, kind, and the predicted and measured share of a step that ranks wait."""
    exposure = read_exposure(program)
    shares = {}
    for row in exposure["rows"]:
        entry = shares.setdefault((row["stage"], row["kind"]), [0, 0])
        entry[0] += row["predicted_exposed_ms"] * 1e3 / report["pipeline"]["makespan_us"]
        entry[1] += row["exposed_ms"] / exposure["step_ms"]
    return [{"stage": stage, "kind": kind, "predicted": predicted, "measured": measured}
            for (stage, kind), (predicted, measured) in sorted(shares.items())]


def print_exposure(rows):
    print("\n| variant | stage | waits in | predicted | measured |\n|---|---:|---|---:|---:|")
    for row in rows:
        for entry in row.get("exposure", []):
            print(f"| {row['name']} | {entry['stage']} | {entry['kind']} | {entry['predicted']:.1%} | "
                  f"{entry['measured']:.1%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default=str(ROOT / "bench/pipeline/llama-66m.json"))
    for name, default in (("batch", 8), ("microbatches", 8), ("seq", 256), ("steps", 5), ("runs", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--layers", default="5,5", help="layers of each of the peer's stages")
    parser.add_argument("--peer", help="a Python with torch and transformers")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("-o", "--output", help="also write all numbers as JSON")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    shape = ["--seq", str(arguments.seq), "--batch", str(arguments.batch), "--microbatches",
             str(arguments.microbatches)]
    rows, reports = [], []
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        tokens = make_tokens(arguments.build, work)
        for index, (name, ranks, threads, flags) in enumerate(VARIANTS):
            report = compile_program(arguments.build, arguments.model, shape + flags, work / str(index))
            reports.append(report)
            rows.append({"name": name, "peak_bytes": [row["peak"] for row in report["memory"]],
                         "idle_share": report.get("pipeline", {}).get("idle_share"), "step_ms": []})
        if arguments.peer:
            rows += [{"name": f"PyTorch, {schedule}", "schedule": schedule, "step_ms": []}
                     for schedule in ("1F1B", "GPipe")]
        for _ in range(arguments.runs):
            for index, row in enumerate(rows):
                if "schedule" in row:
                    row["step_ms"].append(time_peer(arguments, row["schedule"]))
                else:
                    _, ranks, threads, _ = VARIANTS[index]
                    row["step_ms"].append(time_step(work / str(index), ranks, tokens, arguments.steps, threads=threads))
        for index, (_, ranks, _, _) in enumerate(VARIANTS):
            if ranks > 1:
                rows[index]["exposure"] = sum_exposure(work / str(index), reports[index])
    print("| variant | step, ms | to 1 rank, 2 threads | predicted idle share | peak MB by stage |\n|---|---:|---:|---:|---|")
    for row in rows:
        ratio = statistics.median(mine / plain for mine, plain in zip(row["step_ms"], rows[0]["step_ms"]))
        idle = "" if row.get("idle_share") is None else f"{row['idle_share']:.1%}"
        peaks = ", ".join(f"{peak / 1e6:.0f}" for peak in row.get("peak_bytes", []))
        print(f"| {row['name']} | {statistics.median(row['step_ms']):.0f} | {ratio:.2f} | {idle} | {peaks} |")
    print_exposure(rows)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
