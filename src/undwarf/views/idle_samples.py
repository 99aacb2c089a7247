"""Removes the samples of idle CPUs."""

from array import array

from undwarf.profile.labels import is_kernel
from undwarf.profile.model import NONE, Profile

FUNCTIONS = frozenset({
    "acpi_idle_do_entry", "acpi_idle_enter", "acpi_processor_ffh_cstate_enter", "acpi_safe_halt", "amd_e400_idle",
    "arch_cpu_idle", "cpu_idle", "cpu_idle_poll", "cpu_startup_entry", "cpuidle_enter", "cpuidle_enter_state",
    "cpuidle_idle_call", "default_enter_idle", "default_idle", "default_idle_call", "do_idle", "enter_idle",
    "exit_idle", "haltpoll_cpuidle_enter_idle", "idle_cpu", "intel_idle", "intel_idle_ibrs", "intel_idle_irq",
    "intel_idle_s2idle", "mwait_idle", "mwait_idle_with_hints", "native_safe_halt", "poll_idle",
    "pseries_dedicated_idle_sleep", "psci_cpu_suspend_enter", "psw_idle", "psw_idle_exit", "pv_native_safe_halt",
    "cpu_do_idle", "ppc64_runlatch_off", "snooze_loop",
})  # fmt: skip
"""Kernel functions in which an idle CPU waits (``kernel/sched/idle.c``, ``drivers/idle``, ``drivers/cpuidle``, and
``symbol__is_idle`` in ``tools/perf/util/symbol.c``)."""


def without_idle(profile: Profile) -> Profile:
    """The profile without samples of the idle thread in one of ``FUNCTIONS``."""
    samples, of_node, of_frame = profile.samples.columns, profile.stacks.frame, profile.frames.function
    kernel = [is_kernel(image) for image in profile.images]
    idle = [
        image != NONE and kernel[image] and name.partition(".")[0] in FUNCTIONS
        for name, image in zip(profile.functions.name, profile.functions.image, strict=True)
    ]
    idle_thread = [name.partition("/")[0] == "swapper" for name in profile.comms]
    busy = [
        number
        for number, (comm, node) in enumerate(zip(samples.comm, samples.stack, strict=True))
        if comm == NONE or not idle_thread[comm] or (node != NONE and not idle[of_frame[of_node[node]]])
    ]
    return profile.derived(samples=samples.rows(memoryview(array("I", busy))))
