"""Compares the parameters of imported models with the names and shapes that transformers gives them.

usage: check_names.py ULSC GOLDEN_DIRECTORY SCRATCH
"""
import json
import os
import re
import subprocess
import sys

PARAM = re.compile(r'uls\.param @"?([^" ]+)"? : tensor<((?:\d+x)+)f32>(.*)')


def external_shapes(module):
    shapes = {}
    for name, sizes, rest in PARAM.findall(module):
        shape = [int(size) for size in sizes.split("x") if size]
        logical = re.search(r"logical_shape \[([\d, ]+)\]", rest)
        if logical:
            shape = [int(size) for size in logical[1].split(",")]
        external = re.search(r"external (\[\[.*?\]\])", rest)
        groups = json.loads(external[1]) if external else [[i] for i in range(len(shape))]
        shapes[name] = []
        for group in groups:
            size = 1
            for dim in group:
                size *= shape[dim]
            shapes[name].append(size)
    return shapes


def main():
    ulsc, golden, scratch = sys.argv[1:]
    os.makedirs(scratch, exist_ok=True)
    with open(os.path.join(golden, "import-counts.json")) as file:
        configs = {name: model["config"] for name, model in json.load(file)["models"].items()}
    failures = checked = 0
    for family in ("llama", "gpt2"):
        with open(os.path.join(golden, f"names-{family}.json")) as file:
            models = json.load(file)["models"]
        for model, expected in models.items():
            path = os.path.join(scratch, "config.json")
            if model.startswith("golden/"):
                path = os.path.join(golden, model.split("/")[1], "config.json")
            elif model in configs:
                with open(path, "w") as file:
                    json.dump(configs[model], file)
            else:
                continue
            command = [ulsc, "compile", path, "--seq", "32", "--batch", "2", "--emit=graph", "-o", "-"]
            module = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
            shapes = external_shapes(module)
            wanted = dict(expected["others"])
            for name, shape in expected["layer_0"].items():
                for layer in range(expected["layers"]):
                    wanted[re.sub(r"\.0\.", f".{layer}.", name, count=1)] = shape
            checked += 1
            if shapes != wanted:
                failures += 1
                for name in sorted(set(shapes) ^ set(wanted)):
                    print(f"{model}: {name} is only {'imported' if name in shapes else 'expected'}")
                for name in sorted(set(shapes) & set(wanted)):
                    if shapes[name] != wanted[name]:
                        print(f"{model}: {name} has shape {shapes[name]}, expected {wanted[name]}")
    print(f"{checked} models checked, {failures} differ")
    return 1 if failures or checked < 4 else 0


if __name__ == "__main__":
    sys.exit(main())
