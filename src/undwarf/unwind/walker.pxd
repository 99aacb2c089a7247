from undwarf.unwind.kernel_chains cimport SampledChains
