weir_add_executable(state_bench state_bench.cc LINK weir_state third_party::jemalloc)
