weir_add_executable(sequence_bench ${CMAKE_CURRENT_SOURCE_DIR}/sequence_bench.cc
  LINK weir_operators weir_state third_party::jemalloc)
