#include "connectors/file/source.h"

#include <utility>

#include "connectors/file/enumerator.h"
#include "connectors/file/folder.h"
#include "connectors/file/reader.h"

namespace weir::connectors {
namespace {

using operators::Options;
using operators::OptionSpec;
using operators::OptionType;

class FileSource final : public operators::Source {
 public:
  FileSource(FileSystem& fs, FileSourceOptions options) : fs_(fs), options_(std::move(options)) {}

  Result<std::unique_ptr<operators::SplitEnumerator>> CreateEnumerator() override {
    return std::make_unique<FileEnumerator>(fs_, options_);
  }
  Result<std::unique_ptr<operators::SourceReader>> CreateReader() override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Deserializer> deserializer, NewDeserializer(options_.format));
    return std::make_unique<FileReader>(fs_, options_, std::move(deserializer));
  }
  bool bounded() const override { return !options_.follow; }

 private:
  FileSystem& fs_;
  const FileSourceOptions options_;
};

std::vector<OptionSpec> FileSourceOptionSpecs() {
  std::vector<OptionSpec> specs = {
      {.name = "path",
       .type = OptionType::kString,
       .required = true,
       .doc = "A file, or a pattern of files in one folder: the last part of the path may hold * and ?."},
      {.name = "follow",
       .type = OptionType::kBool,
       .default_text = "false",
       .doc = "Whether to wait for more at the end of each file, and for more files."},
      {.name = "discovery-interval",
       .type = OptionType::kDuration,
       .default_text = "1s",
       .doc = "How often to look for more when following.",
       .min = 1},
      {.name = "max-line-bytes",
       .type = OptionType::kBytes,
       .default_text = "16MiB",
       .doc = "A longer line is a bad record.",
       .min = 16,
       .max = int64_t{1} << 30}};
  specs.push_back(operators::OnErrorSpec());
  for (OptionSpec& spec : DeserializerOptions()) specs.push_back(std::move(spec));
  return specs;
}

}  // namespace

bool MatchesPattern(std::string_view name, std::string_view pattern) {
  size_t at = 0;
  size_t in_pattern = 0;
  size_t star = std::string_view::npos;  // the last one met, and what it has taken so far
  size_t taken = 0;
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      taken = at;
    } else if (in_pattern < pattern.size() && (pattern[in_pattern] == '?' || pattern[in_pattern] == name[at])) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
  return in_pattern == pattern.size();
}

operators::SourceType FileSourceType(FileSystem& fs, std::string working_directory) {
  const auto check = [working_directory](const Options& options, operators::Problems& problems) {
    CheckDeserializerOptions(options, problems);
    if (!options.Has("path")) return;  // reported as missing
    const std::string& written = options.String("path");
    const Result<std::string> path = AbsolutePath(written, working_directory);
    if (!path.has_value()) {
      problems.push_back({options.PathOf("path"), written, "the path of a file", path.error().message()});
    } else if (ParentDirectory(*path).find_first_of("*?") != std::string::npos) {
      problems.push_back(
          {options.PathOf("path"), written, "* and ? in the last part only",
           "the folder part of path " + written + " holds * or ?: only the file's name may be a pattern"});
    }
  };
  const auto create = [&fs, working_directory](const Options& options) -> Result<std::unique_ptr<operators::Source>> {
    FileSourceOptions source;
    WEIR_ASSIGN_OR_RETURN(source.path, AbsolutePath(options.String("path"), working_directory));
    source.follow = options.Bool("follow");
    source.discovery_interval = options.Time("discovery-interval");
    source.line_bytes_max = static_cast<uint64_t>(options.Integer("max-line-bytes"));
    source.bad_records = operators::OnError(options);
    source.format = options;
    return std::make_unique<FileSource>(fs, std::move(source));
  };
  return {.name = "file",
          .doc = "Lines of files, each a record.",
          .options = FileSourceOptionSpecs(),
          .check = check,
          .create = create};
}

}  // namespace weir::connectors
