#include "connectors/file/sink.h"

#include <cstdint>
#include <utility>

#include "connectors/file/committer.h"
#include "connectors/file/folder.h"
#include "connectors/format/json_writer.h"
#include "operators/raw_value.h"

namespace weir::connectors {
namespace {

using operators::Options;
using operators::OptionSpec;
using operators::OptionType;

constexpr size_t kFileNameBytesMax = 255;

std::vector<OptionSpec> FileSinkOptions() {
  return {
      {.name = "path", .type = OptionType::kString, .required = true, .doc = "The folder; made if missing."},
      {.name = "prefix",
       .type = OptionType::kString,
       .default_text = "part",
       .doc = "What file names begin with: no dot in front, no /, and short enough for a name of 255 bytes in all."},
      {.name = "delivery",
       .type = OptionType::kEnum,
       .default_text = "exactly-once",
       .doc =
           "exactly-once: a part appears when its checkpoint is durable. at-least-once: as soon as it is closed, at a "
           "barrier or at a roll bound; a restart may write rows again.",
       .choices = {"exactly-once", "at-least-once"}},
      {.name = "roll-bytes",
       .type = OptionType::kBytes,
       .default_text = "128MiB",
       .doc = "A part is closed when it has this many bytes.",
       .min = 1},
      {.name = "roll-rows",
       .type = OptionType::kInteger,
       .default_text = "1000000000000",
       .doc = "A part is closed when it has this many rows.",
       .min = 1},
      {.name = "roll-age",
       .type = OptionType::kDuration,
       .default_text = "1d",
       .doc =
           "A part is closed by the first row that comes this long after it was begun; every barrier closes it anyway.",
       .min = 1},
      {.name = "row-kind-column",
       .type = OptionType::kString,
       .default_text = "",
       .doc = "A member that tells +I, -U, +U or -D. Without it -U is left out and -D is an error."}};
}

void CheckPrefix(const Options& options, operators::Problems& problems) {
  const std::string& prefix = options.String("prefix");
  const auto add = [&](std::string expected, std::string message) {
    problems.push_back(
        {options.PathOf("prefix"), operators::QuotedExcerpt(prefix), std::move(expected), std::move(message)});
  };
  if (prefix.starts_with('.')) add("a prefix without a dot in front", "files whose names begin with a dot are hidden");
  if (prefix.find('/') != std::string::npos) add("a prefix without /", "a / would be the name of a folder (see path)");
  const std::string id = options.Has("id") ? options.String("id") : std::string();
  const size_t longest = PartName(PartNameStem(prefix, id, UniqueId(), UINT32_MAX), UINT64_MAX).size();
  if (longest <= kFileNameBytesMax) return;
  const size_t rest = PartName(PartNameStem("", id, UniqueId(), UINT32_MAX), UINT64_MAX).size();
  add("a prefix of at most " + std::to_string(kFileNameBytesMax - rest) + " bytes",
      "with id, attempt, subtask and sequence the names of parts could have " + std::to_string(longest) +
          " bytes, and a file's name has at most " + std::to_string(kFileNameBytesMax));
}

}  // namespace

FileSink::FileSink(FileSystem& fs, FileWriterOptions options, std::string row_kind_column)
    : fs_(fs), options_(std::move(options)), row_kind_column_(std::move(row_kind_column)) {}

Result<std::unique_ptr<operators::SinkWriter>> FileSink::CreateWriter() {
  return std::make_unique<FileSinkWriter>(fs_, options_, std::make_unique<JsonWriter>(row_kind_column_));
}

std::string FileSink::system() const { return options_.exactly_once ? "file:" + options_.path : std::string(); }

Result<std::unique_ptr<checkpoint::Committer>> FileSink::CreateCommitter(const operators::CommitterContext& context) {
  return std::make_unique<FileCommitter>(fs_, SinkFolder(options_.path, context.job));
}

operators::SinkType FileSinkType(FileSystem& fs, std::string working_directory) {
  const auto check = [working_directory](const Options& options, operators::Problems& problems) {
    CheckPrefix(options, problems);
    if (!options.Has("path")) return;  // reported as missing
    const Result<std::string> path = AbsolutePath(options.String("path"), working_directory);
    if (!path.has_value()) {
      problems.push_back(
          {options.PathOf("path"), options.String("path"), "the path of a folder", path.error().message()});
    }
  };
  const auto create = [&fs, working_directory](const Options& options) -> Result<std::unique_ptr<operators::Sink>> {
    WEIR_ASSIGN_OR_RETURN(std::string path, AbsolutePath(options.String("path"), working_directory));
    FileWriterOptions writer;
    writer.path = std::move(path);
    writer.prefix = options.String("prefix");
    writer.roll_bytes = options.Integer("roll-bytes");
    writer.roll_rows = options.Integer("roll-rows");
    writer.roll_age = options.Time("roll-age");
    writer.exactly_once = options.String("delivery") == "exactly-once";
    const std::string kind_column = options.Has("row-kind-column") ? options.String("row-kind-column") : std::string();
    return std::make_unique<FileSink>(fs, std::move(writer), kind_column);
  };
  return {.name = "file",
          .doc = "Rows as JSON lines in files of a folder, exactly once.",
          .options = FileSinkOptions(),
          .check = check,
          .create = create};
}

}  // namespace weir::connectors
