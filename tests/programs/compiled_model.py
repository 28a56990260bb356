"""Two layers of a transformer behind torch.compile, forward and backward."""

from __future__ import annotations

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":  # as docs/guides/torch_compile.md says
    import triton_rvv.inductor

    triton_rvv.inductor.register()


def main() -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 512, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(DEVICE)
    x = torch.randn(2, 128, 256, device=DEVICE)
    loss = torch.compile(model)(x).square().mean()
    loss.backward()
    print(f"loss {float(loss):.5f}")
    for name, parameter in list(model.named_parameters())[:4]:
        print(f"checksum {name} {float(parameter.grad.abs().sum()):.5e}")


if __name__ == "__main__":
    main()
