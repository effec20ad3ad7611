#!/usr/bin/env python3
"""Times a training step of a llama in PyTorch's pipeline stages on gloo, one process a stage; prints JSON.

    torch_pipeline.py --config config.json [--layers 5,5] [--batch 8] [--microbatches 8] [--seq 256] [--threads 1]
                      [--schedule 1F1B|GPipe] [--steps 5] [--warmup 2]

Starts a process for each number of `--layers`: the layers of a stage, embedding before the first and norm and head
after the last. A step is torch.distributed.pipelining's schedule over the microbatches, clipping of the global norm
(squares summed over the stages) and fused AdamW; dropout is off, weights and tokens are random, attention is
scaled_dot_product_attention. The model's tables must not be tied. Needs torch and transformers
(test/golden/requirements.txt).
"""

import argparse
import json
import os
import statistics
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from transformers import AutoConfig, AutoModelForCausalLM

SCHEDULES = {"1F1B": Schedule1F1B, "GPipe": ScheduleGPipe}


class Part(torch.nn.Module):
    """A stage of the model: token ids in, logits out, and activations between."""

    def __init__(self, model, first, last):
        super().__init__()
        body = model.model
        self.embedding = body.embed_tokens if first == 0 else None
        self.layers = torch.nn.ModuleList(body.layers[first:last])
        self.rotary = body.rotary_emb
        is_end = last == len(body.layers)
        self.norm, self.head = (body.norm, model.lm_head) if is_end else (None, None)

    def forward(self, value):
        if self.embedding is not None:
            value = self.embedding(value)
        positions = torch.arange(value.shape[1])[None]
        rotation = self.rotary(value, positions)
        for layer in self.layers:
            value = layer(value, attention_mask=None, position_ids=positions, position_embeddings=rotation)
            value = value[0] if isinstance(value, tuple) else value
        return value if self.head is None else self.head(self.norm(value))


def clip(parameters):
    """PyTorch's clipping, with the squares of all stages."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    total = torch.stack([g.square().sum() for g in gradients]).sum()
    dist.all_reduce(total)
    factor = torch.clamp(1.0 / (total.sqrt() + 1e-6), max=1.0)
    torch._foreach_mul_(gradients, factor)


def run(rank, arguments, layers, folder):
    torch.set_num_threads(arguments.threads)
    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=len(layers))
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(arguments.config, local_files_only=True)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="sdpa").train()
    first = sum(layers[:rank])
    part = Part(model, first, first + layers[rank])
    del model
    stage = PipelineStage(part, rank, len(layers), torch.device("cpu"))
    vocabulary = config.vocab_size

    def loss_of(logits, targets):
        return torch.nn.functional.cross_entropy(logits.view(-1, vocabulary), targets.reshape(-1))

    schedule = SCHEDULES[arguments.schedule](stage, arguments.microbatches, loss_fn=loss_of)
    parameters = list(part.parameters())
    optimizer = torch.optim.AdamW([{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
                                   {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}],
                                  lr=3e-4, betas=(0.9, 0.95), fused=True)
    stream = torch.randint(vocabulary, (arguments.batch * arguments.seq + 1,))
    inputs, targets = (part.view(arguments.batch, arguments.seq) for part in (stream[:-1], stream[1:]))
    milliseconds, losses = [], []
    for _ in range(arguments.warmup + arguments.steps):
        dist.barrier()
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        own = []
        if rank == 0:
            schedule.step(inputs)
        elif rank == len(layers) - 1:
            schedule.step(target=targets, losses=own)
        else:
            schedule.step()
        clip(parameters)
        optimizer.step()
        milliseconds.append((time.perf_counter() - begin) * 1e3)
        losses += [torch.stack(own).mean().item()] if own else []
    if rank == len(layers) - 1:
        timed = milliseconds[arguments.warmup:]
        print(json.dumps({
            "program": "pytorch", "torch": torch.__version__, "schedule": arguments.schedule, "layers": layers,
            "batch": arguments.batch, "microbatches": arguments.microbatches, "seq": arguments.seq,
            "threads": arguments.threads, "step_ms": round(statistics.median(timed), 3),
            "step_ms_all": [round(value, 3) for value in timed], "first_loss": losses[0], "last_loss": losses[-1],
        }, indent=2), flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True)
    parser.add_argument("--layers", default="5,5")
    parser.add_argument("--schedule", choices=SCHEDULES, default="1F1B")
    for name, default in (("batch", 8), ("microbatches", 8), ("seq", 256), ("threads", 1), ("steps", 5), ("warmup", 2)):
        parser.add_argument("--" + name, type=int, default=default)
    arguments = parser.parse_args()
    layers = [int(count) for count in arguments.layers.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(run, (arguments, layers, folder), nprocs=len(layers))


if __name__ == "__main__":
    main()
