#include "operators/script/script_json.h"

#include <lua5.4/lua.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/json_escape.h"
#include "operators/decimal.h"
#include "operators/row_text.h"
#include "operators/script/script_values.h"
#include "operators/utf8.h"

namespace weir::operators::script {
namespace {

constexpr int kJsonDepthMax = 64;

// Writes tables; calls nothing that raises, so that it may hold strings.
class JsonTextWriter {
 public:
  JsonTextWriter(lua_State* lua, std::string& out) : lua_(lua), out_(out), bytes_max_(HostOf(lua).memory_max) {}

  const char* Append(int index, int depth) {
    if (out_.size() > bytes_max_) return "a table whose JSON is larger than memory-max";
    if (lua_type(lua_, index) == LUA_TTABLE) return AppendTable(index, depth);
    std::string unused;
    Value value;
    if (const char* problem = ReadValue(lua_, index, unused, &value); problem != nullptr) return problem;
    if (value.type() == ValueType::kDouble && !std::isfinite(value.double_value())) return "NaN or infinity in JSON";
    if (value.type() == ValueType::kDecimal && !(value.text().back() >= '0' && value.text().back() <= '9')) {
      return "NaN or infinity in JSON";
    }
    AppendValueAsJson(out_, value);
    return nullptr;
  }

 private:
  const char* AppendTable(int index, int depth) {
    if (depth == kJsonDepthMax) return "a table nested deeper than 64 levels (does it hold itself?)";
    if (lua_checkstack(lua_, 4) == 0) return "a table nested too deep";
    const lua_Unsigned length = lua_rawlen(lua_, index);
    return length > 0 || IsArray(index) ? AppendArray(index, length, depth) : AppendObject(index, depth);
  }

  bool IsArray(int index) {
    if (lua_getmetatable(lua_, index) == 0) return false;
    const bool array = lua_topointer(lua_, -1) == HostOf(lua_).array_metatable;
    lua_pop(lua_, 1);
    return array;
  }

  const char* AppendArray(int index, lua_Unsigned length, int depth) {
    lua_Unsigned members = 0;
    for (lua_pushnil(lua_); lua_next(lua_, index) != 0; lua_pop(lua_, 1)) ++members;
    if (members != length) return "a table that is neither a list without gaps nor has names alone";
    out_ += '[';
    for (lua_Unsigned i = 1; i <= length; ++i) {
      if (i > 1) out_ += ',';
      lua_rawgeti(lua_, index, static_cast<lua_Integer>(i));
      const char* problem = Append(lua_gettop(lua_), depth + 1);
      lua_pop(lua_, 1);
      if (problem != nullptr) return problem;
    }
    out_ += ']';
    return nullptr;
  }

  // Each member's text is written where it comes and then put in its place: names are Lua's and sorted outside of it.
  const char* AppendObject(int index, int depth) {
    std::vector<std::pair<std::string_view, std::string>> members;
    const size_t begin = out_.size();
    const char* problem = nullptr;
    for (lua_pushnil(lua_); problem == nullptr && lua_next(lua_, index) != 0; lua_pop(lua_, 1)) {
      if (lua_type(lua_, -2) != LUA_TSTRING) {
        problem = "a table that is neither a list without gaps nor has names alone";
        continue;
      }
      size_t size = 0;
      const char* name = lua_tolstring(lua_, -2, &size);
      if (!IsUtf8({name, size})) {
        problem = "a name that is not UTF-8";
        continue;
      }
      problem = Append(lua_gettop(lua_), depth + 1);
      members.emplace_back(std::string_view(name, size), out_.substr(begin));
      out_.resize(begin);
      held_ += members.back().second.size();
      if (held_ > bytes_max_) problem = "a table whose JSON is larger than memory-max";
    }
    if (problem != nullptr) {
      lua_settop(lua_, lua_gettop(lua_) - 1);  // the key that lua_next left
      return problem;
    }
    std::ranges::sort(members, {}, [](const auto& member) { return member.first; });
    out_ += '{';
    for (const auto& [name, text] : members) {
      if (out_.size() != begin + 1) out_ += ',';
      AppendJsonString(out_, name);
      out_ += ':';
      out_ += text;
      held_ -= text.size();
    }
    out_ += '}';
    return nullptr;
  }

