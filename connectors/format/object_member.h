// What a deserializer asks of an object - a JSON text or an Avro record - and where the answer is put. Plain values of
// one deserializer.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "connectors/format/row_shape.h"
#include "operators/value.h"

namespace weir::connectors {

// One member: its value; or, with a shape, a nested object as a row; or, with `inside`, members of a nested object.
//
//   {.name = "after", .shape = &shape}           {"after": {"id": 1}}                  row [1]
//   {.name = "source", .inside = {table_name}}   {"source": {"table_name": "t"}}       table_name "t"
//   {.shape = &shape, .inside = {__crdb__}}      {"id": 1, "__crdb__": {...}}          row [1], __crdb__ is no column
struct ObjectMember {
  std::string_view name = {};
  RowShape* shape = nullptr;
  std::span<ObjectMember> inside = {};     // of a shape: what is beside its columns
  operators::Value value = {};             // of a nested object that was found: a Json, whose text may be empty
  std::vector<operators::Value> row = {};  // shape->size() values if `is_row`
  bool is_row = false;                     // with a shape: the member was there and an object
  bool any_column = false;                 // of a row: something was in it, if only what the shape passes over
};

// Null: none of that name.
inline ObjectMember* FindMember(std::span<ObjectMember> members, std::string_view name) {
  for (ObjectMember& member : members) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

inline void ResetMembers(std::span<ObjectMember> members) {
  for (ObjectMember& member : members) {
    member.value = operators::Value();
    member.is_row = false;
    ResetMembers(member.inside);
  }
}

// A later row may have found columns that an earlier one lacks.
inline void FitRows(std::span<ObjectMember> members) {
  for (ObjectMember& member : members) {
    if (member.is_row) member.row.resize(member.shape->size());
    FitRows(member.inside);
  }
}

// Every shape forgets what turned up once.
inline void ResetShapes(std::span<ObjectMember> members) {
  for (ObjectMember& member : members) {
    if (member.shape != nullptr) member.shape->Reset();
    ResetShapes(member.inside);
  }
}

}  // namespace weir::connectors
