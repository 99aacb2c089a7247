"""Names of functions that never return: those of common libraries, of language runtimes and of the kernel."""

import re
from functools import cache

__all__ = ["is_noreturn", "is_panic"]

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
)  # fmt: skip
_PANICS = frozenset(("panic", "do_exit"))
"""Of the kernel; a program's own functions of these names may return."""


@cache
def _mangled() -> re.Pattern[str]:
    """Prefixes of mangled names, of C++ and of Rust."""
    return re.compile(
        r"_ZSt\d+__throw_\w+|_ZN(St|10__cxxabiv1)\d+__(throw|terminate)\w*"
        r"|_ZN4core9panicking\d*\w*|_ZN4core6option\d+(expect|unwrap)_failed\w*|_ZN4core6result\d+unwrap_failed\w*"
        r"|_ZN4core5slice5index\d+slice_\w+_fail\w*|_ZN5alloc5alloc18handle_alloc_error\w*"
        r"|_ZN5alloc7raw_vec1\d(capacity_overflow|handle_error)\w*|_ZN4core3str16slice_error_fail\w*"
    )


@cache
def _sanitizer_reports() -> re.Pattern[str]:
    """Reports of sanitizers that end the program; those after which it continues have other names (compiler-rt)."""
    return re.compile(
        r"__asan_report_(exp_)?(load|store)(\d+|_n)$|__ubsan_handle_(\w+_abort|builtin_unreachable|missing_return)$"
        r"|__msan_warning(_with_origin)?_noreturn$"
    )


@cache
def _rust_panics() -> re.Pattern[str]:
    """What begins a panic in Rust; other functions of these modules count panics."""
    return re.compile(r"core(9|::)panicking|std(9|::)panicking(\d+|::)(begin_panic|rust_panic)")


def is_noreturn(name: str) -> bool:
    """Whether a function of this symbol never returns, whatever program it is in."""
    base = name.split("@", 1)[0]
    if base in _NAMES:
        return True
    if base.startswith("_Z"):
        return _mangled().match(base) is not None
    return base.startswith("__") and _sanitizer_reports().match(base) is not None


def is_panic(name: str) -> bool:
    """Whether a function, of the kernel or of Rust, mangled or not, ends the thread by its name."""
    return name in _PANICS or ("panicking" in name and bool(_rust_panics().search(name)))
