# How a folder of ours becomes a target.
include(GoogleTest)

function(weir_target_settings target)
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE ${WEIR_WARNINGS})
  target_link_libraries(${target} PUBLIC Threads::Threads)
  if(WEIR_CLANG_TIDY)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${WEIR_CLANG_TIDY_PROGRAM};--quiet")
  endif()
endfunction()

# weir_add_library(<name> <source>... [LINK <target>...] [PRIVATE_LINK <target>...])
# LINK: folders below, whose headers ours include. PRIVATE_LINK: libraries that only our .cc files see.
function(weir_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;PRIVATE_LINK")
  add_library(${name} STATIC ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  weir_target_settings(${name})
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  if(WEIR_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

# weir_add_executable(<name> <source>... [LINK <target>...]): a program in build/<preset>/bin.
function(weir_add_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  weir_target_settings(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
endfunction()

# weir_add_test(<name> <source>... [LINK <target>...] [LABEL <label>] [TIMEOUT <seconds>] [WHOLE])
# One gtest program. ctest lists each of its cases; with WHOLE it runs the program as one entry, for programs whose
# cases share something dear, such as a broker. LABEL says which lanes run it, besides the release build that runs all:
#   unit (default)  address sanitizer                 threaded     address and thread sanitizer
#   simulation      address sanitizer                 integration  none: real servers
#   tidy            none: it reads text
#   torture         `make torture` alone
# TIMEOUT (60 s) is for an entry.
function(weir_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE" "LABEL;TIMEOUT" "SOURCES;LINK")
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(WEIR_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  add_executable(${name} ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  weir_target_settings(${name})
  if(WEIR_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)  # compiles in half the time; what it tests is optimised
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main GTest::gmock)
  target_compile_definitions(${name} PRIVATE WEIR_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             WEIR_BINARY_DIR="${PROJECT_BINARY_DIR}")
  set(environment "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp"
                  "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp")
  if(WEIR_SANITIZE)
    list(APPEND environment "WEIR_SIM_COUNT=200")  # seeds of the random jobs; the release build runs all
  endif()
  # All programs of a lane: weir_tests_unit and so on.
  if(NOT TARGET weir_tests_${arg_LABEL})
    add_custom_target(weir_tests_${arg_LABEL})
  endif()
  add_dependencies(weir_tests_${arg_LABEL} ${name})
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL} ENVIRONMENT "${environment}")
  else()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL} ENVIRONMENT "${environment}")
  endif()
endfunction()

# weir_add_protobuf(<name> <file.proto>...): a library of the generated code; include it as "<folder>/<file>.pb.h".
function(weir_add_protobuf name)
  add_library(${name} STATIC)
  foreach(proto IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH proto BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
    string(REGEX REPLACE "\\.proto$" "" stem "${relative}")
    set(generated "${PROJECT_BINARY_DIR}/generated/${stem}.pb")
    cmake_path(GET generated PARENT_PATH generated_folder)
    file(MAKE_DIRECTORY "${generated_folder}")
    add_custom_command(
      OUTPUT "${generated}.cc" "${generated}.h"
      COMMAND protobuf::protoc "--cpp_out=${PROJECT_BINARY_DIR}/generated" "-I${PROJECT_SOURCE_DIR}" "${source}"
      DEPENDS "${source}"
      VERBATIM)
    target_sources(${name} PRIVATE "${generated}.cc" "${generated}.h")
  endforeach()
  target_include_directories(${name} SYSTEM PUBLIC "${PROJECT_BINARY_DIR}/generated")
  target_link_libraries(${name} PUBLIC third_party::protobuf)
endfunction()

# weir_add_bison(<target> <file.yy>): the parser joins <target>; include it as "<folder>/<file>.tab.h".
function(weir_add_bison target grammar)
  cmake_path(ABSOLUTE_PATH grammar BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE source)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
  string(REGEX REPLACE "\\.yy?$" "" stem "${relative}")
  set(generated "${PROJECT_BINARY_DIR}/generated/${stem}.tab")
  cmake_path(GET generated PARENT_PATH generated_folder)
  file(MAKE_DIRECTORY "${generated_folder}")
  add_custom_command(
    OUTPUT "${generated}.cc" "${generated}.h"
    COMMAND "${BISON_EXECUTABLE}" -Werror "--header=${generated}.h" -o "${generated}.cc" "${source}"
    DEPENDS "${source}"
    VERBATIM)
  target_sources(${target} PRIVATE "${generated}.cc" "${generated}.h")
  # The target may be of a folder above: it waits for the header before it compiles anything.
  string(MAKE_C_IDENTIFIER "${target}_${stem}" parser)
  add_custom_target(${parser} DEPENDS "${generated}.cc" "${generated}.h")
  add_dependencies(${target} ${parser})
  # Generated code is not held to our warnings.
  set_source_files_properties("${generated}.cc" PROPERTIES COMPILE_OPTIONS "-w" SKIP_UNITY_BUILD_INCLUSION ON)
  target_include_directories(${target} SYSTEM PUBLIC "${PROJECT_BINARY_DIR}/generated")
endfunction()

# weir_add_fuzz(<name> <source> [LINK <target>...]): a libFuzzer target; nothing without WEIR_FUZZ.
function(weir_add_fuzz name)
  if(NOT WEIR_FUZZ)
    return()
  endif()
  weir_add_executable(${name} ${ARGN})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
