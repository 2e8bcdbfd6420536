# Whole jobs: the real binary on a real broker.

# <name>_torture: the program <name>_test for longer, with `make torture` alone. <timeout> in seconds.
function(weir_add_torture name timeout)
  add_test(NAME ${name}_torture COMMAND ${name}_test)
  set_tests_properties(${name}_torture PROPERTIES TIMEOUT ${timeout} LABELS torture ENVIRONMENT WEIR_TORTURE=1)
endfunction()

if(NOT TARGET weir_kafka_world)
  add_subdirectory(${PROJECT_SOURCE_DIR}/tests/connectors/kafka ${PROJECT_BINARY_DIR}/tests/connectors/kafka)
endif()
weir_add_library(weir_job_process
  SOURCES
    ${CMAKE_CURRENT_SOURCE_DIR}/job_changefeed.cc
    ${CMAKE_CURRENT_SOURCE_DIR}/job_copy.cc
    ${CMAKE_CURRENT_SOURCE_DIR}/job_definitions.cc
    ${CMAKE_CURRENT_SOURCE_DIR}/job_orders.cc
    ${CMAKE_CURRENT_SOURCE_DIR}/job_process.cc
    ${CMAKE_CURRENT_SOURCE_DIR}/parent_child.cc
  LINK weir_kafka_world third_party::nlohmann_json
  PRIVATE_LINK GTest::gtest
)
target_compile_definitions(weir_job_process PRIVATE WEIR_BINARY="$<TARGET_FILE:weir>"
                                                    WEIR_CHAOS_BINARY="$<TARGET_FILE:weir_chaos>")
add_dependencies(weir_job_process weir weir_chaos)

weir_add_test(command_line_test ${CMAKE_CURRENT_SOURCE_DIR}/command_line_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 200 WHOLE)
weir_add_test(job_crash_test ${CMAKE_CURRENT_SOURCE_DIR}/job_crash_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 400 WHOLE)
weir_add_torture(job_crash 3600)
weir_add_test(job_golden_test ${CMAKE_CURRENT_SOURCE_DIR}/job_golden_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 200 WHOLE)
weir_add_test(job_bad_input_test ${CMAKE_CURRENT_SOURCE_DIR}/job_bad_input_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(job_restart_test ${CMAKE_CURRENT_SOURCE_DIR}/job_restart_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(job_savepoint_test ${CMAKE_CURRENT_SOURCE_DIR}/job_savepoint_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_torture(job_savepoint 600)
weir_add_test(job_case_test
  ${CMAKE_CURRENT_SOURCE_DIR}/job_position_case_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/job_state_case_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(job_stall_test ${CMAKE_CURRENT_SOURCE_DIR}/job_stall_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 200 WHOLE)
weir_add_torture(job_stall 400)
weir_add_test(job_broker_test ${CMAKE_CURRENT_SOURCE_DIR}/job_broker_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 200 WHOLE)
weir_add_torture(job_broker 1200)
weir_add_test(job_kafka_exact_test ${CMAKE_CURRENT_SOURCE_DIR}/job_kafka_exact_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_torture(job_kafka_exact 1200)
weir_add_test(job_kafka_case_test ${CMAKE_CURRENT_SOURCE_DIR}/job_kafka_case_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_torture(job_kafka_case 900)
weir_add_test(job_sinks_test ${CMAKE_CURRENT_SOURCE_DIR}/job_sinks_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(job_scenarios_test ${CMAKE_CURRENT_SOURCE_DIR}/job_scenarios_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(job_bounded_test ${CMAKE_CURRENT_SOURCE_DIR}/job_bounded_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 200 WHOLE)
weir_add_torture(job_bounded 3600)
weir_add_test(job_changefeed_window_test ${CMAKE_CURRENT_SOURCE_DIR}/job_changefeed_window_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 200 WHOLE)
weir_add_test(preflight_test ${CMAKE_CURRENT_SOURCE_DIR}/preflight_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 200 WHOLE)
weir_add_test(state_tool_test ${CMAKE_CURRENT_SOURCE_DIR}/state_tool_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 200 WHOLE)
weir_add_test(job_postgres_test ${CMAKE_CURRENT_SOURCE_DIR}/job_postgres_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_torture(job_postgres 1200)
weir_add_test(job_postgres_exact_test ${CMAKE_CURRENT_SOURCE_DIR}/job_postgres_exact_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_torture(job_postgres_exact 1200)
weir_add_test(job_postgres_case_test ${CMAKE_CURRENT_SOURCE_DIR}/job_postgres_case_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 200 WHOLE)
weir_add_test(job_operation_test
  ${CMAKE_CURRENT_SOURCE_DIR}/job_operation_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/job_stop_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_test(job_changefeed_test
  ${CMAKE_CURRENT_SOURCE_DIR}/job_best_effort_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/job_changefeed_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_torture(job_changefeed 1800)
weir_add_test(job_chaos_test ${CMAKE_CURRENT_SOURCE_DIR}/job_chaos_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 300 WHOLE)
weir_add_torture(job_chaos 1800)
weir_add_test(job_group_test ${CMAKE_CURRENT_SOURCE_DIR}/job_group_test.cc
  LINK weir_job_process LABEL integration TIMEOUT 400 WHOLE)
