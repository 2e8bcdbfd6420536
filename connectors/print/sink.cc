#include "connectors/print/sink.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "connectors/format/json_writer.h"

namespace weir::connectors {
namespace {

class PrintWriter final : public operators::SinkWriter {
 public:
  PrintWriter(PrintLines print, bool row_kinds, std::string prefix)
      : print_(std::move(print)), row_kinds_(row_kinds), prefix_(std::move(prefix)), writer_("") {}

  Status Open(operators::WriterContext&) override { return Status::Ok(); }
  bool CanWrite() override { return true; }

  Status Write(operators::Batch batch) override {
    lines_.clear();
    for (size_t i = 0; i < batch.rows(); ++i) {
      lines_ += prefix_;
      if (row_kinds_) {
        lines_ += operators::RowKindName(batch.kind(i));
        lines_ += ' ';
      }
      batch.set_kind(i, operators::RowKind::kInsert);  // here a row of any kind is worth a line
      WEIR_RETURN_IF_ERROR(writer_.Append(batch, i, lines_));
      lines_ += '\n';
    }
    return print_(lines_);
  }

  Result<bool> ReadyForBarrier() override { return true; }
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId) override {
    return std::vector<checkpoint::Committable>();
  }

 private:
  const PrintLines print_;
  const bool row_kinds_;
  const std::string prefix_;
  JsonWriter writer_;
  std::string lines_;
};

class PrintSink final : public operators::Sink {
 public:
  PrintSink(PrintLines print, bool row_kinds, std::string prefix)
      : print_(std::move(print)), row_kinds_(row_kinds), prefix_(std::move(prefix)) {}
  Result<std::unique_ptr<operators::SinkWriter>> CreateWriter() override {
    return std::make_unique<PrintWriter>(print_, row_kinds_, prefix_);
  }
  std::string system() const override { return {}; }
  Result<std::unique_ptr<checkpoint::Committer>> CreateCommitter(const operators::CommitterContext&) override {
    return Error(Status::Internal("the sink print has no committer"));
  }

 private:
  const PrintLines print_;
  const bool row_kinds_;
  const std::string prefix_;
};

Status PrintToStandardOutput(std::string_view lines) {
  if (std::fwrite(lines.data(), 1, lines.size(), stdout) != lines.size() || std::fflush(stdout) != 0) {
    return Status::IoError("can't write to standard output");
  }
  return Status::Ok();
}

}  // namespace

operators::SinkType PrintSinkType(PrintLines print) {
  if (!print) print = PrintToStandardOutput;
  return {.name = "print",
          .doc = "Rows as JSON lines on standard output.",
          .options = {{.name = "row-kinds",
                       .type = operators::OptionType::kBool,
                       .default_text = "true",
                       .doc = "Each line begins with the row's kind, +I, -U, +U or -D."},
                      {.name = "prefix",
                       .type = operators::OptionType::kString,
                       .default_text = "",
                       .doc = "What each line begins with, before the kind."}},
          .create = [print](const operators::Options& options) -> Result<std::unique_ptr<operators::Sink>> {
            std::string prefix = options.Has("prefix") ? options.String("prefix") : std::string();
            return std::make_unique<PrintSink>(print, options.Bool("row-kinds"), std::move(prefix));
          }};
}

}  // namespace weir::connectors
