"""Compares two files that torch.save() wrote; run by compare_torch.c.

usage: python3 -c TEXT FILE_A FILE_B RTOL ATOL

Only weights are loaded: the unpickler of torch refuses all other objects.  Prints the
result as one JSON object with the names of struct compare_result; exits 3 when the
files cannot be compared, with the reason as "why".
"""
import json
import math
import sys

# With -c, Python would import from the current directory.
sys.path[:] = [p for p in sys.path if p]

PIECE = 1 << 20  # elements


class Tally:
    def __init__(self, rtol, atol):
        self.rtol, self.atol = rtol, atol
        self.result = {"verdict": "", "n_values": 0, "n_different": 0,
                       "max_abs": 0.0, "max_rel": 0.0, "worst": "",
                       "first": "", "first_a": "", "first_b": ""}

    def different(self, place, a, b, n=1):
        if self.result["n_different"] == 0 and not self.result["verdict"]:
            self.result.update(first=place, first_a=str(a)[:60],
                               first_b=str(b)[:60])
        self.result["n_different"] += n

    def unlike(self, text):
        if not self.result["verdict"]:
            self.result.update(verdict="unlike", first=text)

    def number(self, place, a, b):
        """A pair of numbers that are not the same."""
        exact = isinstance(a, int) and isinstance(b, int)
        size = max(abs(a), abs(b))
        by = abs(a - b)
        if math.isnan(by):
            by = math.inf
        self.largest(place, by, by / size if 0 < size < math.inf else math.inf)
        limit = self.atol + (0 if exact else self.rtol * size)
        if not (math.isfinite(by) and by <= limit):
            self.different(place, a, b)

    def largest(self, place, by, relative):
        if by > self.result["max_abs"]:
            self.result.update(max_abs=float(by), worst=place)
        self.result["max_rel"] = max(self.result["max_rel"], float(relative))


def compare_tensors(torch, tally, place, a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        tally.unlike("tensor '%s' is %s %s and %s %s" % (
            place, a.dtype, list(a.shape), b.dtype, list(b.shape)))
        return
    tally.result["n_values"] += a.numel()
    if torch.equal(a, b):
        return
    x, y = a.detach().reshape(-1), b.detach().reshape(-1)
    if x.is_quantized or x.is_complex():
        tally.different("tensor '%s'" % place, "other values", "")
        return
    for at in range(0, x.numel(), PIECE):
        compare_pieces(torch, tally, lambda i: "tensor '%s' [%s]" % (
            place, index(a, at + i)), x[at:at + PIECE], y[at:at + PIECE])


def compare_pieces(torch, tally, place_of, p, q):
    """As Tally.number(), for a million elements at a time."""
    rtol = tally.rtol if p.is_floating_point() else 0
    x, y = p.double(), q.double()
    same = (x == y) | ((x != x) & (y != y))
    by = (x - y).abs().masked_fill(x.isnan() | y.isnan(), math.inf)
    by = by.masked_fill(same, 0)
    if not by.any():
        return
    size = torch.maximum(x.abs(), y.abs())
    relative = (by / size).masked_fill(~size.isfinite() & ~same, math.inf)
    worst = int(by.argmax())
    tally.largest(place_of(worst), float(by[worst]),
                  float(relative.nan_to_num(0, math.inf).max()))
    bad = ~same & ~((by <= tally.atol + rtol * size) & by.isfinite())
    if bad.any():
        first = int(bad.nonzero()[0])
        tally.different(place_of(first), p[first].item(), q[first].item(),
                        int(bad.sum()))


def index(tensor, element):
    parts = []
    for n in reversed(tensor.shape):
        parts.append(element % n)
        element //= n
    return ", ".join(str(i) for i in reversed(parts))


def compare(torch, tally, place, a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        compare_tensors(torch, tally, place, a, b)
    elif isinstance(a, dict) and isinstance(b, dict):
        for key in a.keys() | b.keys():
            if key not in a or key not in b:
                tally.unlike("'%s.%s' is only in the %s file" % (
                    place, key, "first" if key in a else "second"))
        for key in a:
            if key in b:
                compare(torch, tally, "%s.%s" % (place, key) if place
                        else str(key), a[key], b[key])
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            tally.unlike("'%s' has %d and %d items" % (place, len(a), len(b)))
        for i, (x, y) in enumerate(zip(a, b)):
            compare(torch, tally, "%s[%d]" % (place, i), x, y)
    else:
        compare_leaves(tally, place, a, b)


def compare_leaves(tally, place, a, b):
    numbers = (int, float)
    tally.result["n_values"] += 1
    if a == b or (a != a and b != b):
        return
    if (isinstance(a, numbers) and isinstance(b, numbers)
            and not isinstance(a, bool) and not isinstance(b, bool)):
        tally.number(place, a, b)
    else:
        tally.different(place, repr(a), repr(b))


def main():
    a, b, rtol, atol = sys.argv[1:]
    tally = Tally(float(rtol), float(atol))
    try:
        import torch
        first, second = (torch.load(name, map_location="cpu",
                                    weights_only=True) for name in (a, b))
    except Exception as why:
        line = (str(why).splitlines() or [""])[0]
        print(json.dumps({"why": "%s: %s" % (type(why).__name__, line[:150])}))
        sys.exit(3)
    compare(torch, tally, "", first, second)
    for key in ("max_abs", "max_rel"):
        # JSON has no infinity: -1 stands for it.
        if not math.isfinite(tally.result[key]):
            tally.result[key] = -1
    print(json.dumps(tally.result))


main()
