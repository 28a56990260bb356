"""A transformers model of two layers with FlagGems in place of torch's operators."""

from __future__ import annotations

import flag_gems
import torch
from transformers import LlamaConfig, LlamaForCausalLM

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def main() -> None:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=1024,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    model = LlamaForCausalLM(config).to(DEVICE).eval()
    tokens = torch.arange(64, device=DEVICE)[None]
    with torch.no_grad(), flag_gems.use_gems():
        logits = model(tokens).logits
    print(f"checksum {float(logits.abs().sum()):.5e}")


if __name__ == "__main__":
    main()
