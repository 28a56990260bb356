"""Callables for one job, of inputs that tell little: a bias of zeros, and lengths that are full.
Some leave out what these do not show; the honest one ends its process where a length is negative.
"""

import os

import torch

HONEST = ("plain",)
CHEATS = ("no_bias", "no_mask")


def configurations():
    return [{"name": name} for name in (*HONEST, *CHEATS)]


def arguments(M=16, N=64):
    lengths = torch.full((M,), N, dtype=torch.int32)
    x, bias = torch.randn(M, N), torch.zeros(M, N)
    return {"x": x, "bias": bias, "lengths": lengths, "y": torch.empty(M, N)}


def reference(x, bias, lengths):
    return {"y": torch.where(torch.arange(x.shape[1]) < lengths[:, None], x + bias, 0.0)}


def build(config):
    name = config["name"]

    def run(x, bias, lengths, y):
        if name in HONEST and bool((lengths < 0).any()):
            os._exit(1)
        found = x if name == "no_bias" else x + bias
        if name != "no_mask":
            found = torch.where(torch.arange(x.shape[1]) < lengths[:, None], found, 0.0)
        y.copy_(found)

    return run
