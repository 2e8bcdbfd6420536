# Expressions against a PostgreSQL that the test starts.
weir_add_test(expression_postgres_test
  ${CMAKE_CURRENT_SOURCE_DIR}/expression_postgres_generator.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/expression_postgres_test.cc
  LINK weir_operators weir_test_servers LABEL integration TIMEOUT 300 WHOLE)
