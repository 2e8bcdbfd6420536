// Bytes that hold one object, and what a deserializer wants of it: JsonReader, AvroReader. One object a deserializer,
// on its task's thread.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "connectors/format/object_member.h"
#include "operators/batch.h"

namespace weir::connectors {

class ObjectReader {
 public:
  virtual ~ObjectReader() = default;

  // `bytes` has RowCollector::kPaddingBytes readable bytes behind it and stays as long as the values; text that has to
  // be made goes to `arena`. InvalidArgument: what is wrong and at which byte; what was taken out so far is then of no
  // use. The whole is one object, whose members become the row of `into` (name unused), but for those in its `inside`.
  virtual Status ReadRow(std::string_view bytes, operators::Arena& arena, ObjectMember& into) = 0;
  // Takes the named members out of the whole object, resets those that it lacks, passes over all others.
  virtual Status ReadMembers(std::string_view bytes, operators::Arena& arena, std::span<ObjectMember> members) = 0;
};

}  // namespace weir::connectors
