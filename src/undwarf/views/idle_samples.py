"""Removes the samples of idle CPUs."""

from array import array
from dataclasses import fields

from undwarf.perfdata.ordering import take
from undwarf.profile.labels import is_kernel
from undwarf.profile.model import NONE, Profile, SampleColumns

FUNCTIONS = frozenset({
    "acpi_idle_do_entry", "acpi_idle_enter", "acpi_processor_ffh_cstate_enter", "acpi_safe_halt", "amd_e400_idle",
    "arch_cpu_idle", "cpu_idle", "cpu_idle_poll", "cpu_startup_entry", "cpuidle_enter", "cpuidle_enter_state",
    "cpuidle_idle_call", "default_enter_idle", "default_idle", "default_idle_call", "do_idle", "enter_idle",
    "exit_idle", "haltpoll_cpuidle_enter_idle", "idle_cpu", "intel_idle", "intel_idle_ibrs", "intel_idle_irq",
    "intel_idle_s2idle", "mwait_idle", "mwait_idle_with_hints", "native_safe_halt", "poll_idle",
    "pseries_dedicated_idle_sleep", "psci_cpu_suspend_enter", "psw_idle", "psw_idle_exit", "pv_native_safe_halt",
    "cpu_do_idle", "ppc64_runlatch_off", "snooze_loop",
})  # fmt: skip
"""Functions of the kernel in which a CPU waits for work (``kernel/sched/idle.c``, the drivers of ``drivers/idle`` and
``drivers/cpuidle``, and those that perf leaves out, ``symbol__is_idle`` in ``tools/perf/util/symbol.c``)."""


def busy_rows(profile: Profile) -> memoryview:
    """The numbers (I) of the samples in which a CPU had something to do: those of the idle thread in one of
    ``FUNCTIONS`` are left out."""
    samples, of_node, of_frame = profile.samples.columns, profile.stacks.frame, profile.frames.function
    kernel = [is_kernel(image) for image in profile.images]
    idle = [
        image != NONE and kernel[image] and name.partition(".")[0] in FUNCTIONS
        for name, image in zip(profile.functions.name, profile.functions.image, strict=True)
    ]
    waiting = [name.partition("/")[0] == "swapper" for name in profile.comms]
    return memoryview(
        array(
            "I",
            [
                number
                for number, (comm, node) in enumerate(zip(samples.comm, samples.stack, strict=True))
                if comm == NONE or not waiting[comm] or (node != NONE and not idle[of_frame[of_node[node]]])
            ],
        )
    )


def only_rows(profile: Profile, rows: memoryview) -> Profile:
    """The profile with these samples alone."""
    before = profile.samples.columns
    columns = {field.name: getattr(before, field.name) for field in fields(before)}
    chosen = SampleColumns(**{name: take(column, rows) for name, column in columns.items() if column is not None})
    return profile.derived(samples=chosen)
