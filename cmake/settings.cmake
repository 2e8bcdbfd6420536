# Compiler, warnings and sanitizers: what holds for every target of ours. Presets (CMakePresets.json) set the options.
set(WEIR_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them: empty, address,undefined or thread")
option(WEIR_UNITY "Join the sources of a library into a few large ones: a clean build in a third of the time" OFF)
option(WEIR_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(WEIR_CLANG_TIDY "Run clang-tidy over our sources while they are compiled" OFF)

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# -g1 keeps the lines in backtraces at half the compile time of -g.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")

find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${WEIR_CCACHE}")
endif()

# gold links in half of bfd's time.
find_program(WEIR_GOLD ld.gold)
if(WEIR_GOLD)
  add_link_options(-fuse-ld=gold)
endif()

set(WEIR_WARNINGS -Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
                  -Woverloaded-virtual -Wold-style-cast)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns falsely of overlaps in "[" + s + "]" at -O2 (-Wrestrict).
  list(APPEND WEIR_WARNINGS -Wduplicated-cond -Wlogical-op -Wsuggest-override -Wno-restrict)
else()
  # stable_sort and stable_partition of libstdc++ 12 use what C++17 has deprecated.
  list(APPEND WEIR_WARNINGS -Wthread-safety -Wsuggest-override -Wno-deprecated-declarations)
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

if(WEIR_SANITIZE)
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
  if(WEIR_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What the sanitizers put in between makes g++ see uses of uninitialised members in its own library.
    list(APPEND WEIR_WARNINGS -Wno-maybe-uninitialized)
  endif()
  if(WEIR_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The sanitizer does not model fences; none of our code relies on one.
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(WEIR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(WEIR_CLANG_TIDY)
  find_program(WEIR_CLANG_TIDY_PROGRAM NAMES clang-tidy-19 clang-tidy REQUIRED)
endif()
