"""The tables of a profile: what a row is, and the name, type and meaning of each column.

Numbers named after another table (``stack``, ``frame``, ``function``, ``image``, ``type``) are that table's ``id``;
the fourth entry of a column names the table whose rows it numbers.
docs/reference/tables.md is generated from these descriptions.
"""

from undwarf.arrow.table import ColumnDescription as Column
from undwarf.arrow.table import TableDescription

SAMPLES = TableDescription(
    "samples",
    "One row per sample, in the order of the profile.",
    (
        Column("id", "uint32", "number of the sample, as in `profile.samples[id]`", "samples"),
        Column("time", "int64", "ns of the recording's clock; null without times"),
        Column("pid", "int32", "process; null if it was not recorded"),
        Column("tid", "int32", "thread; null if it was not recorded"),
        Column("comm", "name", "name of the thread at that time; null if unknown"),
        Column("cpu", "int32", "CPU; null if it was not recorded"),
        Column("event", "name", "name of the event"),
        Column("period", "uint64", "weight in the event's own unit: cycles, ns, faults"),
        Column("stack", "uint32", "innermost stack node (`stacks.id`); null without frames", "stacks"),
        Column("name", "name", "function in which the sample was taken; null without frames"),
        Column("dso", "name", "file of that function; null if it is in no mapping"),
        Column("whole", "bool", "whether the user stack reaches its root; null if there was none to unwind"),
        Column("stop", "name", "why the user stack ends (`undwarf.StopReason`)"),
        Column("stop_dso", "name", "file in which the walk stopped; null if in none"),
        Column("ip", "uint64", "sampled run-time address; null if it was not recorded"),
        Column("addr", "uint64", "address of the accessed data; null if it was not recorded or is 0"),
        Column("weight", "uint64", "latency as the kernel writes it (packed: see `events`); null if no event has it"),
        Column("data_src", "uint64", "`perf_mem_data_src` bits; null if not recorded"),
        Column("phys_addr", "uint64", "physical address of the data; null if not recorded"),
        Column("data_page_size", "uint64", "bytes of the data's page; null if not recorded"),
        Column("code_page_size", "uint64", "bytes of the code's page; null if not recorded"),
        Column("cgroup", "uint64", "id of the control group; null if not recorded"),
    ),
)
STACKS = TableDescription(
    "stacks",
    "One row per node of the tree of stacks: a frame and its callers. Equal stacks are one node.",
    (
        Column("id", "uint32", "number of the node", "stacks"),
        Column("parent", "uint32", "node of the caller; null at a root", "stacks"),
        Column("frame", "uint32", "frame (`frames.id`)", "frames"),
        Column("depth", "uint32", "number of callers: 0 at a root"),
        Column("first", "uint32", "position in depth-first order", "stacks"),
        Column("last", "uint32", "position of the last node below it: `s` and those below have `first` from `s.first`"
                                 " to `s.last`", "stacks"),
        Column("recursive", "bool", "whether a caller is the same function (name and file): summing over the others"
                                    " counts each stack once per function"),
        Column("name", "name", "function of the frame"),
        Column("dso", "name", "file of the frame; null if it is in no mapping"),
    ),
)  # fmt: skip  # a table
STACK_FRAMES = TableDescription(
    "stack_frames",
    "One row per frame of each distinct stack of the samples, innermost first.",
    (
        Column("stack", "uint32", "stack (`samples.stack`)", "stacks"),
        Column("depth", "uint32", "0 for the innermost frame"),
        Column("frame", "uint32", "frame (`frames.id`)", "frames"),
    ),
)
STACK_WEIGHTS = TableDescription(
    "stack_weights",
    "One row per event and stack node with samples: sums over the samples. Weights of different events differ in unit.",
    (
        Column("stack", "uint32", "node (`stacks.id`)", "stacks"),
        Column("event", "name", "name of the event"),
        Column("name", "name", "function of the node"),
        Column("dso", "name", "file of the node; null if it is in no mapping"),
        Column("recursive", "bool", "whether a caller is the same function: sum `total` over the others"),
        Column("self", "uint64", "sum of periods of samples taken there"),
        Column("total", "uint64", "the same, with those taken in what it calls"),
        Column("self_samples", "uint64", "number of samples taken there"),
        Column("total_samples", "uint64", "the same, with those taken in what it calls"),
    ),
)
FRAMES = TableDescription(
    "frames",
    "One row per distinct code address, and per function inlined there.",
    (
        Column("id", "uint32", "number of the frame", "frames"),
        Column("function", "uint32", "function (`functions.id`)", "functions"),
        Column("name", "name", "the function's name"),
        Column("dso", "name", "file; null if the address is in no mapping"),
        Column("image", "uint32", "image (`images.id`); null if the address is in no mapping", "images"),
        Column("address", "uint64", "address in the ELF file (kernel and generated code: at run time); of a caller the "
                                    "return address minus one"),
        Column("runtime", "uint64", "address in the process; null unless the profile has it (`runtime=True`)"),
        Column("provenance", "name", "how the frame was found (`undwarf.Provenance`)"),
        Column("inline_depth", "uint8", "functions that this one is inlined into; 0: it has code of its own"),
        Column("file", "name", "source file; null if unknown"),
        Column("line", "uint32", "source line; null if unknown"),
    ),
)  # fmt: skip  # a table
FUNCTIONS = TableDescription(
    "functions",
    "One row per function; an inlined function has a row for each function that it is inlined into.",
    (
        Column("id", "uint32", "number of the function", "functions"),
        Column("name", "name", "demangled name; `file+0xstart` without a symbol, `[unknown]` without a start"),
        Column("dso", "name", "file; null if unknown"),
        Column("image", "uint32", "image (`images.id`); null if unknown", "images"),
        Column("address", "uint64", "start in the ELF file; null if unknown"),
        Column("named", "bool", "whether a symbol or debugging information has its name"),
    ),
)
IMAGES = TableDescription(
    "images",
    "One row per mapped file, or what stands for one.",
    (
        Column("id", "uint32", "number of the image", "images"),
        Column("name", "name", "name as recorded"),
        Column("dso", "name", "name as in reports"),
        Column("path", "name", "path as recorded"),
        Column("build_id", "name", "build-id in hexadecimal; null if unknown"),
        Column("kind", "name", "file, kernel, module, vdso, bpf, anon, jit, jitdump ..."),
        Column("problem", "name", "why its code could not be unwound or named; null if it could, or has no frames"),
    ),
)
EVENTS = TableDescription(
    "events",
    "One row per event.",
    (
        Column("id", "uint32", "number of the event", "events"),
        Column("name", "name", "name of the event"),
        Column("packed", "bool", "whether `samples.weight` is three numbers: u32 latency, u16 of the instruction, u16"
                                 " to its retirement"),
        Column("unit", "name", "unit of `period`, if a profile of another tool states it; null: as the name has it"),
        Column("chains", "bool", "whether its samples have call chains"),
    ),
)  # fmt: skip  # a table
PROCESSES = TableDescription(
    "processes",
    "One row per process that is sampled or described by records; one for all that had the same pid.",
    (
        Column("pid", "int32", "process"),
        Column("parent", "int32", "process that forked it; null if that was not recorded"),
        Column("comm", "name", "last name of its main thread; null if unknown"),
        Column("threads", "uint32", "threads that were sampled or described by records"),
        Column("start", "int64", "ns: when it was forked; null if that was not recorded"),
        Column("end", "int64", "ns: when its main thread ended; null if that was not recorded"),
    ),
)
_SUMS = (
    Column("weight", "uint64", "sum of periods"),
    Column("samples", "uint64", "number of samples"),
    Column("loads", "uint64", "weight of loads"),
    Column("stores", "uint64", "weight of stores"),
    Column("inferred", "uint64", "weight whose access was inferred (`--skid`)"),
    Column("latency", "uint64", "sum of latencies in cycles, of the `timed` samples"),
    Column("timed", "uint64", "samples that have a latency"),
)
TYPES = TableDescription(
    "types",
    "One row per data type that samples access, and per event, by falling weight.",
    (
        Column("id", "uint32", "number of the type", "types"),
        Column("event", "name", "the event that is counted; null: all"),
        Column("name", "name", "name of the type"),
        Column("size", "uint64", "bytes"),
        Column("global", "bool", "whether all accesses are to one object, a global variable"),
        *_SUMS,
    ),
)
FIELDS = TableDescription(
    "fields",
    "One row per member of a type, at the offset where accesses start.",
    (
        Column("type", "uint32", "type (`types.id`)", "types"),
        Column("event", "name", "the event that is counted; null: all"),
        Column("offset", "int64", "bytes from the start of the type"),
        Column("name", "name", "the member, as in `node.next`; null for the whole object"),
        Column("size", "uint64", "bytes of the largest access"),
        *_SUMS,
        Column("readers", "uint32", "CPUs that read it"),
        Column("writers", "uint32", "CPUs that wrote it"),
    ),
)
PROFILE_TABLES = (SAMPLES, STACKS, STACK_FRAMES, STACK_WEIGHTS, FRAMES, FUNCTIONS, IMAGES, EVENTS, PROCESSES)
TABLES = (*PROFILE_TABLES, TYPES, FIELDS)
