#include "operators/script/script_values.h"

#include <lua5.4/lua.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "operators/decimal.h"
#include "operators/expression/conversion.h"
#include "operators/script/script_json.h"
#include "operators/temporal.h"
#include "operators/utf8.h"

namespace weir::operators::script {
namespace {

// The address is the value.
constexpr char kNullAddress = 0;
// Key of Lua's registry.
constexpr char kMetatableAddress = 0;

bool IsTemporal(ValueType type) { return type >= ValueType::kDate && type <= ValueType::kTimestampTz; }

// Of Lua's number at `index` or a decimal object.
bool NumberAt(lua_State* lua, int index, Value* out) {
  if (lua_isinteger(lua, index) != 0) {
    *out = Value::Int64(lua_tointegerx(lua, index, nullptr));
    return true;
  }
  const Value* object = ObjectAt(lua, index);
  if (object == nullptr || object->type() != ValueType::kDecimal) return false;
  *out = *object;
  return true;
}

DecimalResult DecimalAt(lua_State* lua, int index) {
  Value number;
  if (!NumberAt(lua, index, &number)) {
    luaL_error(lua, "a decimal and %s do not mix: use decimal(...) or :float()", KindAt(lua, index));
  }
  return expression::ToDecimal(number);
}

int PushDecimal(lua_State* lua, const DecimalResult& result) {
  if (!result.has_value()) {
    const std::string_view text = DecimalErrorText(result.error());
    lua_pushlstring(lua, text.data(), text.size());
    return luaL_error(lua, "%s", lua_tostring(lua, -1));
  }
  char text[Decimal::kScaleMax + 48];
  PushValue(lua, Value::Text(ValueType::kDecimal, {text, result->ToText(text)}));
  return 1;
}

template <class Calculate>
int Arithmetic(lua_State* lua, Calculate calculate) {
  const DecimalResult a = DecimalAt(lua, 1);
  const DecimalResult b = DecimalAt(lua, 2);
  if (!a.has_value()) return PushDecimal(lua, a);
  if (!b.has_value()) return PushDecimal(lua, b);
  return PushDecimal(lua, calculate(*a, *b));
}

int Add(lua_State* lua) {
  return Arithmetic(lua, [](const Decimal& a, const Decimal& b) { return a.Add(b); });
}
int Subtract(lua_State* lua) {
  return Arithmetic(lua, [](const Decimal& a, const Decimal& b) { return a.Subtract(b); });
}
int Multiply(lua_State* lua) {
  return Arithmetic(lua, [](const Decimal& a, const Decimal& b) { return a.Multiply(b); });
}
int Divide(lua_State* lua) {
  return Arithmetic(lua, [](const Decimal& a, const Decimal& b) { return a.Divide(b); });
}
int Modulo(lua_State* lua) {
  return Arithmetic(lua, [](const Decimal& a, const Decimal& b) { return a.Modulo(b); });
}
int Negate(lua_State* lua) {
  const DecimalResult a = DecimalAt(lua, 1);
  return PushDecimal(lua, a.has_value() ? DecimalResult(a->Negate()) : a);
}

// -1, 0, 1 of the two arguments, numbers or times of one type.
int CompareArguments(lua_State* lua) {
  Value a;
  Value b;
  if (NumberAt(lua, 1, &a) && NumberAt(lua, 2, &b)) {
    if (a.type() == ValueType::kInt64) return -CompareNumberWithInt64(b.text(), a.int64_value());
    if (b.type() == ValueType::kInt64) return CompareNumberWithInt64(a.text(), b.int64_value());
    return CompareNumbers(a.text(), b.text());
  }
  const Value* x = ObjectAt(lua, 1);
  const Value* y = ObjectAt(lua, 2);
  if (x == nullptr || y == nullptr || x->type() != y->type() || !IsTemporal(x->type())) {
    return luaL_error(lua, "attempt to compare %s with %s", KindAt(lua, 1), KindAt(lua, 2));
  }
  if (x->int64_value() == y->int64_value()) return 0;
  return x->int64_value() < y->int64_value() ? -1 : 1;
}

int Less(lua_State* lua) {
  lua_pushboolean(lua, CompareArguments(lua) < 0 ? 1 : 0);
  return 1;
}
int LessOrEqual(lua_State* lua) {
  lua_pushboolean(lua, CompareArguments(lua) <= 0 ? 1 : 0);
  return 1;
}

int Equal(lua_State* lua) {
  const Value* a = ObjectAt(lua, 1);
  const Value* b = ObjectAt(lua, 2);
  bool equal = a != nullptr && b != nullptr && a->type() == b->type();
  if (equal && a->type() == ValueType::kDecimal) {
    equal = CompareNumbers(a->text(), b->text()) == 0;
  } else if (equal) {
    equal = a->has_text() ? a->text() == b->text() : a->int64_value() == b->int64_value();
  }
  lua_pushboolean(lua, equal ? 1 : 0);
  return 1;
}

const Value& CheckObject(lua_State* lua) {
  const Value* object = ObjectAt(lua, 1);
  if (object == nullptr) luaL_error(lua, "expected a decimal, bytes, a time or json, got %s", KindAt(lua, 1));
  return *object;
}

int ToText(lua_State* lua) {
  const Value& value = CheckObject(lua);
  if (IsTemporal(value.type())) {
    char text[kTemporalTextMax];
    lua_pushlstring(lua, text, TemporalToText(value.type(), value.int64_value(), text));
  } else {
    lua_pushlstring(lua, value.text().data(), value.text().size());
  }
  return 1;
}

int Concatenate(lua_State* lua) {
  luaL_tolstring(lua, 1, nullptr);
  luaL_tolstring(lua, 2, nullptr);
  lua_concat(lua, 2);
  return 1;
}

int ToFloat(lua_State* lua) {
  const DecimalResult decimal = DecimalAt(lua, 1);
  if (!decimal.has_value()) return PushDecimal(lua, decimal);
  lua_pushnumber(lua, decimal->ToDouble());
  return 1;
}

int ToInteger(lua_State* lua) {
  Value number;
  NumberAt(lua, 1, &number);
  const std::optional<int64_t> integer =
      number.type() == ValueType::kDecimal ? NumberAsInt64(number.text()) : std::nullopt;
  if (integer.has_value()) {
    lua_pushinteger(lua, *integer);
  } else {
    lua_pushnil(lua);
  }
  return 1;
}

int Round(lua_State* lua) {
  const DecimalResult decimal = DecimalAt(lua, 1);
  const lua_Integer digits = luaL_optinteger(lua, 2, 0);
  luaL_argcheck(lua, digits >= -Decimal::kDigitsMax && digits <= Decimal::kDigitsMax, 2, "too many digits");
  return PushDecimal(lua, decimal.has_value() ? decimal->Round(static_cast<int>(digits)) : decimal);
}

int MakeDecimal(lua_State* lua) {
  Value number;
  if (NumberAt(lua, 1, &number) && number.type() == ValueType::kDecimal) {
    lua_settop(lua, 1);
    return 1;
  }
  if (lua_isinteger(lua, 1) == 0 && lua_type(lua, 1) != LUA_TSTRING) {
    return luaL_error(lua, "decimal() takes a text, an integer or a decimal, got %s: a float's digits are not exact",
                      KindAt(lua, 1));
  }
  size_t size = 0;
  const char* text = lua_tolstring(lua, 1, &size);
  if (!IsNumberText({text, size})) return luaL_error(lua, "decimal() of a text that is no number");
  PushValue(lua, Value::Text(ValueType::kDecimal, {text, size}));
  return 1;
}

int MakeBytes(lua_State* lua) {
  size_t size = 0;
  const char* text = luaL_checklstring(lua, 1, &size);
  PushValue(lua, Value::Text(ValueType::kBytes, {text, size}));
  return 1;
}

template <ValueType type>
int MakeTemporal(lua_State* lua) {
  size_t size = 0;
  const char* text = luaL_checklstring(lua, 1, &size);
  const TemporalText parsed = ParseTemporal(type, {text, size});
  if (parsed.error.has_value()) {
    return luaL_error(lua, "%s() of a text that is none, or out of range", ValueTypeName(type).data());
  }
  PushValue(lua, Value::Temporal(type, parsed.units));
  return 1;
}

int TypeOf(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (const Value* object = ObjectAt(lua, 1); object != nullptr) {
    lua_pushstring(lua, ValueTypeName(object->type()).data());
  } else if (IsNull(lua, 1)) {
    lua_pushliteral(lua, "null");
  } else if (lua_type(lua, 1) == LUA_TNUMBER) {
    lua_pushstring(lua, lua_isinteger(lua, 1) != 0 ? "int64" : "double");
  } else {
    lua_pushstring(lua, lua_typename(lua, lua_type(lua, 1)));
  }
  return 1;
}

int NullToText(lua_State* lua) {
  lua_pushliteral(lua, "null");
  return 1;
}

// All light userdata share one metatable; null is the only one that a script gets.
void SetNullMetatable(lua_State* lua) {
  PushNull(lua);
  lua_createtable(lua, 0, 2);
  lua_pushcfunction(lua, NullToText);
  lua_setfield(lua, -2, "__tostring");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 1);
}

void MakeValueMetatable(lua_State* lua) {
  static const luaL_Reg kMetamethods[] = {
      {"__add", Add},        {"__sub", Subtract},    {"__mul", Multiply},       {"__div", Divide},
      {"__mod", Modulo},     {"__unm", Negate},      {"__eq", Equal},           {"__lt", Less},
      {"__le", LessOrEqual}, {"__tostring", ToText}, {"__concat", Concatenate}, {nullptr, nullptr}};
  static const luaL_Reg kMethods[] = {
      {"float", ToFloat}, {"integer", ToInteger}, {"round", Round}, {"text", ToText}, {nullptr, nullptr}};
  lua_createtable(lua, 0, 16);
  luaL_setfuncs(lua, kMetamethods, 0);
  lua_createtable(lua, 0, 4);
  luaL_setfuncs(lua, kMethods, 0);
  lua_setfield(lua, -2, "__index");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  HostOf(lua).value_metatable = lua_topointer(lua, -1);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kMetatableAddress);
}

}  // namespace

