if(TARGET benchmark::benchmark)
  weir_add_executable(script_bench ${CMAKE_CURRENT_SOURCE_DIR}/script_bench.cc
    LINK weir_definition weir_operators benchmark::benchmark third_party::jemalloc)
endif()
