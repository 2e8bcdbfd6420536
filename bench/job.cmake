weir_add_executable(job_bench ${CMAKE_CURRENT_SOURCE_DIR}/job_bench.cc
  LINK weir_bench weir_test_servers third_party::jemalloc)
target_compile_definitions(job_bench PRIVATE WEIR_BENCH_JOBS="${CMAKE_CURRENT_SOURCE_DIR}/jobs")
