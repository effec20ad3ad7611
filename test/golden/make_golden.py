#!/usr/bin/env python3
"""Makes the golden values from PyTorch and Hugging Face transformers; see README.md beside this file.

    make_golden.py                      the training runs: one directory per model
    make_golden.py --only llama         one of them
    make_golden.py --models DIR         also import-counts.json and names-*.json, from DIR/*/config.json

Everything is a function of the seeds below. Run through make_golden.sh, which pins the versions.
"""

import argparse
import contextlib
import json
import math
import os
import platform
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # Nothing here may come from a hub.

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoConfig, AutoModelForCausalLM

HERE = Path(__file__).resolve().parent
TEXT = Path("/usr/share/common-licenses/Apache-2.0")

BATCH, SEQ = 4, 64
TOKENS = 5500  # 21.5 steps, so that the runs of 24 steps wrap once
STEPS, PAST_THE_END, SGD_STEPS = 20, 24, 10
SAMPLES = 8  # values given per gradient and per parameter

ADAMW = {"optimizer": "adamw", "lr": 3e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1,
         "weight_decay_on": "matrices", "clip_grad": 1.0, "lr_schedule": "constant", "warmup_steps": 0}
SGD = {"optimizer": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.0, "clip_grad": 1.0,
       "lr_schedule": "constant", "warmup_steps": 0}

# The spelling of the first, second and fourth is that of older checkpoints (torch_dtype, rope_theta,
# rope_scaling); the third is saved by transformers itself and carries the new one (dtype, rope_parameters).
MODELS = {
    "llama": {
        "seed": 1, "tokens": ("bytes", 0), "save_config": False,
        "config": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False,
            "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
            "hidden_size": 64, "initializer_range": 0.1, "intermediate_size": 160,
            "max_position_embeddings": 128, "mlp_bias": False, "num_attention_heads": 4,
            "num_hidden_layers": 2, "num_key_value_heads": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
            "rope_scaling": None, "rope_theta": 10000.0, "tie_word_embeddings": False,
            "torch_dtype": "float32", "transformers_version": "4.42.3", "use_cache": True,
            "vocab_size": 256,
        },
    },
    "llama-bias-tied": {
        "seed": 2, "tokens": ("bytes", 2000), "save_config": False,
        "config": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": True,
            "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": [2, 3], "head_dim": 24,
            "hidden_act": "silu", "hidden_size": 64, "initializer_range": 0.1, "intermediate_size": 160,
            "max_position_embeddings": 256, "mlp_bias": True, "num_attention_heads": 4,
            "num_hidden_layers": 2, "num_key_value_heads": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
            "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                             "original_max_position_embeddings": 32, "rope_type": "llama3"},
            "rope_theta": 500000.0, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
            "transformers_version": "4.42.3", "use_cache": True, "vocab_size": 251,
        },
    },
    "llama-linear": {
        "seed": 3, "tokens": ("markov", 3), "save_config": True,
        "config": {
            "model_type": "llama", "attention_bias": False, "hidden_size": 64, "initializer_range": 0.1,
            "intermediate_size": 160, "max_position_embeddings": 128, "mlp_bias": False,
            "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 4,
            "rms_norm_eps": 0.001, "dtype": "float32",
            "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 20000.0},
            "tie_word_embeddings": False, "vocab_size": 256,
        },
    },
    "gpt2": {
        "seed": 4, "tokens": ("bytes", 4000), "save_config": False,
        "config": {
            "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.0,
            "bos_token_id": 256, "embd_pdrop": 0.0, "eos_token_id": 256, "initializer_range": 0.1,
            "layer_norm_epsilon": 0.0001, "model_type": "gpt2", "n_ctx": 128, "n_embd": 64, "n_head": 4,
            "n_layer": 2, "n_positions": 128, "resid_pdrop": 0.0, "summary_activation": None,
            "summary_first_dropout": 0.0, "summary_proj_to_labels": True, "summary_type": "cls_index",
            "summary_use_proj": True, "vocab_size": 257,
        },
    },
}


