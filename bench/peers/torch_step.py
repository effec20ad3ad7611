#!/usr/bin/env python3
"""Times a training step of a Hugging Face model in PyTorch on the CPU or a GPU, without torch.compile; prints JSON.

    torch_step.py [--config config.json] [--batch 4] [--seq 256] [--threads 2] [--steps 5] [--warmup 2]
                  [--device cpu|cuda] [--dtype f32|bf16] [--attention sdpa|eager] [--adamw fused|foreach|loop]

Without --config the model is gpt2 with 124,439,808 parameters. A step is forward, backward, clipping of the
global norm and AdamW, on tokens already in memory; dropout is off; weights and tokens are random. The defaults
are PyTorch's fastest on a CPU without compilation: scaled_dot_product_attention and the fused optimizer. bf16 is
torch.autocast with f32 parameters. Needs torch and transformers (test/golden/requirements.txt).
"""

import argparse
import json
import os
import platform
import resource
import statistics
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", help="a config.json or a directory holding one; default: gpt2, 124M")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--attention", choices=("sdpa", "eager"), default="sdpa")
    parser.add_argument("--adamw", choices=("fused", "foreach", "loop"), default="fused")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    transformers.utils.logging.set_verbosity_error()
    config = (AutoConfig.from_pretrained(arguments.config, local_files_only=True) if arguments.config
              else AutoConfig.for_model("gpt2"))
    for key in vars(config):
        if key.endswith("_pdrop") or key in ("attention_dropout", "hidden_dropout", "resid_dropout"):
            setattr(config, key, 0.0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32,
                                             attn_implementation=arguments.attention).train().to(arguments.device)
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                                   {"params": vectors, "weight_decay": 0.0}],
                                  lr=3e-4, betas=(0.9, 0.95), eps=1e-8,
                                  fused=arguments.adamw == "fused", foreach=arguments.adamw == "foreach")
    stream = torch.randint(config.vocab_size, (arguments.batch * arguments.seq + 1,), device=arguments.device)
    inputs, targets = stream[:-1].view(arguments.batch, arguments.seq), stream[1:]

    milliseconds, losses = [], []
    for _ in range(arguments.warmup + arguments.steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(arguments.device, torch.bfloat16, enabled=arguments.dtype == "bf16"):
            logits = model(input_ids=inputs, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.float().view(-1, logits.shape[-1]), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        milliseconds.append((time.perf_counter() - begin) * 1e3)

    timed = milliseconds[arguments.warmup:]
    median = statistics.median(timed)
    print(json.dumps({
        "program": "pytorch", "torch": torch.__version__, "transformers": transformers.__version__,
        "python": platform.python_version(), "processor": torch.backends.cpu.get_cpu_capability(),
        "compile": False, "model_type": config.model_type,
        "parameters": sum(p.numel() for p in model.parameters()),
        "batch": arguments.batch, "seq": arguments.seq, "threads": arguments.threads,
        "device": arguments.device, "dtype": arguments.dtype,
        "attention": arguments.attention, "adamw": arguments.adamw, "dropout": 0.0,
        "warmup": arguments.warmup, "steps": arguments.steps,
        "step_ms": round(median, 3), "step_ms_min": round(min(timed), 3),
        "step_ms_all": [round(value, 3) for value in timed],
        "tokens_per_s": round(arguments.batch * arguments.seq / median * 1e3, 2),
        "process_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "first_loss": losses[0], "last_loss": losses[-1],
    }, indent=2))


if __name__ == "__main__":
    main()
