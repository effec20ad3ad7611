#!/usr/bin/env python3
"""Loads a directory written by --export-hf with transformers and compares its loss with a given one.

    check_export.py DIR tokens.bin --seq 64 --batch 4 --expect-loss 2.8068 --tolerance 1e-5 [--step 20]

The loss is that of the batch a program sees in the given step (0 is the first): the next batch x seq tokens,
row by row, targets one token on, wrapping at the end. In f32, nothing dropped. Exits with 0 when the
difference is at most tolerance x expected loss and every tensor was found where transformers looks for it, with
1 when not, with 2 when the arguments are no good. Needs the environment of make_golden.sh; nothing is fetched.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("tokens", type=Path)
    parser.add_argument("--seq", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--expect-loss", type=float, required=True)
    parser.add_argument("--tolerance", type=float, default=1e-5, help="relative; default %(default)s")
    parser.add_argument("--step", type=int, default=0)
    arguments = parser.parse_args()
    if not (arguments.directory / "config.json").is_file():
        parser.error(f"{arguments.directory} holds no config.json")
    if arguments.seq < 1 or arguments.batch < 1 or arguments.step < 0:
        parser.error("--seq and --batch are at least 1, --step at least 0")
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()

    config = AutoConfig.from_pretrained(arguments.directory, local_files_only=True)
    tokens = numpy.fromfile(arguments.tokens, dtype="<u2" if config.vocab_size <= 65536 else "<u4")
    if len(tokens) < 2 or int(tokens.max()) >= config.vocab_size:
        parser.error(f"{arguments.tokens}: {len(tokens)} tokens, which must all be below {config.vocab_size}")
    model, info = AutoModelForCausalLM.from_pretrained(
        arguments.directory, local_files_only=True, dtype=torch.float32, attn_implementation="eager",
        output_loading_info=True)
    model.eval()
    bad = {kind: sorted(map(str, keys)) for kind, keys in info.items() if keys}

    count = arguments.batch * arguments.seq
    positions = arguments.step * count + numpy.arange(count)
    inputs, targets = (torch.from_numpy(tokens[(positions + shift) % len(tokens)].astype("int64"))
                       for shift in (0, 1))
    with torch.no_grad():
        logits = model(input_ids=inputs.view(arguments.batch, arguments.seq), use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.float().view(count, -1), targets).item()

    difference = abs(loss - arguments.expect_loss) / abs(arguments.expect_loss)
    print(f"loss {loss:.9g}, expected {arguments.expect_loss:.9g}, relative difference {difference:.2e}, "
          f"tolerance {arguments.tolerance:g}")
    for kind, keys in bad.items():
        print(f"{kind}: {', '.join(keys)}", file=sys.stderr)
    return 0 if difference <= arguments.tolerance and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
