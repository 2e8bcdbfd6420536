#include "connectors/format/avro_schema.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "connectors/format/json_text.h"
#include "connectors/format/sql_name.h"

namespace weir::connectors {
namespace {

using SchemaJson = nlohmann::json;

constexpr int64_t kScaleMax = 16'383;  // PostgreSQL's numeric
constexpr size_t kTypesMax = 100'000;

constexpr std::array<std::pair<std::string_view, AvroKind>, 8> kPrimitives = {{{"null", AvroKind::kNull},
                                                                               {"boolean", AvroKind::kBoolean},
                                                                               {"int", AvroKind::kInt},
                                                                               {"long", AvroKind::kLong},
                                                                               {"float", AvroKind::kFloat},
                                                                               {"double", AvroKind::kDouble},
                                                                               {"bytes", AvroKind::kBytes},
                                                                               {"string", AvroKind::kString}}};

struct LogicalType {
  std::string_view name;
  AvroKind kind;
  AvroMeaning meaning;
};

constexpr std::array<LogicalType, 7> kLogicalTypes = {
    {{"date", AvroKind::kInt, AvroMeaning::kDate},
     {"time-millis", AvroKind::kInt, AvroMeaning::kTimeMillis},
     {"time-micros", AvroKind::kLong, AvroMeaning::kTimeMicros},
     {"timestamp-millis", AvroKind::kLong, AvroMeaning::kTimestampMillis},
     {"timestamp-micros", AvroKind::kLong, AvroMeaning::kTimestampMicros},
     {"local-timestamp-millis", AvroKind::kLong, AvroMeaning::kLocalTimestampMillis},
     {"local-timestamp-micros", AvroKind::kLong, AvroMeaning::kLocalTimestampMicros}}};

std::optional<AvroKind> PrimitiveOf(std::string_view name) {
  for (const auto& [known, kind] : kPrimitives) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

std::string TextOf(const SchemaJson& object, const char* name) {
  const auto member = object.find(name);
  return member == object.end() || !member->is_string() ? std::string() : member->get<std::string>();
}

std::optional<int64_t> NumberOf(const SchemaJson& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end() || !member->is_number_integer()) return std::nullopt;
  return member->get<int64_t>();
}

// The type in CockroachDB's description of a column: `"my ""col""" TIMESTAMPTZ NOT NULL`.
std::string_view SqlTypeOf(std::string_view column) {
  size_t at = 0;
  if (column.starts_with('"')) {
    for (at = 1; at < column.size(); ++at) {
      if (column[at] != '"') continue;
      if (at + 1 >= column.size() || column[at + 1] != '"') break;
      ++at;
    }
  }
  const size_t begin = std::min(column.find(' ', at), column.size() - 1) + 1;
  return column.substr(begin, column.find(' ', begin) - begin);
}

}  // namespace

class AvroSchema::Parser {
 public:
  explicit Parser(AvroSchema& schema) : schema_(schema) {}

  // Null: error() says why.
  AvroType* Type(const SchemaJson& text, const std::string& space, size_t depth) {
    if (depth > kJsonDepthMax) return Fail("types nested too deeply");
    if (schema_.types_.size() >= kTypesMax) return Fail("more than " + std::to_string(kTypesMax) + " types");
    if (text.is_string()) return Named(text.get_ref<const std::string&>(), space);
    if (text.is_array()) return Union(text, space, depth);
    if (!text.is_object()) return Fail("a type is a name, a list or an object");
    const auto type = text.find("type");
    if (type == text.end()) return Fail("an object without a type");
    if (!type->is_string()) return Type(*type, space, depth + 1);
    const std::string& name = type->get_ref<const std::string&>();
    if (name == "record") return Record(text, space, depth);
    if (name == "enum") return Enum(text, space);
    if (name == "fixed") return Fixed(text, space);
    if (name == "array") return Elements(AvroKind::kArray, text, "items", space, depth);
    if (name == "map") return Elements(AvroKind::kMap, text, "values", space, depth);
    AvroType* const made = Named(name, space);
    if (made != nullptr && PrimitiveOf(name).has_value()) ReadLogicalType(text, *made);
    return made;
  }

  const std::string& error() const { return error_; }

 private:
  AvroType* Fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    return nullptr;
  }

  AvroType* New(AvroKind kind) { return &schema_.types_.emplace_back(AvroType{.kind = kind}); }

  AvroType* Named(const std::string& name, const std::string& space) {
    if (const std::optional<AvroKind> kind = PrimitiveOf(name); kind.has_value()) return New(*kind);
    for (const std::string& full : {name.contains('.') || space.empty() ? name : space + "." + name, name}) {
      if (const auto found = names_.find(full); found != names_.end()) return found->second;
    }
    return Fail("no type \"" + name + "\" is defined before it is used");
  }

  // Declares the type, so that it may hold itself, and sets `space` to the namespace of what is inside.
  bool Declare(const SchemaJson& text, std::string& space, AvroType* type) {
    std::string name = TextOf(text, "name");
    if (name.empty()) return Fail("a record, enum or fixed without a name") != nullptr;
    if (const std::string given = TextOf(text, "namespace"); !given.empty()) space = given;
    if (const size_t point = name.rfind('.'); point != std::string::npos) {
      space = name.substr(0, point);
    } else if (!space.empty()) {
      name = space + "." + name;
    }
    if (!names_.emplace(name, type).second) return Fail("the type \"" + name + "\" is defined twice") != nullptr;
    return true;
  }