  lua_State* const lua_;
  std::string& out_;
  const size_t bytes_max_;
  size_t held_ = 0;  // of members that wait for their order
};

// Reads a text onto Lua's stack; raises where it is broken.
class JsonTextReader {
 public:
  JsonTextReader(lua_State* lua, std::string_view text) : lua_(lua), text_(text) {}

  void ReadAll() {
    Read(0);
    SkipBlanks();
    if (at_ != text_.size()) Fail("text behind the value");
  }

 private:
  void Fail(const char* reason) {
    luaL_error(lua_, "json.decode: %s at byte %I", reason, static_cast<LUAI_UACINT>(at_ + 1));
  }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipBlanks() {
    while (Peek() == ' ' || Peek() == '\n' || Peek() == '\r' || Peek() == '\t') ++at_;
  }
  bool Take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void Read(int depth) {
    if (depth == kJsonDepthMax) Fail("more than 64 levels");
    luaL_checkstack(lua_, 4, "json.decode");
    SkipBlanks();
    if (Take("{")) return ReadObject(depth);
    if (Take("[")) return ReadArray(depth);
    if (Peek() == '"') return ReadString();
    if (Take("null")) return PushNull(lua_);
    if (Take("true")) return lua_pushboolean(lua_, 1);
    if (Take("false")) return lua_pushboolean(lua_, 0);
    ReadNumber();
  }

  void ReadObject(int depth) {
    lua_newtable(lua_);
    SkipBlanks();
    if (Take("}")) return;
    do {
      SkipBlanks();
      if (Peek() != '"') Fail("expected a name");
      ReadString();
      SkipBlanks();
      if (!Take(":")) Fail("expected ':'");
      Read(depth + 1);
      lua_rawset(lua_, -3);
      SkipBlanks();
    } while (Take(","));
    if (!Take("}")) Fail("expected ',' or '}'");
  }

  void ReadArray(int depth) {
    lua_newtable(lua_);
    luaL_setmetatable(lua_, "weir.array");
    SkipBlanks();
    if (Take("]")) return;
    lua_Integer i = 0;
    do {
      Read(depth + 1);
      lua_rawseti(lua_, -2, ++i);
      SkipBlanks();
    } while (Take(","));
    if (!Take("]")) Fail("expected ',' or ']'");
  }

  bool TakeDigits() {
    const size_t begin = at_;
    while (Peek() >= '0' && Peek() <= '9') ++at_;
    return at_ > begin;
  }

  void ReadNumber() {
    const size_t begin = at_;
    Take("-");
    if (!Take("0") && !TakeDigits()) Fail("expected a value");
    if (Take(".") && !TakeDigits()) Fail("expected a digit");
    if (Take("e") || Take("E")) {
      if (!Take("+")) Take("-");
      if (!TakeDigits()) Fail("expected a digit");
    }
    const std::string_view token = text_.substr(begin, at_ - begin);
    int64_t integer = 0;
    const auto end = std::from_chars(token.data(), token.data() + token.size(), integer);
    const bool whole = end.ec == std::errc() && end.ptr == token.data() + token.size() && token != "-0";
    PushValue(lua_, whole ? Value::Int64(integer) : Value::Text(ValueType::kDecimal, token));
  }

