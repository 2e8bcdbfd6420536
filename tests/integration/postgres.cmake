# The postgres sink on a PostgreSQL that the test starts.
weir_add_library(weir_postgres_world
  SOURCES
    ${PROJECT_SOURCE_DIR}/tests/simulation/sim_postgres.cc
    ${PROJECT_SOURCE_DIR}/tests/simulation/sim_postgres_tables.cc
    ${CMAKE_CURRENT_SOURCE_DIR}/postgres_world.cc
  LINK weir_connectors weir_test_servers weir_simulated_ports
  PRIVATE_LINK GTest::gtest)
weir_add_test(postgres_tables_test
  ${CMAKE_CURRENT_SOURCE_DIR}/postgres_rules_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/postgres_tables_conformance_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/postgres_tables_test.cc
  LINK weir_postgres_world LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(postgres_waiting_test
  ${CMAKE_CURRENT_SOURCE_DIR}/postgres_waiting_test.cc
  LINK weir_postgres_world LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(postgres_merge_test
  ${CMAKE_CURRENT_SOURCE_DIR}/postgres_conflict_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/postgres_merge_test.cc
  LINK weir_postgres_world LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(postgres_sink_test
  ${CMAKE_CURRENT_SOURCE_DIR}/postgres_committer_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/postgres_conformance_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/postgres_sink_test.cc
  LINK weir_postgres_world LABEL integration TIMEOUT 300 WHOLE)
# All sinks.
weir_add_test(sink_contract_test ${CMAKE_CURRENT_SOURCE_DIR}/sink_contract_test.cc
  LINK weir_kafka_world weir_postgres_world LABEL integration TIMEOUT 200 WHOLE)
