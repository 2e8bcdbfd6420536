// string.find, match, gmatch and gsub for scripts: the language and the results of Lua's own, over a matcher that can
// be stopped.
#include <lua5.4/lua.hpp>

#include <algorithm>
#include <string_view>

#include "operators/script/pattern.h"
#include "operators/script/script_library.h"

namespace weir::operators::script {
namespace {

std::string_view CheckText(lua_State* lua, int index) {
  size_t size = 0;
  const char* text = luaL_checklstring(lua, index, &size);
  return {text, size};
}

bool StopMatching(void* lua) { return TimeIsOver(HostOf(static_cast<lua_State*>(lua))); }

void RaiseFailure(lua_State* lua, const PatternMatcher& matcher) {
  if (matcher.failure() == PatternMatcher::Failure::kStopped) CheckTime(lua);
  if (matcher.failure() != PatternMatcher::Failure::kNone) luaL_error(lua, "%s", matcher.failure_text());
}

void PushCapture(lua_State* lua, const PatternMatcher& matcher, size_t i, std::string_view whole,
                 std::string_view subject) {
  if (i >= matcher.captures()) {
    if (i != 0) luaL_error(lua, "invalid capture index %%%d", static_cast<int>(i + 1));
    lua_pushlstring(lua, whole.data(), whole.size());
    return;
  }
  const PatternMatcher::Capture& capture = matcher.capture(i);
  if (capture.position) {
    lua_pushinteger(lua, static_cast<lua_Integer>(capture.begin + 1));
  } else {
    lua_pushlstring(lua, subject.data() + capture.begin, capture.length);
  }
}

// All captures; the whole match if there are none and `whole_too`.
int PushCaptures(lua_State* lua, const PatternMatcher& matcher, std::string_view whole, std::string_view subject,
                 bool whole_too) {
  const size_t count = matcher.captures() == 0 && whole_too ? 1 : matcher.captures();
  luaL_checkstack(lua, static_cast<int>(count), "too many captures");
  for (size_t i = 0; i < count; ++i) PushCapture(lua, matcher, i, whole, subject);
  return static_cast<int>(count);
}

// Where to begin: from 1, negative from the end.
size_t CheckStart(lua_State* lua, int index, size_t size) {
  const lua_Integer start = luaL_optinteger(lua, index, 1);
  if (start > 0) return static_cast<size_t>(start) - 1;
  if (start == 0 || start < -static_cast<lua_Integer>(size)) return 0;
  return size - static_cast<size_t>(-start);
}

int PushPlace(lua_State* lua, size_t begin, size_t end) {
  lua_pushinteger(lua, static_cast<lua_Integer>(begin + 1));
  lua_pushinteger(lua, static_cast<lua_Integer>(end));
  return 2;
}

int PushNothing(lua_State* lua) {
  lua_pushnil(lua);
  return 1;
}

// As std::string_view::find, which can take the product of both sizes.
size_t FindPlain(lua_State* lua, std::string_view subject, std::string_view pattern, size_t start) {
  constexpr size_t kBetweenChecks = 1 << 20;
  if (pattern.empty()) return start;
  size_t looked_at = 0;
  for (size_t at = start; at < subject.size() && subject.size() - at >= pattern.size(); ++at) {
    at = subject.find(pattern.front(), at);
    if (at == std::string_view::npos) return at;
    if (subject.substr(at).starts_with(pattern)) return at;
    looked_at += pattern.size();
    if (looked_at < kBetweenChecks) continue;
    CheckTime(lua);
    looked_at = 0;
  }
  return std::string_view::npos;
}

int FindOrMatch(lua_State* lua, bool find) {
  const std::string_view subject = CheckText(lua, 1);
  const std::string_view pattern = CheckText(lua, 2);
  const size_t start = CheckStart(lua, 3, subject.size());
  if (start > subject.size()) return PushNothing(lua);
  CheckTime(lua);
  const bool plain = pattern.find_first_of("^$*+?.([%-") == std::string_view::npos;
  if (find && (lua_toboolean(lua, 4) != 0 || plain)) {
    const size_t found = FindPlain(lua, subject, pattern, start);
    if (found == std::string_view::npos) return PushNothing(lua);
    return PushPlace(lua, found, found + pattern.size());
  }
  const bool anchored = pattern.starts_with('^');
  PatternMatcher matcher(subject, pattern, StopMatching, lua);
  for (size_t begin = start; begin <= subject.size(); ++begin) {
    const size_t end = matcher.MatchAt(begin, anchored ? 1 : 0);
    RaiseFailure(lua, matcher);
    if (end != PatternMatcher::kNone) {
      const std::string_view whole = subject.substr(begin, end - begin);
      if (!find) return PushCaptures(lua, matcher, whole, subject, true);
      return PushPlace(lua, begin, end) + PushCaptures(lua, matcher, whole, subject, false);
    }
    if (anchored) break;
  }
  return PushNothing(lua);
}

int Find(lua_State* lua) { return FindOrMatch(lua, true); }
int Match(lua_State* lua) { return FindOrMatch(lua, false); }

// Upvalues: subject, pattern, where to go on, the end of the match before (-1: none).
int NextMatch(lua_State* lua) {
  const std::string_view subject = CheckText(lua, lua_upvalueindex(1));
  const std::string_view pattern = CheckText(lua, lua_upvalueindex(2));
  const lua_Integer last = lua_tointeger(lua, lua_upvalueindex(4));
  PatternMatcher matcher(subject, pattern, StopMatching, lua);
  CheckTime(lua);
  for (auto begin = static_cast<size_t>(lua_tointeger(lua, lua_upvalueindex(3))); begin <= subject.size(); ++begin) {
    const size_t end = matcher.MatchAt(begin, 0);
    RaiseFailure(lua, matcher);
    if (end == PatternMatcher::kNone || static_cast<lua_Integer>(end) == last) continue;
    for (const int place : {3, 4}) {
      lua_pushinteger(lua, static_cast<lua_Integer>(end));
      lua_replace(lua, lua_upvalueindex(place));
    }
    return PushCaptures(lua, matcher, subject.substr(begin, end - begin), subject, true);
  }
  return 0;
}

int MatchAll(lua_State* lua) {
  const std::string_view subject = CheckText(lua, 1);
  CheckText(lua, 2);
  const size_t start = CheckStart(lua, 3, subject.size());
  lua_settop(lua, 2);
  lua_pushinteger(lua, static_cast<lua_Integer>(std::min(start, subject.size() + 1)));
  lua_pushinteger(lua, -1);
  lua_pushcclosure(lua, NextMatch, 4);
  return 1;
}

// "%1-%0" with the captures put in.
void AddTemplate(lua_State* lua, luaL_Buffer* buffer, const PatternMatcher& matcher, std::string_view whole,
                 std::string_view subject) {
  const std::string_view text = CheckText(lua, 3);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      luaL_addchar(buffer, text[i]);
      continue;
    }
    const char c = ++i < text.size() ? text[i] : '\0';
    if (c == '%') {
      luaL_addchar(buffer, '%');
    } else if (c == '0') {
      luaL_addlstring(buffer, whole.data(), whole.size());
    } else if (c >= '1' && c <= '9') {
      PushCapture(lua, matcher, static_cast<size_t>(c - '1'), whole, subject);
      luaL_tolstring(lua, -1, nullptr);
      lua_remove(lua, -2);
      luaL_addvalue(buffer);
    } else {
      luaL_error(lua, "invalid use of '%%' in replacement string");
    }
  }
}

