"""Symbols of all languages from any bytes: each stays or gets a name within the limits, in a bounded time."""

import time

from mutate import main

from undwarf.limits import Limits
from undwarf.symbols.demangle import demangle_all, demangle_own

LIMITS = Limits(demangle_output=2000)
SECONDS = 0.5
"""For one name. The slowest took 10 ms; a machine may be busy."""


def one_input(data: bytes) -> None:
    """A symbol, as of an image with code of all languages, and of one with none of them."""
    name = data.decode("latin-1")
    start = time.thread_time()
    found = [demangle_all([name], LIMITS), demangle_own([name], lambda _language: True, LIMITS)]
    took = time.thread_time() - start
    assert took < SECONDS, f"{took:.2f} s for one name"
    for (text,) in found:
        assert text == name or 0 < len(text) <= LIMITS.demangle_output + len(name), "names are limited"


def seeds() -> list[bytes]:
    """Names of each language, among them what refers to itself or to much."""
    return [
        b"_ZN4llvm13set_intersectINS_11SmallPtrSetIPNS_5ValueET0_Lj4EEES4_EEvRT_RKT0_",
        b"_Z1fIJT_EEvDpT_",
        b"_ZNSt6vectorIP1AE1fIJPNS0_1BEEEEvv",
        b"_Z1fIiEvNSt9enable_ifIXntsr3std7is_sameIT_vEE5valueES1_E4typeE",
        b"_ZZ3foovENKUlT_E0_clIiEEDaS_",
        b"_ZZ1fIJidEEvDpT_ENKUlvE_clEv.isra.0.cold",
        b"_ZN1AIiEcvT_IdEEv",
        b"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.123",
        b"_RINvC1a1fTllETB7_B7_EE",
        b"_D3std9algorithm8mutation__T10removeImplVEQBoQBnQBg12SwapStrategyi0TAAyaTlZQBvFNaNbNfQmlZQp",
        b"_D4core8internal7switch___T8__switchTyaVxAyaa1_61Vxa2_4142ZQuFNaNbNiNfMxAyaZi",
        b"$s8mangling12GenericUnionO3FooyACyxGSicAEmlF",
        b"$s4main5OuterV5InnerC3bar1a1bSiSS_SdtFTf4nnd_n",
        b"SYSTEM$_$TDOUBLEREC_$__$$_SETFRAC$QWORD$array_of_BYTE$$UNICODESTRING",
        b"camlStdlib__anon_fn$5bstdlib$2eml$3a334$2c0$2d$2d54$5d_1453",
        b"base_GHCziIOziException_zdfExceptionNonTerminationzuzdcshow_info",
        b"ghczmprim_GHCziTuple_Z3T_con_info",
        b"ada__strings__wide_maps__Oadd__3.part.0",
        b"pluspercentpercent___stdZprivateZdigits_9.constprop.0",
    ]


if __name__ == "__main__":
    main(one_input, seeds())
