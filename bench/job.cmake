weir_add_executable(job_bench ${CMAKE_CURRENT_SOURCE_DIR}/job_bench.cc
  LINK weir_bench weir_test_servers third_party::jemalloc)
target_compile_definitions(job_bench PRIVATE WEIR_BENCH_JOBS="${CMAKE_CURRENT_SOURCE_DIR}/jobs")
weir_add_executable(changefeed_bench
  ${CMAKE_CURRENT_SOURCE_DIR}/changefeed_bench.cc ${CMAKE_CURRENT_SOURCE_DIR}/changefeed_feed.cc
  LINK weir_bench weir_test_servers third_party::jemalloc)
target_compile_definitions(changefeed_bench PRIVATE WEIR_BENCH_JOBS="${CMAKE_CURRENT_SOURCE_DIR}/jobs")