# ---------------------------------------------------------------------------------------------------------
# Tokens
# ---------------------------------------------------------------------------------------------------------

def make_tokens(kind, parameter, vocabulary):
    """`bytes`: a licence text, its bytes mapped one to one onto ids so that the space, its most frequent
    byte, is the last id of the vocabulary (a shard's last row must be right). `markov`: every id has four
    successors, with probabilities 8:4:2:1."""
    if kind == "bytes":
        text = TEXT.read_bytes()[parameter:parameter + TOKENS]
        if vocabulary == 256:
            return torch.tensor(list(text))
        factor = (vocabulary - 1) * pow(32, -1, vocabulary) % vocabulary  # vocabulary is prime
        return torch.tensor([byte * factor % vocabulary for byte in text])
    generator = torch.Generator().manual_seed(parameter)
    successors = torch.randint(vocabulary, (vocabulary, 4), generator=generator)
    choices = torch.multinomial(torch.tensor([8.0, 4.0, 2.0, 1.0]), TOKENS, replacement=True,
                                generator=generator)
    # Now and then a jump, so that no cycle holds the chain and every id occurs.
    jumps = torch.rand(TOKENS, generator=generator) < 0.1
    anywhere = torch.randint(vocabulary, (TOKENS,), generator=generator)
    tokens, current = [], 0
    for i in range(TOKENS):
        current = int(anywhere[i]) if jumps[i] else int(successors[current, choices[i]])
        tokens.append(current)
    return torch.tensor(tokens)


def batch_at(tokens, step):
    """The next batch x seq tokens after those consumed, row by row; targets one on; wrapping at the end."""
    positions = step * BATCH * SEQ + torch.arange(BATCH * SEQ)
    return (tokens[positions % len(tokens)].view(BATCH, SEQ),
            tokens[(positions + 1) % len(tokens)].view(BATCH, SEQ))


# ---------------------------------------------------------------------------------------------------------
# Precision
# ---------------------------------------------------------------------------------------------------------

class OnlyDouble(TorchDispatchMode):
    """Fails when an operation makes a floating-point tensor that is not f64."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for value in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                assert value.dtype is _F64, f"{function} made {value.dtype}"
        return result


_F32, _F64 = torch.float32, torch.float64


@contextlib.contextmanager
def precision(name):
    """The models name float32 outright in norms, softmax, rotary tables and the loss. In an f64 run these
    are f64 too, and OnlyDouble holds us to it."""
    if name == "bf16_autocast":
        with torch.autocast("cpu", torch.bfloat16):
            yield
    elif name == "f64":
        saved = torch.Tensor.float
        torch.float32 = torch.float = _F64
        torch.Tensor.float = torch.Tensor.double
        torch.set_default_dtype(_F64)
        try:
            with OnlyDouble():
                yield
        finally:
            torch.float32 = torch.float = _F32
            torch.Tensor.float = saved
            torch.set_default_dtype(_F32)
    else:
        yield


def make_model(config, weights, name):
    """A model with the parameters `weights`, in f64 for an f64 run and otherwise in f32."""
    if name == "f64":
        with precision("f64"):
            model = AutoModelForCausalLM.from_config(config, dtype=_F64, attn_implementation="eager")
    else:
        model = AutoModelForCausalLM.from_config(config, dtype=_F32, attn_implementation="eager")
    if weights is not None:
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                parameter.copy_(weights[key])
    return model.train()


def loss_of(model, inputs, targets, name):
    """The sum over valid targets divided by their count (all are valid here), from f32 or f64 logits."""
    with precision(name):
        if name == "bf16_compute":
            compute = {key: value.to(torch.bfloat16) for key, value in model.named_parameters()}
            logits = torch.func.functional_call(model, compute, (), {"input_ids": inputs,
                                                                     "use_cache": False}).logits
        else:
            logits = model(input_ids=inputs, use_cache=False).logits
        return torch.nn.functional.cross_entropy(logits.float().view(-1, logits.shape[-1]),
                                                 targets.view(-1), ignore_index=-1)


# ---------------------------------------------------------------------------------------------------------
# Training
# ---------------------------------------------------------------------------------------------------------

def make_optimizer(model, recipe):
    if recipe["optimizer"] == "sgd":
        return torch.optim.SGD(model.parameters(), lr=recipe["lr"], momentum=recipe["momentum"],
                               foreach=False)
    least = 2 if recipe["weight_decay_on"] == "matrices" else 0
    matrices = [p for p in model.parameters() if p.dim() >= least]
    vectors = [p for p in model.parameters() if p.dim() < least]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": recipe["weight_decay"]},
                              *([{"params": vectors, "weight_decay": 0.0}] if vectors else [])],
                             lr=recipe["lr"], betas=tuple(recipe["betas"]), eps=recipe["eps"], foreach=False)


def train(config, weights, tokens, recipe, steps, name):
    """Losses, pre-clipping norms, the gradients of the first step (before clipping), the last parameters."""
    model = make_model(config, weights, name)
    optimizer = make_optimizer(model, recipe)
    losses, norms, gradients = [], [], None
    for step in range(steps):
        inputs, targets = batch_at(tokens, step)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, inputs, targets, name)
        loss.backward()
        if gradients is None:
            gradients = {key: p.grad.detach().clone() for key, p in model.named_parameters()}
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), recipe["clip_grad"])
        optimizer.step()
        losses.append(loss.item())
        norms.append(norm.item())
    return losses, norms, gradients, {key: p.detach() for key, p in model.named_parameters()}


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------

def rounded(value):
    """12 digits: an f32 needs 9, and for f64 runs no comparison uses more."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return value