  AvroType* Union(const SchemaJson& text, const std::string& space, size_t depth) {
    AvroType* const made = New(AvroKind::kUnion);
    AvroType* string = nullptr;
    bool decimal = false;
    for (const SchemaJson& branch : text) {
      AvroType* const type = Type(branch, space, depth + 1);
      if (type == nullptr) return nullptr;
      if (type->kind == AvroKind::kUnion) return Fail("a union directly in a union");
      if (type->kind == AvroKind::kString) string = type;
      decimal = decimal || type->meaning == AvroMeaning::kDecimal;
      made->types.push_back(type);
    }
    if (made->types.empty()) return Fail("a union of nothing");
    if (decimal && string != nullptr) string->meaning = AvroMeaning::kDecimalText;
    return made;
  }

  AvroType* Record(const SchemaJson& text, std::string space, size_t depth) {
    AvroType* const made = New(AvroKind::kRecord);
    if (!Declare(text, space, made)) return nullptr;
    const auto fields = text.find("fields");
    if (fields == text.end() || !fields->is_array()) return Fail("a record without fields");
    for (const SchemaJson& field : *fields) {
      const std::string name = field.is_object() ? TextOf(field, "name") : std::string();
      if (name.empty() || !field.contains("type")) return Fail("a field without name or type");
      AvroType* const type = Type(field["type"], space, depth + 1);
      if (type == nullptr) return Fail("field " + name);
      ReadSqlType(TextOf(field, "__crdb__"), *type);
      made->fields.push_back({UnescapeSqlName(name), type});
    }
    return made;
  }

  AvroType* Enum(const SchemaJson& text, std::string space) {
    AvroType* const made = New(AvroKind::kEnum);
    if (!Declare(text, space, made)) return nullptr;
    const auto symbols = text.find("symbols");
    if (symbols == text.end() || !symbols->is_array()) return Fail("an enum without symbols");
    for (const SchemaJson& symbol : *symbols) {
      if (!symbol.is_string()) return Fail("a symbol that is no string");
      made->symbols.push_back(symbol.get<std::string>());
    }
    return made;
  }

  AvroType* Fixed(const SchemaJson& text, std::string space) {
    constexpr int64_t kFixedMax = 1 << 20;
    AvroType* const made = New(AvroKind::kFixed);
    if (!Declare(text, space, made)) return nullptr;
    const std::optional<int64_t> size = NumberOf(text, "size");
    if (!size.has_value() || *size < 0 || *size > kFixedMax) return Fail("a fixed without a size up to 1 MiB");
    made->fixed_bytes = static_cast<size_t>(*size);
    ReadLogicalType(text, *made);
    return made;
  }

  AvroType* Elements(AvroKind kind, const SchemaJson& text, const char* member, const std::string& space,
                     size_t depth) {
    AvroType* const made = New(kind);
    const auto elements = text.find(member);
    if (elements == text.end()) return Fail(std::string("an array or map without ") + member);
    AvroType* const type = Type(*elements, space, depth + 1);
    if (type == nullptr) return nullptr;
    made->types.push_back(type);
    return made;
  }

  // One that does not fit its type is no logical type, says the specification.
  static void ReadLogicalType(const SchemaJson& text, AvroType& type) {
    const std::string name = TextOf(text, "logicalType");
    if (name == "decimal" && (type.kind == AvroKind::kBytes || type.kind == AvroKind::kFixed)) {
      const int64_t scale = NumberOf(text, "scale").value_or(0);
      if (scale < 0 || scale > kScaleMax) return;
      type.meaning = AvroMeaning::kDecimal;
      type.scale = static_cast<uint32_t>(scale);
      return;
    }
    for (const LogicalType& logical : kLogicalTypes) {
      if (logical.name == name && logical.kind == type.kind) type.meaning = logical.meaning;
    }
  }

  // Avro has one type for what SQL has two for. Types are not shared, but for named ones, which this leaves alone.
  static void ReadSqlType(std::string_view column, AvroType& type) {
    if (column.empty()) return;
    const std::string_view sql = SqlTypeOf(column);
    std::vector<AvroType*> branches = {&type};
    if (type.kind == AvroKind::kUnion) branches = type.types;
    for (AvroType* const branch : branches) {
      AvroMeaning& meaning = branch->meaning;
      if (sql.starts_with("JSONB") && branch->kind == AvroKind::kString) meaning = AvroMeaning::kJson;
      if (meaning == AvroMeaning::kTimestampMicros && sql.starts_with("TIMESTAMP") && !sql.starts_with("TIMESTAMPTZ")) {
        meaning = AvroMeaning::kLocalTimestampMicros;
      }
    }
  }

  AvroSchema& schema_;
  std::unordered_map<std::string, AvroType*> names_;  // never iterated
  std::string error_;
};

Result<std::unique_ptr<const AvroSchema>> AvroSchema::Parse(std::string_view text) {
  const SchemaJson parsed = SchemaJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return Error(Status::InvalidArgument("the schema is not JSON"));
  std::unique_ptr<AvroSchema> schema(new AvroSchema);
  Parser parser(*schema);
  schema->root_ = parser.Type(parsed, "", 0);
  if (schema->root_ == nullptr) return Error(Status::InvalidArgument("not an Avro schema: " + parser.error()));
  return schema;
}

}  // namespace weir::connectors
