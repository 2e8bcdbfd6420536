#include "tests/tidy/source_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weir::tidy {
namespace {

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Walks over C++ and blanks what is not code.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text), out_(text) {}

  std::string Run() {
    while (at_ < text_.size()) {
      if (Starts("//")) {
        BlankTo(text_.find('\n', at_));
      } else if (Starts("/*")) {
        BlankTo(After("*/", at_ + 2));
      } else if (Starts("R\"") && !WordBefore()) {
        RawString();
      } else if (text_[at_] == '"' || (text_[at_] == '\'' && !WordBefore())) {
        Literal(text_[at_]);
      } else {
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  bool Starts(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }
  // A quote behind a digit separates digits; an R behind a letter ends a name.
  bool WordBefore() const { return at_ > 0 && IsWordCharacter(text_[at_ - 1]); }
  size_t After(std::string_view mark, size_t from) const {
    const size_t found = text_.find(mark, from);
    return found == std::string_view::npos ? found : found + mark.size();
  }
  void BlankTo(size_t end) {
    end = std::min(end, text_.size());
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') out_[at_] = ' ';
    }
  }
  void RawString() {
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return BlankTo(open);
    std::string mark = ")";
    mark += text_.substr(at_ + 2, open - at_ - 2);
    mark += '"';
    BlankTo(After(mark, open));
  }
  // The quotes stay, so that a rule can still see that a text stands there.
  void Literal(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2U : 1U;
    ++at_;
    BlankTo(end);
    at_ = std::min(end + 1, text_.size());
  }

  std::string_view text_;
  std::string out_;
  size_t at_ = 0;
};

constexpr std::array<std::string_view, 12> kEndings = {".h",    ".cc",    ".txt", ".cmake", ".md", ".json",
                                                       ".yaml", ".proto", ".yy",  ".xml",   ".py", ".supp"};
// Not ours, or data that tests are about.
constexpr std::array<std::string_view, 5> kSkippedFolders = {"build", ".git", ".cache", "input", "expected"};

bool Wanted(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const bool script = path.extension().empty();
  return script || std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view e) { return name.ends_with(e); });
}

}  // namespace

std::string SourceFile::folder() const {
  const size_t slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string SourceFile::name() const { return path.substr(path.rfind('/') + 1); }

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

int LineAt(std::string_view text, size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

bool HoldsOneOf(std::string_view text, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& w) { return text.find(w) != std::string_view::npos; });
}

std::string CodeOnly(std::string_view text) { return Blanker(text).Run(); }

std::string WithoutPreprocessor(std::string_view code) {
  std::string out(code);
  bool continues = false;
  size_t at = 0;
  for (const std::string_view line : Lines(code)) {
    const size_t first = line.find_first_not_of(" \t");
    const bool blank = continues || (first != std::string_view::npos && line[first] == '#');
    continues = blank && line.ends_with('\\');
    if (blank) out.replace(at, line.size(), line.size(), ' ');
    at += line.size() + 1;
  }
  return out;
}

std::vector<SourceFile> ReadTree(const std::string& root) {
  std::vector<SourceFile> files;
  for (auto entry = std::filesystem::recursive_directory_iterator(root);
       entry != std::filesystem::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory()) {
      const bool skipped = std::ranges::find(kSkippedFolders, name) != kSkippedFolders.end();
      if (skipped || name.ends_with("corpus")) entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file() || !Wanted(entry->path())) continue;
    std::ifstream in(entry->path());
    std::stringstream text;
    text << in.rdbuf();
    files.push_back({std::filesystem::relative(entry->path(), root).string(), text.str()});
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

}  // namespace weir::tidy