void OpenValues(lua_State* lua) {
  static const luaL_Reg kFunctions[] = {{"decimal", MakeDecimal},
                                        {"bytes", MakeBytes},
                                        {"date", MakeTemporal<ValueType::kDate>},
                                        {"time", MakeTemporal<ValueType::kTime>},
                                        {"timestamp", MakeTemporal<ValueType::kTimestamp>},
                                        {"timestamptz", MakeTemporal<ValueType::kTimestampTz>},
                                        {"typeof", TypeOf},
                                        {nullptr, nullptr}};
  MakeValueMetatable(lua);
  SetNullMetatable(lua);
  luaL_setfuncs(lua, kFunctions, 0);
  PushNull(lua);
  lua_setfield(lua, -2, "null");
}

void PushNull(lua_State* lua) { lua_pushlightuserdata(lua, const_cast<char*>(&kNullAddress)); }

bool IsNull(lua_State* lua, int index) {
  return lua_type(lua, index) == LUA_TLIGHTUSERDATA && lua_touserdata(lua, index) == &kNullAddress;
}

void PushValue(lua_State* lua, const Value& value) {
  switch (value.type()) {
    case ValueType::kAbsent: lua_pushnil(lua); return;
    case ValueType::kNull: PushNull(lua); return;
    case ValueType::kBool: lua_pushboolean(lua, value.bool_value() ? 1 : 0); return;
    case ValueType::kInt64: lua_pushinteger(lua, value.int64_value()); return;
    case ValueType::kDouble: lua_pushnumber(lua, value.double_value()); return;
    case ValueType::kString: lua_pushlstring(lua, value.text().data(), value.text().size()); return;
    default: break;
  }
  const std::string_view text = value.has_text() ? value.text() : std::string_view();
  void* memory = lua_newuserdatauv(lua, sizeof(Value) + text.size(), 0);
  char* copy = static_cast<char*>(memory) + sizeof(Value);
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  new (memory) Value(value.has_text() ? Value::Text(value.type(), {copy, text.size()}) : value);
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kMetatableAddress);
  lua_setmetatable(lua, -2);
}

