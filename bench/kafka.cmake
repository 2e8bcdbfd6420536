weir_add_executable(kafka_floor ${CMAKE_CURRENT_SOURCE_DIR}/kafka_floor.cc
  LINK weir_connectors third_party::rdkafka third_party::simdjson third_party::jemalloc)
weir_add_library(weir_bench ${CMAKE_CURRENT_SOURCE_DIR}/kafka_feed.cc ${CMAKE_CURRENT_SOURCE_DIR}/measured_run.cc
  LINK weir_connectors)
weir_add_executable(kafka_bench ${CMAKE_CURRENT_SOURCE_DIR}/kafka_bench.cc
  LINK weir_bench weir_test_servers third_party::jemalloc)
