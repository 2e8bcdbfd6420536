// Reads JSON objects into values: strict (RFC 8259), exact (numbers keep their digits), and without an allocation of
// its own a record. simdjson's first stage finds the tokens and checks UTF-8; one walk over them takes out what is
// asked for and checks the rest. One reader a deserializer, on its task's thread.
//
//   a number          Int64, or Decimal with its text as it stands
//   a string          String, unescaped
//   null              Null (a missing member: Absent)
//   an object, array  Json with its text as it stands
//
// A name that occurs twice in an object: the last one holds, as in PostgreSQL's jsonb.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "connectors/format/object_reader.h"
#include "operators/batch.h"
#include "operators/value.h"

namespace weir::connectors {

class JsonReader final : public ObjectReader {
 public:
  JsonReader();
  ~JsonReader() override;

  Status ReadRow(std::string_view text, operators::Arena& arena, ObjectMember& into) override;
  Status ReadMembers(std::string_view text, operators::Arena& arena, std::span<ObjectMember> members) override;
  // The elements of an array, e.g. a changefeed's key. `elements` is emptied first.
  Status ReadArray(std::string_view text, operators::Arena& arena, std::vector<operators::Value>& elements);

 private:
  class Walk;
  struct Tokens;

  template <class F>
  Status Read(std::string_view text, operators::Arena& arena, std::span<ObjectMember> members, F walk);

  std::unique_ptr<Tokens> tokens_;
};

}  // namespace weir::connectors
