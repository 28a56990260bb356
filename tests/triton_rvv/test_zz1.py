import numpy as np, triton, triton.language as tl, pytest
from qemu_kernels import Expected
@triton.jit
def widen_kernel(o, b, s, N: tl.constexpr):
    i = tl.arange(0, N)
    x = b + i * s
    tl.store(o + i, x.to(tl.int64))
    tl.store(o + N + i, (x.to(tl.int64) * 3 + 7))
    tl.store(o + 2*N + i, tl.where(x.to(tl.int64) < 1000, 1, 0))
    tl.store(o + 3*N + i, (x.to(tl.float32)).to(tl.int64))
    tl.store(o + 4*N + i, x % 1000)
    tl.store(o + 5*N + i, x // 1000)
    tl.store(o + 6*N + i, tl.minimum(x, 5))
    tl.store(o + 7*N + i, tl.where(x < 77, 1, 0))
    tl.store(o + 8*N + i, x.to(tl.uint32).to(tl.int64))
    tl.store(o + 9*N + i, x.to(tl.int8).to(tl.int64))
    tl.store(o + 10*N + i, x.to(tl.uint16).to(tl.int64))
    tl.store(o + 11*N + i, tl.cumsum(x.to(tl.int64)))
    tl.store(o + 12*N + i, tl.sum(x.to(tl.int64)) + 0*i)
    tl.store(o + 13*N + i, (x + 1).to(tl.int64)[:, None].broadcast_to((N, 2)).reshape(2*N).to(tl.int32).reshape(N,2).sum(1))

@pytest.mark.parametrize("b,s", [(2_000_000_000, 123_456_789), (2**31-20, 1), (2**31-200, 1),(-2**31, -1),(-2**31+5, -1),(5,3)])
@pytest.mark.parametrize("v", [128,256,1024])
def test_widen(run, b, s, v):
    N=64
    with np.errstate(over="ignore"):
        x = (np.int64(b) + np.arange(N)*np.int64(s)).astype(np.int32)
        w = x.astype(np.int64)
        tdiv = np.trunc(x / 1000).astype(np.int64)
        rows=[w, w*3+7, w<1000, x.astype(np.float32).astype(np.int64), w - tdiv*1000, tdiv, np.minimum(w,5), w<77, x.astype(np.uint32).astype(np.int64), x.astype(np.int8), x.astype(np.uint16), w.cumsum(), np.full(N, w.sum()), (2*(x+np.int32(1)))]
    run(widen_kernel, o=Expected(np.stack([r.astype(np.int64) for r in rows])), b=b, s=s, N=N, vlen_bits=v)

@triton.jit
def addr_kernel(x, o, b, s, n, N: tl.constexpr, M: tl.constexpr):
    r = tl.arange(0, M)[:, None]
    i = tl.arange(0, N)[None, :]
    off = b + r * s + i
    m = (off >= 0) & (off < n)
    v = tl.load(x + off, mask=m, other=-1)
    tl.store(o + r * N + i, v)
    tl.store(o + M * N + off, v + 1, mask=m)
    t = tl.sum(tl.load(x + off, mask=m, other=-1), 1)
    tl.store(o + M*N + n + tl.arange(0, M), t)

@pytest.mark.parametrize("b,s", [(2_000_000_000, 123_456_789*8), (2**31-200, 1073741824),(2**31-20, 2**31-1-40), (0, 64), (-2**31, -2**31), (-5,32)])
@pytest.mark.parametrize("v", [128,256,1024])
def test_addr(run, b, s, v):
    N,M,n=64,16,2000
    x=np.random.default_rng(0).integers(0,1000,n).astype(np.int32)
    off=(np.int64(b)+np.arange(M)[:,None]*np.int64(s)+np.arange(N)).astype(np.int32)
    m=(off>=0)&(off<n)
    if b != -2**31 and s not in(64,32): pass
    val=np.where(m, x[np.where(m,off,0)], -1)
    sc=np.zeros(n,np.int32)
    sc[off[m]]=val[m]+1
    start=np.zeros(M*N+n+M,np.int32)
    exp=np.concatenate([val.ravel(), sc, val.sum(1)]).astype(np.int32)
    run(addr_kernel, x=x, o=Expected(exp, start=start), b=b, s=s, n=n, N=N, M=M, vlen_bits=v)
