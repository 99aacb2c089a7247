"""Every bound that protects us from hostile or broken input, with its default, in one place."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Bounds on what one input may cost. All are arguments; these are the defaults."""

    max_frames: int = 8192
    """User frames walked for one sample."""
    entry_samples: int = 2000
    """Samples that end in code made at run time, among which what enters that code is looked for."""
    scheduler_samples: int = 256
    """Samples of a thread among which its Haskell code's scheduler is looked for."""
    mapped_windows: int = 2
    """Windows of a recording that stay mapped meanwhile, each of 8 MiB."""
    logged_frames: int = 1 << 20
    """Frames of one window of a recording (8 MiB) whose stack pointers are kept."""
    max_chain: int = 8192
    """Entries read from one sampled call chain."""
    expression_steps: int = 1000
    """Operations of one DWARF expression."""
    cfi_steps: int = 100_000
    """Call frame instructions executed for one function."""
    cfi_rows: int = 50_000
    """Rows one function's call frame program may make."""
    remember_depth: int = 64
    """Nesting of DW_CFA_remember_state."""
    code_bytes: int = 64 << 20
    """Bytes of one program's code that are searched for calls and jumps."""
    code_function_bytes: int = 1 << 20
    """Size of one function whose code is analysed."""
    code_total_bytes: int = 8 << 20
    """Code of one program that is analysed because other sources leave it open."""
    code_hole_bytes: int = 8192
    """Code for each described function above which a program counts as hardly described: compilers' functions have
    a few hundred bytes, libraries of assembly up to 3,000."""
    code_searched_bytes: int = 16 << 20
    """Bytes of one program's code that no other source describes which are searched for functions while stacks are
    walked: x265 has 12 million bytes of assembly."""
    code_open_bytes: int = 8192
    """Code that `.eh_frame` leaves open, above which functions are searched in it; stubs and start-up code are less."""
    code_operations: int = 100_000
    """What one function whose code is analysed does, in operations; each costs about 1,000 bytes while it is."""
    code_parts: int = 512
    """Parts of functions that are gone through to find the functions that one part belongs to."""
    code_kept: int = 20_000
    """Operations of analysed functions that are kept for parts of these; each costs about 500 bytes."""
    code_steps: int = 2_000_000
    """Instructions gone through to analyse one function."""
    template_bytes: int = 256
    """Size of a function that a runtime copies for each of its own functions."""
    copies: int = 1 << 18
    """Copies of such a function that are known in one process."""
    template_files: int = 1 << 14
    """Files of running processes of which is remembered whether they have such a function."""
    process_maps_bytes: int = 16 << 20
    """Bytes of a running process's list of mappings in which such files are looked for."""
    moved_code_samples: int = 256
    """Samples in which evidence is looked for that a program copied its code to anonymous memory, of each mapping."""
    fork_parents: int = 64
    """Processes from a fork to the one that started its program."""
    rules: int = 1 << 18
    """Distinct unwind rules of one run; each costs 640 bytes."""
    store_bytes: int = 512 << 20
    """Bytes of all tables kept on disk; those used least recently go first."""
    answer_bytes: int = 64 << 20
    """Bytes of all data types of instructions kept on disk; those used least recently go first."""
    kept_answers: int = 50_000
    """Instructions of one binary whose data types are kept."""
    fdes: int = 20_000_000
    """Frame description entries in one section."""
    orc_entries: int = 50_000_000
    """Entries of one ORC table."""
    section_bytes: int = 4 << 30
    """Size of one section after decompression."""
    compression_ratio: int = 2000
    """Decompressed bytes for each compressed byte."""
    file_ratio: int = 64
    """Bytes that all that is compressed in one file may unpack to, for each byte of the file; debugging information
    has 3 to 10."""
    file_unpacked_bytes: int = 4 << 20
    """Bytes that what is compressed in a file may unpack to beside that: small files may be packed better."""
    stream_bytes: int = 256 << 30
    """Bytes that all compressed records of one recording may unpack to."""
    profile_bytes: int = 4 << 30
    """Bytes of one profile of another tool, after decompression."""
    profile_json_bytes: int = 512 << 20
    """Bytes of one that is JSON, which takes eleven times as much memory."""
    profile_ratio: int = 256
    """Bytes that a compressed profile may unpack to, for each byte of it; text of stacks has 20 to 100."""
    profile_unpacked_bytes: int = 64 << 20
    """Bytes that it may unpack to beside that."""
    profile_nodes: int = 1 << 26
    """Distinct stacks in a profile of another tool, with all their callers; each costs about 40 bytes."""
    profile_events: int = 1000
    """Events, or sample types, of a profile of another tool."""
    records: int = 100_000_000
    """Samples, and side-band records, of one recording; each costs about 70 bytes."""
    elf_headers: int = 100_000
    """Section or program headers in one ELF file."""
    symbols: int = 20_000_000
    """Symbols in one table."""
    demangle_input: int = 4096
    """Bytes of a mangled name; a longer one stays mangled."""
    demangle_output: int = 16384
    """Characters of a demangled name; a longer one stays mangled."""
    demangle_steps: int = 10_000
    """Parts of a name that are looked at to demangle it; one that takes more stays mangled."""
    dwarf_bytes: int = 128 << 20
    """Bytes kept of the debugging information that was read of one file."""
    dwarf_ranges: int = 1 << 22
    """Address ranges of the functions of one unit."""
    dwarf_rows: int = 1 << 25
    """Rows of one line table."""
    completion_bytes: int = 64 << 20
    """Of a recording whose threads and files a shell completes: nobody waits longer than it takes to read that."""
    source_bytes: int = 16 << 20
    """Bytes of a source file that is shown."""
    listed_code_bytes: int = 1 << 20
    """Bytes of code that are disassembled to show one function."""
    text_map_bytes: int = 512 << 20
    """Size of a kallsyms or perf-PID.map file."""
    module_bytes: int = 1 << 30
    """Size of a packed kernel module after decompression."""
    jit_records: int = 20_000_000
    """Records of one jitdump file."""
    download_bytes: int = 8 << 30
    """Size of one file from a debuginfod server."""
    function_bytes: int = 8 << 20
    """Size of one function that is decoded to follow what its registers hold."""
    types: int = 8 << 20
    """Types of one binary that are numbered; each costs about 200 bytes once it is looked at."""
    type_bytes: int = 1 << 47
    """Size of one type; a larger one is damage."""
    callers_followed: int = 16
    """Functions of a program without DWARF that are looked into to tell what one of them is given."""
    inferred_instructions: int = 20_000
    """Instructions of a function without DWARF whose values get types from how they are used."""
    call_scan_bytes: int = 8 << 20
    """Code of a program without DWARF in which callers of functions are looked for."""
    flow_visits: int = 24
    """Average number of visits to a basic block after which the data flow of a function is given up."""
    flow_words: int = 64 << 20
    """Words of what registers and stack slots hold at the begins of a function's stretches."""
    flow_slots: int = 4096
    """Stack slots of a function that are followed."""
    type_members: int = 100_000
    """Members of one type, parameters of one function."""
    type_depth: int = 64
    """Typedefs, arrays and members within each other that are followed."""
    type_steps: int = 4096
    """Members that are gone through to find what is at one place of a type."""
    trace_formats: int = 65536
    """Descriptions of tracepoints in one recording; their ids have 16 bits."""
    trace_format_bytes: int = 256 << 10
    """Bytes of one of them; the kernel's longest have some thousand."""
    print_depth: int = 200
    """Operations within each other in what a tracepoint is printed by; the kernel's own have up to 60."""
    print_elements: int = 4096
    """Elements of one array in a tracepoint's text, and characters that a number or string in it is filled to."""
    store_commits: int = 1 << 16
    """Commits of a fleet's store; `undwarf fleet compact` makes one of them."""
    store_commit_bytes: int = 64 << 20
    """Size of one of them; each file that it lists takes some 150 bytes."""
    store_footer_bytes: int = 4 << 20
    """Of a Parquet file of a fleet's store: its footer, which describes each column of each million rows."""
    store_memory: int = 4 << 30
    """Bytes of memory that DuckDB takes while it reads a store."""
    store_values: int = 1 << 29
    """Values of one file of a store, and of all stacks that are read at once; each takes up to 16 bytes."""
    store_depth: int = 1 << 16
    """Frames of one stack of a store, and functions inlined at one place."""
    store_images: int = 1 << 20
    """Images of a store that are read at once; each takes some 600 bytes."""
    branches: int = 1024
    """Entries of one sample's branch stack; processors have up to 64."""
    branch_code_bytes: int = 256 << 10
    """Code between the branches of one sample that is shown."""


DEFAULT = Limits()
