// Avro records in a registry's wire format, written by Avro's own C library: what reads them here is none of its.
#pragma once

#include <avro.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "connectors/format/avro_reader.h"

namespace weir::connectors {

// Schemas by id, without a server. Counts what is asked for.
class KnownSchemas final : public SchemaSource {
 public:
  explicit KnownSchemas(std::map<uint32_t, std::string> schemas, int* asked = nullptr)
      : schemas_(std::move(schemas)), asked_(asked) {}
  Result<std::string> Fetch(uint32_t id) override {
    if (asked_ != nullptr) ++*asked_;
    const auto found = schemas_.find(id);
    if (found == schemas_.end()) return Error(Status::InvalidArgument("no schema " + std::to_string(id)));
    return found->second;
  }

 private:
  std::map<uint32_t, std::string> schemas_;
  int* asked_;
};

// A value of Avro's library: `value.Field("after").Branch(1).Field("id").Branch(1).Long(7)`.
class AvroPut {
 public:
  explicit AvroPut(avro_value_t value) : value_(value) {}

  AvroPut Field(const char* name) {
    avro_value_t field{};
    EXPECT_EQ(avro_value_get_by_name(&value_, name, &field, nullptr), 0) << name;
    return AvroPut(field);
  }
  AvroPut Branch(int branch) {
    avro_value_t chosen{};
    EXPECT_EQ(avro_value_set_branch(&value_, branch, &chosen), 0) << avro_strerror();
    return AvroPut(chosen);
  }
  AvroPut Append() {
    avro_value_t element{};
    EXPECT_EQ(avro_value_append(&value_, &element, nullptr), 0) << avro_strerror();
    return AvroPut(element);
  }
  void Null() { EXPECT_EQ(avro_value_set_null(&value_), 0); }
  void Long(int64_t number) { EXPECT_EQ(avro_value_set_long(&value_, number), 0); }
  void Int(int32_t number) { EXPECT_EQ(avro_value_set_int(&value_, number), 0); }
  void Bool(bool value) { EXPECT_EQ(avro_value_set_boolean(&value_, value ? 1 : 0), 0); }
  void Double(double number) { EXPECT_EQ(avro_value_set_double(&value_, number), 0); }
  void Float(float number) { EXPECT_EQ(avro_value_set_float(&value_, number), 0); }
  void Enum(int symbol) { EXPECT_EQ(avro_value_set_enum(&value_, symbol), 0); }
  void Text(std::string text) { EXPECT_EQ(avro_value_set_string_len(&value_, text.data(), text.size() + 1), 0); }
  void Bytes(std::string bytes) { EXPECT_EQ(avro_value_set_bytes(&value_, bytes.data(), bytes.size()), 0); }
  void Fixed(std::string bytes) { EXPECT_EQ(avro_value_set_fixed(&value_, bytes.data(), bytes.size()), 0); }

 private:
  avro_value_t value_;
};

inline std::string WireHeader(uint32_t id) {
  std::string header(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(id >> shift & 0xff);
  return header;
}

inline std::string AvroBytes(const std::string& schema_json, uint32_t id, const std::function<void(AvroPut)>& fill) {
  avro_schema_t schema = nullptr;
  EXPECT_EQ(avro_schema_from_json_length(schema_json.data(), schema_json.size(), &schema), 0) << avro_strerror();
  avro_value_iface_t* const type = avro_generic_class_from_schema(schema);
  avro_value_t value{};
  EXPECT_EQ(avro_generic_value_new(type, &value), 0);
  fill(AvroPut(value));
  std::string buffer(1 << 16, '\0');
  avro_writer_t writer = avro_writer_memory(buffer.data(), static_cast<int64_t>(buffer.size()));
  EXPECT_EQ(avro_value_write(writer, &value), 0) << avro_strerror();
  buffer.resize(static_cast<size_t>(avro_writer_tell(writer)));
  avro_writer_free(writer);
  avro_value_decref(&value);
  avro_value_iface_decref(type);
  avro_schema_decref(schema);
  return WireHeader(id) + buffer;
}

}  // namespace weir::connectors