  void ReadString() {
    std::string& text = HostOf(lua_).scratch;
    text.clear();
    ++at_;
    while (true) {
      const auto c = static_cast<unsigned char>(Peek());
      if (c == '"' && at_ < text_.size()) break;
      if (c < 0x20) Fail("an unfinished string");
      if (c == '\\') {
        ++at_;
        ReadEscape(text);
        continue;
      }
      const size_t length = Utf8SequenceLength(text_.substr(at_));
      if (length == 0) Fail("a string that is not UTF-8");
      text.append(text_, at_, length);
      at_ += length;
    }
    ++at_;
    lua_pushlstring(lua_, text.data(), text.size());
  }

  void ReadEscape(std::string& text) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    const size_t simple = kNames.find(Peek());
    if (at_ < text_.size() && simple != std::string_view::npos) {
      text += kMeant[simple];
      ++at_;
      return;
    }
    uint32_t code = ReadCodeUnit();
    if (code >= 0xd800 && code < 0xdc00) {
      if (!Take("\\")) Fail("half a surrogate pair");
      const uint32_t low = ReadCodeUnit();
      if (low < 0xdc00 || low > 0xdfff) Fail("half a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
      Fail("half a surrogate pair");
    }
    AppendUtf8(text, code);
  }

  uint32_t ReadCodeUnit() {
    uint32_t code = 0;
    if (!Take("u") || at_ + 4 > text_.size()) Fail("an unknown escape");
    const char* begin = text_.data() + at_;
    const auto end = std::from_chars(begin, begin + 4, code, 16);
    if (end.ec != std::errc() || end.ptr != begin + 4) Fail("an unknown escape");
    at_ += 4;
    return code;
  }

  static void AppendUtf8(std::string& text, uint32_t code) {
    const auto put = [&text](uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
      put(0xc0 | (code >> 6));
    } else if (code < 0x10000) {
      put(0xe0 | (code >> 12));
      put(0x80 | ((code >> 6) & 0x3f));
    } else {
      put(0xf0 | (code >> 18));
      put(0x80 | ((code >> 12) & 0x3f));
      put(0x80 | ((code >> 6) & 0x3f));
    }
    put(0x80 | (code & 0x3f));
  }

  lua_State* const lua_;
  const std::string_view text_;
  size_t at_ = 0;
};

// Of a text or a column of type json.
int Decode(lua_State* lua) {
  std::string_view text;
  if (const Value* object = ObjectAt(lua, 1); object != nullptr && object->type() == ValueType::kJson) {
    text = object->text();
  } else {
    size_t size = 0;
    const char* characters = luaL_checklstring(lua, 1, &size);
    text = {characters, size};
  }
  CheckTime(lua);
  PushJson(lua, text);
  return 1;
}

int Encode(lua_State* lua) {
  luaL_checkany(lua, 1);
  lua_settop(lua, 1);
  std::string& text = HostOf(lua).scratch;
  text.clear();
  if (const char* problem = AppendJson(lua, 1, text); problem != nullptr) {
    return luaL_error(lua, "json.encode: %s", problem);
  }
  lua_pushlstring(lua, text.data(), text.size());
  return 1;
}

int MarkArray(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 1);
  luaL_argcheck(lua, lua_getmetatable(lua, 1) == 0, 1, "the table has a metatable");
  luaL_setmetatable(lua, "weir.array");
  return 1;
}

}  // namespace

void OpenJson(lua_State* lua) {
  static const luaL_Reg kFunctions[] = {
      {"decode", Decode}, {"encode", Encode}, {"array", MarkArray}, {nullptr, nullptr}};
  luaL_newmetatable(lua, "weir.array");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  HostOf(lua).array_metatable = lua_topointer(lua, -1);
  lua_pop(lua, 1);
  luaL_newlib(lua, kFunctions);
  lua_setfield(lua, -2, "json");
}

void PushJson(lua_State* lua, std::string_view text) { JsonTextReader(lua, text).ReadAll(); }

const char* AppendJson(lua_State* lua, int index, std::string& out) {
  return JsonTextWriter(lua, out).Append(lua_absindex(lua, index), 0);
}

}  // namespace weir::operators::script
