# The libraries of other people, from the system's packages (setup/packages.txt), as third_party::<name>. Their headers
# are system headers: our warnings do not reach into them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(weir_find_library name module)
  pkg_check_modules(WEIR_${name} REQUIRED IMPORTED_TARGET GLOBAL ${module})
  add_library(third_party_${name} INTERFACE)
  target_link_libraries(third_party_${name} INTERFACE PkgConfig::WEIR_${name})
  add_library(third_party::${name} ALIAS third_party_${name})
endfunction()

weir_find_library(rdkafka rdkafka)
weir_find_library(libpq libpq)
weir_find_library(curl libcurl)
weir_find_library(avro avro-c)
weir_find_library(httplib cpp-httplib)
weir_find_library(rocksdb rocksdb)
weir_find_library(simdjson simdjson)
weir_find_library(nlohmann_json nlohmann_json)
weir_find_library(yaml_cpp yaml-cpp)
weir_find_library(spdlog spdlog)
weir_find_library(xxhash libxxhash)
weir_find_library(lz4 liblz4)
weir_find_library(zstd libzstd)
weir_find_library(snappy snappy)
weir_find_library(lua lua5.4)

find_package(Protobuf REQUIRED)
add_library(third_party_protobuf INTERFACE)
target_link_libraries(third_party_protobuf INTERFACE protobuf::libprotobuf)
add_library(third_party::protobuf ALIAS third_party_protobuf)

# Without the CMake package of Boost: two versions of it are packaged for Debian 12, and either will do.
find_path(WEIR_BOOST_INCLUDE boost/program_options.hpp REQUIRED)
find_library(WEIR_BOOST_PROGRAM_OPTIONS boost_program_options REQUIRED)
add_library(third_party_program_options INTERFACE)
target_include_directories(third_party_program_options SYSTEM INTERFACE "${WEIR_BOOST_INCLUDE}")
target_link_libraries(third_party_program_options INTERFACE "${WEIR_BOOST_PROGRAM_OPTIONS}")
add_library(third_party::program_options ALIAS third_party_program_options)

# The allocator of the runtime's binary. A sanitizer brings its own.
add_library(third_party_jemalloc INTERFACE)
if(NOT WEIR_SANITIZE AND NOT WEIR_FUZZ)
  pkg_check_modules(WEIR_jemalloc REQUIRED IMPORTED_TARGET GLOBAL jemalloc)
  # It replaces malloc without being named, so that the linker must be told to keep it.
  target_link_libraries(third_party_jemalloc INTERFACE -Wl,--no-as-needed PkgConfig::WEIR_jemalloc -Wl,--as-needed)
endif()
add_library(third_party::jemalloc ALIAS third_party_jemalloc)

find_package(BISON 3.8 REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark QUIET)
