"""The plain call of the cross entropy of each row."""

from kernels.plain_calls.call import Array, PlainCall

__all__ = ["CALL"]

CALL = PlainCall(
    meaning="loss[m] = log(sum over n of exp(logits[m, n])) - logits[m, labels[m]], or 0 for a "
    "label below 0",
    sizes={"M": "rows", "N": "classes"},
    arrays=(
        Array("logits", "logits_ptr", "input", lambda s: (s["M"], s["N"])),
        Array("labels", "labels_ptr", "classes, below N", lambda s: (s["M"],), dtype="i64"),
        Array("loss", "loss_ptr", "of each row", lambda s: (s["M"],), access="out", dtype="fp32"),
    ),
    integers=lambda s: {"M": s["M"], "N": s["N"]},
)
