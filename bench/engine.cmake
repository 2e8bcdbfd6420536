if(TARGET benchmark::benchmark)
  weir_add_executable(engine_bench ${CMAKE_CURRENT_SOURCE_DIR}/engine_bench.cc
    LINK weir_runtime benchmark::benchmark third_party::jemalloc)
endif()
