#!/usr/bin/env python3
"""Runs the hand-written programs of fake_program.c as a user would, on 1, 2 and 4 ranks.

Usage: program_test.py BIN_DIR [TEST...]
"""

import array
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/bin")
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,vader")
# The choice of transports above halves the start of each run.
ENVIRONMENT.pop("OMP_NUM_THREADS", None)


def read_safetensors(path):
    data = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__")
    values = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        code = {"F32": "f", "BF16": "H"}[tensor["dtype"]]
        values[name] = (tensor["shape"], array.array(code, data[8 + length:][begin:end]).tolist())
    return values, metadata


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="ulsc-runtime-"))
        generator = random.Random(1)
        tokens = [generator.randrange(50) for _ in range(3000)]
        self.tokens = self.directory / "tokens.bin"
        self.tokens.write_bytes(struct.pack("<3000H", *tokens))

    def tearDown(self):
        shutil.rmtree(self.directory)

    def command(self, mesh, *flags):
        ranks = int(mesh[0]) * int(mesh[2])
        launcher = [] if ranks == 1 else ["mpirun", "-np", str(ranks), "--oversubscribe"]
        return launcher + [str(BIN / f"fake-{mesh}"), "--threads", "1"] + [str(f) for f in flags]

    def run_program(self, mesh, *flags, data=True, expect=0, **environment):
        flags = (["--data", self.tokens] if data else []) + list(flags)
        result = subprocess.run(self.command(mesh, *flags), capture_output=True, text=True, timeout=60,
                                cwd=self.directory, env=dict(ENVIRONMENT, **environment))
        if expect is not None:
            self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        return result

    def metrics(self, name):
        return [json.loads(line) for line in (self.directory / name).read_text().splitlines()]

    # What a run computes.

    def test_meshes_agree(self):
        losses, gradients = {}, {}
        for mesh in ("1x1", "2x1", "1x2", "2x2"):
            self.run_program(mesh, "--steps", 4, "--metrics", mesh, "--dump-gradients", f"g{mesh}")
            losses[mesh] = [(m["loss"], m["grad_norm"]) for m in self.metrics(mesh)]
            whole = {}
            for path in (self.directory / f"g{mesh}").glob("step-4-rank-*.safetensors"):
                slices, metadata = read_safetensors(path)
                for name, (shape, values) in slices.items():
                    note = json.loads(metadata[name])
                    row = note["logical_shape"][1] if len(shape) == 2 else 1
                    for i, value in enumerate(values):
                        whole[name, note["offset"][0] * row + i] = value
            gradients[mesh] = whole
        self.assertEqual(len(gradients["1x1"]), 203)
        for mesh in losses:
            for (loss, norm), (loss1, norm1) in zip(losses[mesh], losses["1x1"]):
                self.assertAlmostEqual(loss, loss1, delta=1e-5)
                self.assertAlmostEqual(norm, norm1, delta=1e-5)
            self.assertEqual(gradients[mesh].keys(), gradients["1x1"].keys())
            for key, value in gradients[mesh].items():
                self.assertAlmostEqual(value, gradients["1x1"][key], delta=1e-6)

    def test_metrics(self):
        self.run_program("2x1", "--steps", 3, "--metrics", "m", "--lr-schedule", "linear",
                         "--warmup-steps", 1, "--lr", 0.4)
        records = self.metrics("m")
        self.assertEqual([m["step"] for m in records], [1, 2, 3])
        self.assertEqual([m["tokens_consumed"] for m in records], [128, 256, 384])
        self.assertEqual([round(m["lr"], 6) for m in records], [0.4, 0.4, 0.2])
        self.assertEqual(records[0]["peak_memory_bytes"], 32768)
        self.assertIn("all_reduce", records[0]["exposed_comm_ms"])
        for key in ("tokens_per_s", "tokens_per_s_per_device", "step_ms", "input_wait_ms",
                    "process_memory_bytes"):
            self.assertIn(key, records[0])

    # Checkpoints.

    def same_save(self, a, b):
        for path in sorted((self.directory / a).glob("*.safetensors")):
            self.assertEqual(path.read_bytes(), (self.directory / b / path.name).read_bytes(), path)

    def test_resume_is_bitwise(self):
        self.run_program("2x2", "--steps", 6, "--save", "whole", "--seed", 3)
        self.run_program("2x2", "--steps", 3, "--save", "half", "--seed", 3, "--metrics", "m")
        result = self.run_program("2x2", "--steps", 6, "--save", "half", "--resume", "auto", "--metrics", "m")
        self.assertIn("half/step-3", result.stdout)
        self.same_save("whole/step-6", "half/step-6")
        self.assertEqual([m["step"] for m in self.metrics("m")], [1, 2, 3, 4, 5, 6])

    def test_resume_on_another_mesh(self):
        self.run_program("2x2", "--steps", 3, "--save", "a")
        self.run_program("1x1", "--steps", 3, "--resume", "a", "--export-hf", "one")
        self.run_program("2x2", "--steps", 3, "--resume", "a/step-3", "--export-hf", "four")
        self.assertEqual((self.directory / "one/model.safetensors").read_bytes(),
                         (self.directory / "four/model.safetensors").read_bytes())
        self.run_program("1x1", "--steps", 5, "--resume", "a", "--save", "b", "--metrics", "m1")
        self.run_program("1x2", "--steps", 5, "--resume", "a", "--metrics", "m2")
        for one, two in zip(self.metrics("m1"), self.metrics("m2")):
            self.assertAlmostEqual(one["loss"], two["loss"], delta=1e-6)

    def test_keeps_two_saves(self):
        self.run_program("1x1", "--steps", 7, "--save", "s", "--save-every", 2)
        self.assertEqual(sorted(os.listdir(self.directory / "s")), ["step-6", "step-7"])
        result = self.run_program("1x1", "--steps", 2, "--save", "s", expect=1)
        self.assertIn("already holds a checkpoint of step 7", result.stderr)

    def kill_and_resume(self, mesh, saved, kill_at):
        """Kills rank 0 before its `kill_at`-th file operation; returns whether it got so far."""
        shutil.rmtree(self.directory / "s", ignore_errors=True)
        if saved:
            shutil.copytree(self.directory / saved, self.directory / "s")
        flags = ["--save", "s", "--resume", "auto", "--save-every", 1, "--steps"]
        died = self.run_program(mesh, *flags, 3, expect=None, FAKE_KILL_AT=str(kill_at), FAKE_KILL_RANK="0")
        resumed = self.run_program(mesh, *flags, 4)
        if saved or "beginning anew" not in resumed.stdout:
            self.assertIn("resume   s/step-", resumed.stdout)
        self.same_save(f"whole-{mesh}/step-4", "s/step-4")
        self.assertEqual(sorted(os.listdir(self.directory / "s")), ["step-3", "step-4"])
        return died.returncode != 0

    def test_kill_at_every_write(self):
        for mesh in ("1x1", "2x1"):
            self.run_program(mesh, "--steps", 4, "--save", f"whole-{mesh}")
            self.run_program(mesh, "--steps", 2, "--save", f"two-{mesh}", "--save-every", 1)
        kill_at = 1
        while self.kill_and_resume("1x1", "two-1x1", kill_at):
            kill_at += 1
        self.assertGreater(kill_at, 10)
        for kill_at in range(1, 25, 4):
            self.kill_and_resume("1x1", None, kill_at)
        for kill_at in (4, 8, 11):
            self.assertTrue(self.kill_and_resume("2x1", "two-2x1", kill_at))

    def test_damaged_checkpoints(self):
        self.run_program("1x1", "--steps", 2, "--save", "s")
        save = self.directory / "s/step-2"
        state, values = (save / "state.json").read_text(), (save / "rank-00000.safetensors").read_bytes()
        cases = [("state.json", state[:100]), ("state.json", "[]"), ("state.json", ""),
                 ("state.json", state.replace("ulsc.checkpoint/1", "other")),
                 ("state.json", state.replace("[\n    50,", "[\n    51,")),
                 ("state.json", state.replace("bias:master", "bias:other")),
                 ("rank-00000.safetensors", values[:-1]), ("rank-00000.safetensors", b""),
                 ("rank-00000.safetensors", values[:-4] + b"abcd")]
        for name, content in cases:
            (save / "state.json").write_text(state)
            (save / "rank-00000.safetensors").write_bytes(values)
            content = content.encode() if isinstance(content, str) else content
            self.assertNotEqual(content, (save / name).read_bytes())
            (save / name).write_bytes(content)
            result = self.run_program("1x1", "--steps", 4, "--resume", "s", expect=1)
            self.assertIn("error: ", result.stderr)
            self.assertIn("s/step-2", result.stderr)

    # Ends before the last step.

    def stop(self, mesh, number, *flags):
        process = subprocess.Popen(self.command(mesh, "--data", self.tokens, "--steps", 1000, *flags),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.directory, env=dict(ENVIRONMENT, FAKE_SLEEP_MS="30"))
        for line in process.stdout:
            if line.startswith("step 2/"):
                break
        name = f"fake-{mesh}"
        pids = [process.pid] if mesh == "1x1" else [
            int(p) for p in subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(process.pid)],
                                           capture_output=True, text=True).stdout.split()[0:1]]
        self.assertTrue(pids, name)
        os.kill(pids[0], number)
        _, errors = process.communicate(timeout=30)
        return process.returncode, errors

    def test_signals_end_after_the_step(self):
        code, errors = self.stop("1x1", signal.SIGINT, "--save", "s")
        self.assertEqual(code, 130)
        self.assertIn("stopped by SIGINT after step", errors)
        saved = os.listdir(self.directory / "s")
        self.assertEqual(len(saved), 1)
        code, errors = self.stop("2x1", signal.SIGTERM)
        self.assertEqual(code, 143)
        self.assertIn("nothing is saved without --save", errors)

    def test_second_signal_ends_at_once(self):
        process = subprocess.Popen(self.command("1x1", "--data", self.tokens, "--steps", 1000),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.directory, env=dict(ENVIRONMENT, FAKE_SLEEP_MS="20000"))
        for line in process.stdout:
            if line.startswith("memory"):
                break
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        begin = time.time()
        process.communicate(timeout=30)
        self.assertLess(time.time() - begin, 5)
        self.assertEqual(process.returncode, 130)

    def test_a_loss_that_is_not_finite_ends_all(self):
        for mesh in ("1x1", "2x1"):
            result = self.run_program(mesh, "--steps", 5, "--save", "s", expect=1, FAKE_NAN_AT="2")
            self.assertRegex(result.stderr, "step 2: loss is nan on rank [01]")
            self.assertFalse(list(self.directory.glob("s/step-*")))

    # Weights.

    def test_weights_round_trip(self):
        self.run_program("2x2", "--steps", 2, "--export-hf", "a")
        values, metadata = read_safetensors(self.directory / "a/model.safetensors")
        self.assertEqual(metadata, {"format": "pt"})
        self.assertEqual(values["table.weight"][0], [50, 4])
        self.assertEqual((self.directory / "a/config.json").read_text(), '{"model_type": "fake"}')
        self.run_program("1x2", "--weights", "a", "--steps", 0, "--export-hf", "b", data=False)
        self.assertEqual((self.directory / "a/model.safetensors").read_bytes(),
                         (self.directory / "b/model.safetensors").read_bytes())

    def test_weights_that_do_not_fit(self):
        header = {"model.bias": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
                  "h.0.attn.bias": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                  "other": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
        text = json.dumps(header).encode()
        (self.directory / "w").write_bytes(struct.pack("<Q", len(text)) + text + bytes(16))
        errors = self.run_program("2x1", "--steps", 1, "--weights", "w", expect=1).stderr
        for part in ("missing table.weight [50, 4]", "model.bias is [4], but the model has [3]", "unknown other"):
            self.assertEqual(errors.count(part), 1, errors)
        self.assertNotIn("attn.bias", errors)
        (self.directory / "d").mkdir()
        self.assertIn("neither model.safetensors nor",
                      self.run_program("1x1", "--steps", 1, "--weights", "d", expect=1).stderr)

    # What independent counters see.

    def run_with_shim(self, mesh, shim, variable, *flags):
        library = BIN.parent / "lib" / f"lib{shim}.so"
        command = self.command(mesh, "--data", self.tokens, *flags)
        command[1:1] = ["-x", f"LD_PRELOAD={library}", "-x", f"{variable}={self.directory}/{shim}.%r"]
        subprocess.run(command, check=True, capture_output=True, timeout=60, env=ENVIRONMENT)
        return [json.loads((self.directory / f"{shim}.{rank}").read_text())
                for rank in range(int(mesh[0]) * int(mesh[2]))]

    def test_bytes_on_the_wire(self):
        for report in self.run_with_shim("2x2", "ulsc_pmpi_shim", "ULSC_PMPI_OUT", "--steps", 3):
            self.assertEqual(report["ranks"], 4)
            # Identifier: bytes of a call, ranks of its group.
            for identifier, (size, ranks) in {"0": (8, 4), "1": (26 * 4 * 4, 2), "2": (4, 2)}.items():
                entry = report["collectives"][identifier]
                self.assertEqual(entry["calls"], 3)
                self.assertEqual(entry["bytes"], 3 * size)
                self.assertAlmostEqual(entry["wire_bytes"], 3 * size * 2 * (ranks - 1) / ranks)

    def test_allocations(self):
        for report in self.run_with_shim("2x1", "ulsc_alloc_shim", "ULSC_ALLOC_OUT", "--steps", 3):
            program = report["callers"]["program"]
            # The arena is smaller than what is counted; there are two slots of staging.
            self.assertEqual(program["peak_bytes"], 4 << 20)
            self.assertIn({"bytes": 4 << 20, "caller": "program"}, report["regions"])
            self.assertGreater(report["peak_rss_bytes"], 1 << 20)

    # What a user gets wrong.

    def test_flags(self):
        for flags, part in ((["--stps", 1], "the nearest is '--steps'"),
                            (["--steps", 1, "--shuffle"], "'--shuffle' is not supported"),
                            (["--steps", 1, "--lr-schedule", "cosin"], "nearest is 'cosine'"),
                            (["--steps", 1, "--betas", "0.9"], "needs two"),
                            (["--steps", 1, "--lr", "fast"], "--lr"),
                            (["--steps", 0], "at least 1"),
                            (["--steps", 1, "--dropout", 0.1], "compiled without dropout"),
                            (["--steps", 1, "--resume", "auto"], "needs '--save DIR'"),
                            (["--steps", 1, "stray"], "unexpected argument 'stray'")):
            self.assertIn(part, self.run_program("1x1", *flags, expect=2).stderr)
        self.run_program("1x1", "--steps", 1, "--betas", "0.8,0.9", "--lr=1e-2", "--seed", 1, "--seed", 2)
        described = json.loads(self.run_program("1x1", "--describe", data=False).stdout)
        self.assertEqual(described["schema"], "ulsc.manifest/1")

    def test_ranks(self):
        result = subprocess.run(self.command("2x1", "--data", self.tokens, "--steps", 1)[4:],
                                capture_output=True, text=True, env=ENVIRONMENT)
        self.assertEqual(result.returncode, 1)
        self.assertIn("2 ranks, but was started with 1; run 'mpirun -np 2", result.stderr)

    def test_token_files(self):
        bad = self.directory / "bad.bin"
        for content, part in ((b"", "holds 0 tokens"), (b"\0" * 33, "has 33 bytes"),
                              (b"\0" * 32, "at least 17 tokens"),
                              (b"\1\0" * 20 + b"\x32\0" + b"\0" * 40, "holds id 50 at byte 40")):
            bad.write_bytes(content)
            result = self.run_program("1x1", "--data", bad, "--steps", 1, data=False, expect=1)
            self.assertIn(part, result.stderr)
        for path, part in ((self.directory, "is a directory"), ("none", "No such file")):
            result = self.run_program("1x1", "--data", path, "--steps", 1, data=False, expect=1)
            self.assertIn(part, result.stderr)

    def test_threads(self):
        result = subprocess.run([str(BIN / "fake-1x1"), "--data", str(self.tokens), "--steps", "1"],
                                capture_output=True, text=True, env=dict(ENVIRONMENT, OMP_NUM_THREADS="64"))
        self.assertIn("OMP_NUM_THREADS=64 is not used", result.stdout)


if __name__ == "__main__":
    unittest.main()
