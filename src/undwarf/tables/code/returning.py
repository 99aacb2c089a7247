"""Functions of common libraries that never return to their caller."""

import re
from functools import cache

__all__ = ["is_known"]

_NAMES = frozenset(
    {
        "abort", "exit", "_exit", "_Exit", "quick_exit", "__assert_fail", "__assert_perror_fail", "__assert",
        "__stack_chk_fail", "__stack_chk_fail_local", "__fortify_fail", "__chk_fail", "__libc_fatal",
        "__libc_message_impl", "longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "__libc_siglongjmp",
        "__libc_longjmp", "pthread_exit", "__pthread_exit", "thrd_exit", "err", "errx", "verr", "verrx",
        "__cxa_throw", "__cxa_rethrow", "__cxa_bad_cast", "__cxa_bad_typeid", "__cxa_throw_bad_array_new_length",
        "__cxa_throw_bad_array_length", "__cxa_pure_virtual", "__cxa_deleted_virtual", "__cxa_call_unexpected",
        "__cxa_call_terminate", "__clang_call_terminate", "_Unwind_Resume", "_Unwind_SjLj_Resume", "_ZSt9terminatev",
        "_ZSt10unexpectedv", "__libc_start_call_main", "__libc_start_main_impl", "__libc_start_main",
        "_dl_signal_error", "_dl_signal_exception", "_dl_fatal_printf", "__libc_unwind_longjmp", "rust_begin_unwind",
        "rust_panic", "rust_eh_unwind_resume", "__rust_start_panic_abort", "g_assertion_message",
        "g_assertion_message_expr", "g_assertion_message_cmpnum", "g_assertion_message_cmpstr", "Py_FatalError",
        "_Py_FatalErrorFunc", "Py_ExitStatusException", "__svfscanf_fail",
    }
)  # fmt: skip  # a table


@cache
def _shapes() -> re.Pattern[str]:
    """What mangled names of such functions begin with."""
    return re.compile(
        r"_ZSt\d+__throw_\w+|_ZN(St|10__cxxabiv1)\d+__(throw|terminate)\w*"
        r"|_ZN4core9panicking\d*\w*|_ZN4core6option\d+(expect|unwrap)_failed\w*|_ZN4core6result\d+unwrap_failed\w*"
        r"|_ZN4core5slice5index\d+slice_\w+_fail\w*|_ZN5alloc5alloc18handle_alloc_error\w*"
        r"|_ZN5alloc7raw_vec1\d(capacity_overflow|handle_error)\w*|_ZN4core3str16slice_error_fail\w*"
    )


@cache
def _reports() -> re.Pattern[str]:
    """Sanitizers' functions that end the program; those that let it go on are called otherwise (`compiler-rt`)."""
    return re.compile(
        r"__asan_report_(exp_)?(load|store)(\d+|_n)$|__ubsan_handle_(\w+_abort|builtin_unreachable|missing_return)$"
        r"|__msan_warning(_with_origin)?_noreturn$"
    )


def is_known(name: str) -> bool:
    """Whether a function of this name never returns."""
    base = name.split("@", 1)[0]
    if base in _NAMES:
        return True
    if base.startswith("_Z"):
        return _shapes().match(base) is not None
    return base.startswith("__") and _reports().match(base) is not None
