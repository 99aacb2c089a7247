from undwarf.unwind.sampled_chains cimport SampledChains