const Value* ObjectAt(lua_State* lua, int index) {
  if (lua_type(lua, index) != LUA_TUSERDATA || lua_getmetatable(lua, index) == 0) return nullptr;
  const bool ours = lua_topointer(lua, -1) == HostOf(lua).value_metatable;
  lua_pop(lua, 1);
  return ours ? static_cast<const Value*>(lua_touserdata(lua, index)) : nullptr;
}

const char* KindAt(lua_State* lua, int index) {
  if (const Value* object = ObjectAt(lua, index); object != nullptr) return ValueTypeName(object->type()).data();
  if (IsNull(lua, index)) return "null";
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER: return lua_isinteger(lua, index) != 0 ? "an integer" : "a float";
    case LUA_TNIL:
    case LUA_TNONE: return "nil";
    case LUA_TBOOLEAN: return "a boolean";
    case LUA_TSTRING: return "a string";
    case LUA_TTABLE: return "a table";
    case LUA_TFUNCTION: return "a function";
    default: return "an object";
  }
}

const char* ReadValue(lua_State* lua, int index, std::string& json, Value* out) {
  switch (lua_type(lua, index)) {
    case LUA_TNIL: *out = Value::Absent(); return nullptr;
    case LUA_TBOOLEAN: *out = Value::Bool(lua_toboolean(lua, index) != 0); return nullptr;
    case LUA_TNUMBER:
      *out = lua_isinteger(lua, index) != 0 ? Value::Int64(lua_tointegerx(lua, index, nullptr))
                                            : Value::Double(lua_tonumberx(lua, index, nullptr));
      return nullptr;
    case LUA_TSTRING: {
      size_t size = 0;
      const char* text = lua_tolstring(lua, index, &size);
      if (!IsUtf8({text, size})) return "a string that is not UTF-8 (bytes(...) makes a value of bytes)";
      *out = Value::Text(ValueType::kString, {text, size});
      return nullptr;
    }
    case LUA_TTABLE: {
      json.clear();
      if (const char* problem = AppendJson(lua, index, json); problem != nullptr) return problem;
      *out = Value::Text(ValueType::kJson, json);
      return nullptr;
    }
    default: break;
  }
  if (IsNull(lua, index)) {
    *out = Value::Null();
    return nullptr;
  }
  const Value* object = ObjectAt(lua, index);
  if (object == nullptr)
    return lua_type(lua, index) == LUA_TFUNCTION ? "a function" : "a row (copy(row) makes a table)";
  *out = *object;
  return nullptr;
}

}  // namespace weir::operators::script