def write_json(path, document):
    """Indented, but a list of numbers stays on its line."""
    def lines(value, indent):
        pad = "  " * indent
        if isinstance(value, dict) and value:
            items = [f'{pad}  {json.dumps(k)}: {lines(v, indent + 1)}' for k, v in value.items()]
            return "{\n" + ",\n".join(items) + f"\n{pad}}}"
        if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
            return "[\n" + ",\n".join(f"{pad}  {lines(v, indent + 1)}" for v in value) + f"\n{pad}]"
        return json.dumps(value)
    path.write_text(lines(rounded(document), 0) + "\n")


def sample_indices(count):
    return sorted({i * (count - 1) // (SAMPLES - 1) for i in range(SAMPLES)})


def samples(tensor, indices):
    return [float(tensor.reshape(-1)[i]) for i in indices]


def config_of(document, directory):
    """Through a file, as a user's config.json is read."""
    (directory / "config.json").write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
    return AutoConfig.from_pretrained(directory, local_files_only=True)


def initial_weights(config, seed):
    """As transformers initializes (matrices N(0, initializer_range)), then norm weights around 1 and biases
    around 0, so that a wrong, missing or doubled one of them shows."""
    torch.manual_seed(seed)
    model = make_model(config, None, "f32")
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if parameter.dim() >= 2:
                continue
            noise = torch.randn_like(parameter)
            parameter.copy_(0.1 * noise if key.endswith("bias") else 1.0 + 0.2 * noise)
    return {key: p.detach().clone() for key, p in model.named_parameters()}


def mistakes(document, weights, tokens, directory, right_losses):
    """What typical mistakes cost, in f64: those of an importer in the first step's loss, global norm and the
    gradient that differs most, relative; those of an optimizer in the loss that differs most of 20 steps.
    A test's tolerance must be well below."""
    def run(name, changes=None, change_weights=None):
        changed = {**document, **(changes or {})}
        config = config_of(changed, scratch)
        used = {key: (change_weights(key, value) if change_weights else value) for key, value in weights.items()}
        losses, norms, gradients, _ = train(config, used, tokens, SGD, 1, "f64")
        if not right:
            right.update(loss=losses[0], grad_norm=norms[0], gradients=gradients)
            return
        result[name] = {
            "loss": abs(losses[0] / right["loss"] - 1),
            "grad_norm": abs(norms[0] / right["grad_norm"] - 1),
            "gradient": max((g - right["gradients"][key]).norm().item() / right["gradients"][key].norm().item()
                            for key, g in gradients.items())}

    def optimize(name, **changes):
        losses = train(config_of(document, scratch), weights, tokens, {**ADAMW, **changes}, STEPS, "f64")[0]
        result[name] = {"later_loss": max(abs(a / b - 1) for a, b in zip(losses, right_losses))}

    def without(*parts):
        return lambda key, value: torch.zeros_like(value) if key.endswith(parts) else value

    def norms_as(number):
        def change(key, value):
            is_norm = value.dim() < 2 and key.endswith("weight")
            return torch.full_like(value, number) if is_norm else value
        return change

    right, result = {}, {}
    scratch = directory / "scratch"
    scratch.mkdir(exist_ok=True)
    run("none")
    optimize("weight decay on all", weight_decay_on="all")
    optimize("no weight decay", weight_decay=0.0)
    optimize("no clipping", clip_grad=math.inf)
    optimize("eps 1e-6", eps=1e-6)
    optimize("betas 0.9,0.999", betas=[0.9, 0.999])
    if document["model_type"] == "llama":
        theta = document.get("rope_parameters", document).get("rope_theta")
        plain = {"rope_scaling": None, "rope_parameters": {"rope_type": "default", "rope_theta": theta}}
        if document.get("rope_scaling") or "rope_parameters" in document:
            run("rope scaling ignored", plain)
        if theta != 10000.0:
            other = {key: dict(document[key]) for key in ("rope_parameters",) if key in document}
            other.get("rope_parameters", other)["rope_theta"] = 10000.0
            run("rope_theta ignored", other)
        run("norm epsilon 1e-6", {"rms_norm_eps": 1e-6})
        run("norm weights 1", change_weights=norms_as(1.0))
        if document.get("attention_bias"):
            for part in ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"):
                run(f"{part}.bias 0", change_weights=without(f"{part}.bias"))
    else:
        run("norm epsilon 1e-5", {"layer_norm_epsilon": 1e-5})
        run("gelu by erf", {"activation_function": "gelu"})
        run("norm weights 1", change_weights=norms_as(1.0))
        for part in ("ln_1", "ln_2", "ln_f", "c_attn", "c_proj", "c_fc"):
            run(f"{part}.bias 0", change_weights=without(f"{part}.bias"))
        run("positions 0", change_weights=without("wpe.weight"))
    (scratch / "config.json").unlink()
    scratch.rmdir()
    return result


def make_training(name, description):
    directory = HERE / name
    directory.mkdir(exist_ok=True)
    document = description["config"]
    config = config_of(document, directory)
    weights = initial_weights(config, description["seed"])
    tokens = make_tokens(*description["tokens"], document["vocab_size"])
    assert 0 <= int(tokens.min()) and int(tokens.max()) < document["vocab_size"]
    assert name == "llama" or int(tokens.max()) == document["vocab_size"] - 1  # plain bytes end at 127
    (directory / "tokens.bin").write_bytes(tokens.numpy().astype("<u2").tobytes())

    if description["save_config"]:
        make_model(config, weights, "f32").save_pretrained(directory)
        (directory / "generation_config.json").unlink(missing_ok=True)
        saved = load_file(directory / "model.safetensors")
        assert saved.keys() == weights.keys() and all(torch.equal(saved[k], weights[k]) for k in saved)
    else:
        # named_parameters lists a tied table once, under its first name, as save_pretrained writes it.
        save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "model.safetensors").chmod(0o644)
    loaded, info = AutoModelForCausalLM.from_pretrained(directory, local_files_only=True, dtype=_F32,
                                                        output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"], info
    assert all(torch.equal(p, weights[k]) for k, p in loaded.named_parameters())

    runs, first = {}, {}
    for precision_name in ("f64", "f32", "bf16_autocast", "bf16_compute"):
        losses, norms, gradients, _ = train(config, weights, tokens, ADAMW, PAST_THE_END, precision_name)
        runs[precision_name] = (losses, norms)
        first[precision_name] = gradients
    sgd = {p: train(config, weights, tokens, SGD, SGD_STEPS, p) for p in ("f64", "f32")}

    # The oracle's own check: another attention implementation in f32 agrees on the first step.
    sdpa = AutoModelForCausalLM.from_config(config, dtype=_F32, attn_implementation="sdpa")
    sdpa.load_state_dict(make_model(config, weights, "f32").state_dict())
    difference = abs(loss_of(sdpa.train(), *batch_at(tokens, 0), "f32").item() - runs["f64"][0][0])
    assert difference < 2e-6, difference

    gradients = {}
    for key, value in first["f64"].items():
        indices = sample_indices(value.numel())
        gradients[key] = {
            "shape": list(value.shape),
            "norm": {p: first[p][key].to(_F64).norm().item() for p in runs},
            "max_abs": value.abs().max().item(),
            "indices": indices,
            "values": samples(value, indices),
        }
    parameters_after = {}
    for key, value in sgd["f64"][3].items():
        indices = sample_indices(value.numel())
        parameters_after[key] = {"shape": list(value.shape), "norm": value.norm().item(),
                                 "indices": indices, "values": samples(value, indices)}

    def curves(begin, end):
        return {p: {"loss": losses[begin:end], "grad_norm": norms[begin:end]}
                for p, (losses, norms) in runs.items()}

    write_json(directory / "golden.json", {
        "schema": "ulsc.golden/1",
        "model": name,
        "parameters": sum(value.numel() for value in weights.values()),
        "made_with": {"torch": torch.__version__, "transformers": transformers.__version__,
                      "python": platform.python_version(), "attention": "eager",
                      "threads": torch.get_num_threads()},
        "data": {"tokens": "tokens.bin", "count": TOKENS, "batch": BATCH, "seq": SEQ, "shuffle": False},
        "dropout": 0.0,
        "adamw": {"recipe": {**ADAMW, "steps": STEPS}, **curves(0, STEPS)},
        "adamw_past_the_end": {"first_step": STEPS, "first_wrapping_step": TOKENS // (BATCH * SEQ),
                               **curves(STEPS, PAST_THE_END)},
        "sgd": {"recipe": {**SGD, "steps": SGD_STEPS},
                **{p: {"loss": sgd[p][0], "grad_norm": sgd[p][1]} for p in sgd},
                "parameters_after": parameters_after},
        "step0_gradients": gradients,
        "mistakes": mistakes(document, weights, tokens, directory, runs["f64"][0]),
    })

    def furthest(index, other):
        return max(abs(a - b) / abs(b) for a, b in zip(runs[other][index][:STEPS], runs["f64"][index]))
    print(f"{name}: loss {runs['f64'][0][0]:.4f} -> {runs['f64'][0][STEPS - 1]:.4f}; relative to f64: "
          + "; ".join(f"{p} loss {furthest(0, p):.1e} norm {furthest(1, p):.1e}"
                      for p in runs if p != "f64"), flush=True)


# ---------------------------------------------------------------------------------------------------------
# Names and counts
# ---------------------------------------------------------------------------------------------------------

def formula(config):
    """Parameters by the arithmetic of the architecture, a tied table once. Only llama and gpt2."""
    if config["model_type"] == "gpt2":
        n, inner = config["n_embd"], config.get("n_inner") or 4 * config["n_embd"]
        layer = 2 * 2 * n + (n * 3 * n + 3 * n) + (n * n + n) + (n * inner + inner) + (inner * n + n)
        tied = config.get("tie_word_embeddings", True)
        return (config["vocab_size"] * n * (1 if tied else 2) + config["n_positions"] * n
                + config["n_layer"] * layer + 2 * n)
    h, f, heads = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or heads
    d = config.get("head_dim") or h // heads
    q, k = heads * d, kv * d
    layer = h * q + 2 * h * k + q * h + 3 * h * f + 2 * h
    if config.get("attention_bias"):
        layer += q + 2 * k + h
    if config.get("mlp_bias"):
        layer += 2 * f + h
    tied = config.get("tie_word_embeddings", False)
    return config["vocab_size"] * h * (1 if tied else 2) + config["num_hidden_layers"] * layer + h


def make_names(models):
    def on_meta(directory):
        config = AutoConfig.from_pretrained(directory, local_files_only=True)
        with torch.device("meta"):
            return config, AutoModelForCausalLM.from_config(config, dtype=_F32)

    counts, names = {}, {"llama": {}, "gpt2": {}}
    for path in sorted(models.glob("*/config.json")):
        name, document = path.parent.name, json.loads(path.read_text())
        _, model = on_meta(path.parent)
        family = document["model_type"]
        parameters = dict(model.named_parameters())  # a tied table once
        count = sum(p.numel() for p in parameters.values())
        if family in names:
            assert count == formula(document), (name, count, formula(document))
            counts[name] = {"model_type": family, "parameters": count,
                            "tied": "lm_head.weight" not in parameters, "config": document}
        else:
            print(f"{name} ({family}): {count:,}, not recorded")
    for directory in [models / name for name in counts] + [HERE / name for name in MODELS]:
        config, model = on_meta(directory)
        # The small models share names with families and published models.
        name = directory.name if directory.parent == models else f"golden/{directory.name}"
        parameters = {key: list(p.shape) for key, p in sorted(model.named_parameters())}
        aliases = sorted(set(key for key, _ in model.named_parameters(remove_duplicate=False)) - set(parameters))
        layers = [key for key in parameters if ".h." in key or ".layers." in key]
        entry = {"parameters": sum(math.prod(s) for s in parameters.values()),
                 "layers": config.num_hidden_layers,
                 "tied": {alias: next(k for k in parameters if "embed_tokens" in k or "wte" in k)
                          for alias in aliases},
                 "layer_0": {k: parameters[k] for k in layers if ".h.0." in k or ".layers.0." in k},
                 "others": {k: s for k, s in parameters.items() if k not in layers}}
        if config.model_type == "gpt2":
            # The published gpt2 checkpoints hold the inner model's tensors: no prefix, and a causal mask
            # per layer that is no parameter.
            strip = {k: k.removeprefix("transformer.") for k in parameters}
            entry["checkpoint_layer_0"] = {strip[k]: parameters[k] for k in entry["layer_0"]}
            entry["checkpoint_others"] = {strip[k]: parameters[k] for k in entry["others"]}
            entry["checkpoint_not_parameters"] = {"h.0.attn.bias": [1, 1, config.n_positions, config.n_positions]}
        names[config.model_type][name] = entry
    write_json(HERE / "import-counts.json", {"schema": "ulsc.import-counts/1",
                                             "transformers": transformers.__version__, "models": counts})
    for family, entries in names.items():
        write_json(HERE / f"names-{family}.json", {"schema": "ulsc.names/1", "family": family,
                                                   "transformers": transformers.__version__, "models": entries})
    print("counts: " + ", ".join(f"{name} {c['parameters']:,}" for name, c in counts.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=sorted(MODELS), help="make only this model")
    parser.add_argument("--models", type=Path, help="directory of NAME/config.json for counts and names")
    parser.add_argument("--no-training", action="store_true", help="only counts and names")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if not arguments.no_training:
        for name in arguments.only or MODELS:
            make_training(name, MODELS[name])
    if arguments.models:
        make_names(arguments.models)


if __name__ == "__main__":
    main()
