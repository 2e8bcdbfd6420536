#include "jobs/metrics_text.h"

#include <charconv>
#include <cmath>

namespace weir::jobs {
namespace {

// [a-zA-Z_][a-zA-Z0-9_]*: what both names of metrics and names of labels may be.
std::string NameOf(std::string_view text) {
  std::string name(text);
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !(digit && i > 0)) name[i] = '_';
  }
  return name;
}

void AppendEscaped(std::string& text, std::string_view value, bool quotes) {
  for (const char c : value) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '"' && quotes) {
      text += "\\\"";
    } else {
      text += c;
    }
  }
}

std::string NumberText(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[64];
  // Counts and bytes as whole numbers: as many digits as a double holds exactly.
  const bool whole = std::trunc(value) == value && std::fabs(value) < 9'007'199'254'740'992.0;
  const auto end = whole ? std::to_chars(text, text + sizeof(text), static_cast<int64_t>(value))
                         : std::to_chars(text, text + sizeof(text), value);
  return {text, end.ptr};
}

}  // namespace

void MetricsText::Counter(std::string_view name, std::string_view help, Labels labels, double value) {
  Add(name, help, "counter", labels, value);
}

void MetricsText::Gauge(std::string_view name, std::string_view help, Labels labels, double value) {
  Add(name, help, "gauge", labels, value);
}

void MetricsText::Add(std::string_view name, std::string_view help, std::string_view type, const Labels& labels,
                      double value) {
  if (std::isnan(value)) return;
  const std::string written = NameOf(name);
  Family& family = families_[written];
  if (family.samples.empty()) {
    AppendEscaped(family.help, help, false);
    family.type = type;
  }
  std::string sample = written;
  char before = '{';
  for (const auto& [label, text] : labels) {
    sample += before;
    sample += NameOf(label);
    sample += "=\"";
    AppendEscaped(sample, text, true);
    sample += '"';
    before = ',';
  }
  if (!labels.empty()) sample += '}';
  sample += ' ';
  sample += NumberText(value);
  family.samples.push_back(std::move(sample));
}

std::string MetricsText::Text() const {
  std::string text;
  for (const auto& [name, family] : families_) {
    text += "# HELP " + name + " " + family.help + "\n# TYPE " + name + " ";
    text += family.type;
    text += '\n';
    for (const std::string& sample : family.samples) {
      text += sample;
      text += '\n';
    }
  }
  return text;
}

}  // namespace weir::jobs
