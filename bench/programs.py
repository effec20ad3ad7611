"""What benches share: compiling a program, and timing its steps on ranks of this machine."""

import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")


def make_tokens(build, work):
    """Bytes of the license texts of this machine as a token file."""
    texts = [p for p in pathlib.Path("/usr/share/common-licenses").iterdir() if not p.is_symlink()]
    subprocess.run([build / "bin/ulsc", "data", *sorted(texts), "-o", work / "tokens.bin"], check=True,
                   capture_output=True)
    return work / "tokens.bin"


def compile_program(build, model, flags, program):
    """Compiles without dropout; returns the report."""
    report = program.with_suffix(".json")
    subprocess.run([build / "bin/ulsc", "compile", model, "--dropout", "off", *flags, "--report", report, "-o", program],
                   check=True, capture_output=True)
    return json.loads(report.read_text())


def train(program, ranks, tokens, steps, threads=1):
    """Trains from the beginning; returns the metrics of all steps."""
    metrics = program.with_suffix(".jsonl")
    metrics.unlink(missing_ok=True)
    subprocess.run(["mpirun", "-np", str(ranks), "--bind-to", "none", program, "--data", tokens, "--steps", str(steps),
                    "--threads", str(threads), "--metrics", metrics], check=True, stdout=subprocess.DEVNULL,
                   env=ENVIRONMENT)
    return [json.loads(line) for line in metrics.read_text().splitlines()]


def read_exposure(program):
    """What the program's last training waited for: the object that docs/program.md describes."""
    lines = program.with_suffix(".jsonl").read_text().splitlines()
    return next(entry["exposure"] for entry in map(json.loads, reversed(lines)) if "exposure" in entry)


def time_step(*arguments, **more):
    """The median of all steps but the first two, in ms."""
    return statistics.median(step["step_ms"] for step in train(*arguments, **more)[2:] if "step_ms" in step)
