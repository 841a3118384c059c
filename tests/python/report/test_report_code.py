"""The code of kernels, and the loop that is marked in it."""

import numpy as np
import tokamak as tk
from report_programs import f32
from tokamak import _assembly

LOOPS = """f:
	testq	%rsi, %rsi
	je	.L9
.L1:
	xorl	%eax, %eax
.L2:
	vaddps	(%rdi,%rax), %ymm0, %ymm0
	addq	$32, %rax
	cmpq	%rax, %rsi
	jne	.L2
	movss	%xmm0, (%rdx)
.L3:
	incq	%rcx
	jl	.L3
	decq	%r8
	jne	.L1
.L9:
	retq
"""


def test_loops_of_assembly():
    loops = _assembly.loops_of(LOOPS)
    assert [(loop.first, loop.last, loop.depth, loop.innermost) for loop in loops] == [
        (3, 15, 0, False),
        (5, 9, 1, True),
        (11, 13, 1, True),
    ]
    assert (loops[1].instructions, loops[1].vector_instructions) == (4, 1)
    assert _assembly.hot_loop(loops) == 1
    assert _assembly.loops_of("f:\n\tretq\n") == []
    assert _assembly.hot_loop([]) is None


def test_the_hot_loop_computes():
    x = np.ones(100_000, np.float32)
    (kernel,) = tk.jit(lambda x: np.maximum(np.exp(x) * x, 0)).explain(x).kernels
    loops = _assembly.loops_of(kernel.asm)
    hot = loops[_assembly.hot_loop(loops)]
    text = "\n".join(kernel.asm.splitlines()[hot.first : hot.last + 1])
    assert "mulps" in text
    assert "maxps" in text


def test_code_of_all_stages():
    def attend(q, k, v):
        s = q @ np.swapaxes(k, -1, -2)
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) @ v

    (kernel,) = tk.jit(attend).explain(*(f32(2, 70, 16) for _ in range(3))).kernels
    # One function for the softmax of a block of rows, one for what comes after the second product.
    assert kernel.asm.count(".globl") == kernel.llvm.count("\ndefine ") == 2
