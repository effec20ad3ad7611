#!/usr/bin/env python3
"""Times a compiled program's training step, says where it goes, and puts it beside its GEMMs and PyTorch.

    step.py [MODEL] [--batch 4] [--seq 256] [--threads 2] [--steps 8] [--runs 3] [--dtype f32]
            [--build build] [--peer PYTHON] [-o results.json]

One rank, dropout off, AdamW with clipping. Per run, the program trains `steps` steps with gemm_shim preloaded; its
step is the median of all but the first two. The shim repeats each of the program's matrix products alone in the
same process ("alone"); attention's, which run one per thread, are divided by the number of threads. The rest of
the step is taken from the program's own trace. PYTHON is an interpreter with torch and transformers: the peer
(../peers/torch_step.py) runs after each run of the program. Printed are medians over the runs.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def read_trace(path):
    """Milliseconds of each group of spans in the trace's only step."""
    groups, step = collections.Counter(), 0
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] != "X" or event["tid"] == 2:
            continue
        if event["cat"] == "step":
            step = event["dur"] / 1e3
        elif event["cat"] == "gemm":
            groups["GEMMs"] += event["dur"] / 1e3
        else:
            groups[event["name"]] += event["dur"] / 1e3
    groups["outside kernels"] = step - sum(groups.values())
    return step, groups


def run_program(program, tokens, arguments, work):
    metrics, trace, gemms = work / "metrics.jsonl", work / "trace.json", work / "gemms.json"
    metrics.unlink(missing_ok=True)
    subprocess.run([program, "--data", tokens, "--steps", str(arguments.steps), "--threads", str(arguments.threads),
                    "--metrics", metrics, "--trace", trace, "--trace-steps", "1"], check=True,
                   stdout=subprocess.DEVNULL,
                   env=dict(ENVIRONMENT, LD_PRELOAD=str(arguments.build / "lib/libulsc_gemm_shim.so"),
                            ULSC_GEMM_OUT=str(gemms)))
    steps = [json.loads(line)["step_ms"] for line in metrics.read_text().splitlines()][2:]
    report = json.loads(gemms.read_text())
    total = lambda kind, key: sum(g["calls"] / arguments.steps * g[key] for g in report[kind])
    share = arguments.threads
    traced, groups = read_trace(trace)
    return {"step_ms": statistics.median(steps),
            "gemm_ms_alone": total("matmul", "ms_alone"), "gemm_ms_in_step": total("matmul", "ms_in_step"),
            "attention_gemm_ms_alone": total("tile", "ms_alone") / share,
            "attention_gemm_ms_in_step": total("tile", "ms_in_step") / share,
            "gflop": total("matmul", "gflop") + total("tile", "gflop"),
            "traced_step_ms": traced, "groups": dict(groups), "shapes": report["matmul"]}


def run_peer(arguments, model):
    output = subprocess.run([arguments.peer, ROOT / "bench/peers/torch_step.py", "--config", model, "--batch",
                             str(arguments.batch), "--seq", str(arguments.seq), "--threads", str(arguments.threads),
                             "--dtype", arguments.dtype], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output)["step_ms"]


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default=str(ROOT / "test/Frontend/models/gpt2.json"))
    for name, default in (("batch", 4), ("seq", 256), ("threads", 2), ("steps", 8), ("runs", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--dtype", default="f32", choices=("f32", "bf16"))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--peer", help="a Python interpreter with torch and transformers")
    parser.add_argument("-o", "--output", help="also write all numbers as JSON")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()

    subprocess.run(["ninja", "-C", arguments.build, "ulsc", "ulsc_runtime", "ulsc_gemm_shim"], check=True,
                   stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        ulsc = arguments.build / "bin/ulsc"
        texts = [p for p in pathlib.Path("/usr/share/common-licenses").iterdir() if not p.is_symlink()]
        subprocess.run([ulsc, "data", *sorted(texts), "-o", work / "tokens.bin"], check=True, capture_output=True)
        subprocess.run([ulsc, "compile", arguments.model, "--seq", str(arguments.seq), "--batch", str(arguments.batch),
                        "--dropout", "off", "--dtype", arguments.dtype, "-o", work / "program"], check=True,
                       capture_output=True)
        runs, peers = [], []
        for _ in range(arguments.runs):
            runs.append(run_program(work / "program", work / "tokens.bin", arguments, work))
            if arguments.peer:
                peers.append(run_peer(arguments, arguments.model))

    step, alone = median(runs, "step_ms"), median(runs, "gemm_ms_alone") + median(runs, "attention_gemm_ms_alone")
    print(f"step {step:.0f} ms = {statistics.median(r['step_ms'] / (r['gemm_ms_alone'] + r['attention_gemm_ms_alone']) for r in runs):.2f} x "
          f"its GEMMs alone ({alone:.0f} ms, of which attention's {median(runs, 'attention_gemm_ms_alone'):.0f} ms; "
          f"{runs[0]['gflop']:.0f} GFLOP, {runs[0]['gflop'] / alone * 1e3:.0f} GFLOP/s)")
    if peers:
        ratio = statistics.median(run["step_ms"] / peer for run, peer in zip(runs, peers))
        print(f"PyTorch's step {statistics.median(peers):.0f} ms; this step is {ratio:.2f} of it")
    print("\n| where | ms | share |\n|---|---:|---:|")
    names = sorted(runs[0]["groups"], key=lambda name: -median([r["groups"] for r in runs], name))
    rest = 0
    for position, name in enumerate(names):
        value = median([r["groups"] for r in runs], name)
        if position < 24:
            print(f"| {name} | {value:.1f} | {value / median(runs, 'traced_step_ms'):.1%} |")
        else:
            rest += value
    print(f"| others | {rest:.1f} | {rest / median(runs, 'traced_step_ms'):.1%} |")
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps({"arguments": sys.argv[1:], "runs": runs, "peers": peers},
                                                             indent=1) + "\n")


if __name__ == "__main__":
    main()
