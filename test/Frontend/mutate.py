"""Compiles mutations of a configuration to the stage graph; any exit but 0 and 1 is a failure.

usage: mutate.py ULSC CONFIG SCRATCH
"""
import os
import random
import subprocess
import sys

COUNT = 60
REPLACEMENTS = [b"null", b"-1", b"0", b"1e999", b"9223372036854775807", b"[]", b"{}", b'""', b"true", b"1e-320"]


def mutate(text, rng):
    kind = rng.randrange(4)
    if kind == 0:  # cut
        return text[: rng.randrange(len(text))]
    if kind == 1:  # change bytes
        data = bytearray(text)
        for _ in range(rng.randrange(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    lines = text.split(b"\n")
    index = rng.randrange(1, len(lines) - 1)
    if kind == 2:  # another value
        key, colon, _ = lines[index].partition(b":")
        if colon:
            lines[index] = key + b": " + rng.choice(REPLACEMENTS) + b","
    else:  # a line less, or twice
        lines[index : index + 1] = [lines[index]] * rng.choice([0, 2])
    return b"\n".join(lines)


def main():
    ulsc, config, scratch = sys.argv[1:]
    os.makedirs(scratch, exist_ok=True)
    with open(config, "rb") as file:
        text = file.read()
    rng = random.Random(1)
    path = os.path.join(scratch, "config.json")
    for i in range(COUNT):
        mutated = mutate(text, rng)
        with open(path, "wb") as file:
            file.write(mutated)
        command = [ulsc, "compile", path, "--seq", "8", "--batch", "2", "--mesh", "dp=2", "--emit=graph", "-o", path + ".mlir"]
        result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if result.returncode not in (0, 1) or (result.returncode == 1 and b"error: " not in result.stderr):
            print(f"mutation {i} ended with {result.returncode}:\n{mutated!r}\n{result.stderr.decode(errors='replace')}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
