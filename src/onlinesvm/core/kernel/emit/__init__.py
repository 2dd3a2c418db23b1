"""Vector instructions, written as LLVM IR where Numba does not find them by itself.

Everything here is an intrinsic: a function that compiled loops call and that emits its instructions in
their place. Each checks the layout and type of the arrays it is given (``layout``) when it is compiled,
and reads them through bare pointers. With ``NUMBA_DISABLE_JIT=1`` plain NumPy takes their place.
"""
