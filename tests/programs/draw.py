"""Draws kernels from packages by a written seed: `python tests/programs/draw.py FOLDER PACKAGE`.

Prints the package's modules that launch Triton kernels in the order drawn, each with one of its
kernels. The list in `sixty/` takes them from the front and names what it left out, with the reason.
"""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Iterator
from pathlib import Path

SEED = 20261123
TYPES = ("fp32", "fp16", "bf16")

# Parts of paths: other makers' devices, several devices, what is no part of the package's own work.
LEFT_OUT = {
    "liger_kernel": ("backends/", "cutile", "cute", "experimental"),
    "fla": ("ascend", "/cp/", "_cp.py", "backends/", "parallel"),
    "flag_gems": ("runtime/backend", "experimental_ops", "testing", "patches"),
    "unsloth": ("studio",),
    "torchao": ("/comms.py", "moe_training/ep/"),
    "vllm": ("/models/", "third_party/", "distributed/", "_xpu", "rocm", "aiter"),
    "sglang": ("srt/", "distributed/", "multimodal_gen/", "/test/", "kda_kernels", "kv_canary"),
    "torch": (),
}

# What `torch.compile` is given, for the package "compiled"; its kernels are made at run time.
COMPILED = (
    *("softmax", "layer_norm", "rms_norm", "group_norm", "batch_norm", "gelu_mlp", "silu_gate"),
    *("cross_entropy", "huber_loss", "rotary", "embedding_sum", "cumsum", "argmax", "max_pool2d"),
    *("causal_attention", "quantise_int8", "adam_step", "topk_mask", "dropout", "column_sums"),
)


def kernels(path: Path, *, by_name: bool = True) -> Iterator[str]:
    """The Triton kernels in a file, or (`by_name`) those that a function launches by their name."""
    tree = ast.parse(path.read_text())
    jitted: set[str] = set()
    launched: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(map(_compiles, node.decorator_list)):
            jitted.add(node.name)
        elif isinstance(node, ast.Assign) and "triton.jit(" in ast.unparse(node.value):
            jitted |= {name.id for name in node.targets if isinstance(name, ast.Name)}
        elif isinstance(node, ast.Call):
            function = node.func.value if isinstance(node.func, ast.Subscript) else node.func
            if isinstance(function, ast.Name):
                pointwise = not isinstance(node.func, ast.Subscript)
                launched.add(f"{function.id}()" if pointwise else function.id)
    pointwise_names = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any("pointwise_dynamic" in ast.unparse(one) for one in node.decorator_list)
    }
    for name in sorted(jitted):
        if not by_name or name in launched or (name in pointwise_names and f"{name}()" in launched):
            yield name


def _compiles(decorator: ast.expr) -> bool:
    text = ast.unparse(decorator)
    return text == "jit" or "triton.jit" in text or "triton_jit" in text


def draw(folder: Path, package: str) -> list[tuple[str, str, str]]:
    """Modules of a package in the order drawn: its path, one kernel, and a type to try first.

    Those whose kernels are launched by another name come last.
    """
    chance = random.Random(f"{SEED} {package}")
    drawn: list[tuple[str, str, str]] = []
    last: list[tuple[str, list[str]]] = []
    if package == "compiled":
        drawn = [(package, name, chance.choice(TYPES)) for name in COMPILED]
        return chance.sample(drawn, len(drawn))
    for path in sorted((folder / package).rglob("*.py")):
        inside = path.relative_to(folder).as_posix()
        if any(part in inside for part in LEFT_OUT[package]):
            continue
        try:
            names = list(kernels(path))
            others = [] if names else list(kernels(path, by_name=False))
        except SyntaxError:  # written for a newer Python
            continue
        if names:
            drawn.append((inside, chance.choice(names), chance.choice(TYPES)))
        elif others:
            last.append((inside, others))
    chance.shuffle(drawn)
    chance.shuffle(last)
    return drawn + [(path, chance.choice(names), chance.choice(TYPES)) for path, names in last]


def main() -> None:
    folder, package = Path(sys.argv[1]), sys.argv[2]
    for module, kernel, dtype in draw(folder, package):
        print(f"{module} {kernel} {dtype}")


if __name__ == "__main__":
    main()