void AddReplacement(lua_State* lua, luaL_Buffer* buffer, const PatternMatcher& matcher, std::string_view whole,
                    std::string_view subject) {
  const int type = lua_type(lua, 3);
  if (type == LUA_TSTRING || type == LUA_TNUMBER) return AddTemplate(lua, buffer, matcher, whole, subject);
  if (type == LUA_TFUNCTION) {
    lua_pushvalue(lua, 3);
    lua_call(lua, PushCaptures(lua, matcher, whole, subject, true), 1);
  } else {
    PushCapture(lua, matcher, 0, whole, subject);
    lua_gettable(lua, 3);
  }
  if (lua_toboolean(lua, -1) == 0) {
    lua_pop(lua, 1);
    luaL_addlstring(buffer, whole.data(), whole.size());
    return;
  }
  if (lua_isstring(lua, -1) == 0) {
    luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
  }
  luaL_addvalue(buffer);
}

int Substitute(lua_State* lua) {
  const std::string_view subject = CheckText(lua, 1);
  const std::string_view pattern = CheckText(lua, 2);
  const int type = lua_type(lua, 3);
  luaL_argexpected(lua, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE, 3,
                   "string/function/table");
  const lua_Integer times_max = luaL_optinteger(lua, 4, static_cast<lua_Integer>(subject.size()) + 1);
  CheckTime(lua);
  lua_settop(lua, 4);
  const bool anchored = pattern.starts_with('^');
  PatternMatcher matcher(subject, pattern, StopMatching, lua);
  luaL_Buffer buffer;
  luaL_buffinit(lua, &buffer);
  size_t at = 0;
  size_t last = PatternMatcher::kNone;
  lua_Integer times = 0;
  while (times < times_max) {
    const size_t end = matcher.MatchAt(at, anchored ? 1 : 0);
    RaiseFailure(lua, matcher);
    if (end != PatternMatcher::kNone && end != last) {
      ++times;
      AddReplacement(lua, &buffer, matcher, subject.substr(at, end - at), subject);
      at = last = end;
    } else if (at < subject.size()) {
      luaL_addchar(&buffer, subject[at]);
      ++at;
    } else {
      break;
    }
    if (anchored) break;
  }
  if (at < subject.size()) luaL_addlstring(&buffer, subject.data() + at, subject.size() - at);
  luaL_pushresult(&buffer);
  lua_pushinteger(lua, times);
  return 2;
}

}  // namespace

void OpenPatterns(lua_State* lua) {
  static const luaL_Reg kFunctions[] = {
      {"find", Find}, {"match", Match}, {"gmatch", MatchAll}, {"gsub", Substitute}, {nullptr, nullptr}};
  luaL_setfuncs(lua, kFunctions, 0);
}

}  // namespace weir::operators::script
