if(NOT TARGET weir_kafka_world)
  add_subdirectory(${PROJECT_SOURCE_DIR}/tests/connectors/kafka ${PROJECT_BINARY_DIR}/tests/connectors/kafka)
endif()
weir_add_test(kafka_conformance
  ${CMAKE_CURRENT_SOURCE_DIR}/kafka_cluster_conformance_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/kafka_consumer_conformance_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/kafka_marker_conformance_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/kafka_transaction_conformance_test.cc
  LINK weir_kafka_world LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(kafka_source_test ${CMAKE_CURRENT_SOURCE_DIR}/kafka_source_test.cc
  LINK weir_kafka_world LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(kafka_frontier_test ${CMAKE_CURRENT_SOURCE_DIR}/kafka_frontier_test.cc
  LINK weir_kafka_world LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(kafka_seek_test
  ${CMAKE_CURRENT_SOURCE_DIR}/changefeed_source.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/kafka_seek_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/kafka_window_test.cc
  LINK weir_kafka_world LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(kafka_sink_test ${CMAKE_CURRENT_SOURCE_DIR}/kafka_sink_test.cc
  LINK weir_kafka_world LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(kafka_committer_test ${CMAKE_CURRENT_SOURCE_DIR}/kafka_committer_test.cc
  LINK weir_kafka_world weir_simulated_ports LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(kafka_security_test ${CMAKE_CURRENT_SOURCE_DIR}/kafka_security_test.cc
  LINK weir_kafka_world third_party::httplib LABEL integration TIMEOUT 200 WHOLE)
weir_add_test(kafka_group_test ${CMAKE_CURRENT_SOURCE_DIR}/kafka_group_test.cc
  LINK weir_kafka_world LABEL integration TIMEOUT 300 WHOLE)
