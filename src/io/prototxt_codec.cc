// Message <-> protobuf's text format.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "io/codec.h"

namespace sbp {
namespace {

namespace pb = google::protobuf;

// Keeps the first error, with its place.
class FirstError : public pb::io::ErrorCollector {
 public:
  FirstError(std::string_view where, const pb::DescriptorPool& pool) : where_(where), pool_(pool) {}

  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (!status_.ok()) return;
    const std::string place = line < 0 ? std::string(where_) : StrCat(where_, ":", line + 1, ":", column + 1);
    status_ = BadInput(StrCat(place, ": ", Improve(message)));
  }
  void AddWarning(int /*line*/, pb::io::ColumnNumber /*column*/, const std::string& /*message*/) override {}
  const Status& status() const { return status_; }

 private:
  // Protobuf's own text for an unknown field does not name the nearest one.
  std::string Improve(const std::string& message) const {
    const std::vector<std::string_view> parts = Split(message, '"');
    if (parts.size() == 5 && parts[0] == "Message type " && parts[2] == " has no field named ") {
      const pb::Descriptor* descriptor = pool_.FindMessageTypeByName(std::string(parts[1]));
      if (descriptor != nullptr) return UnknownFieldMessage(*descriptor, parts[3]);
    }
    if (message.ends_with(", got: ")) return message + "the end of the file";
    return message.size() <= 300 ? message : message.substr(0, 300) + "...";
  }

  std::string_view where_;
  const pb::DescriptorPool& pool_;
  Status status_;
};

}  // namespace

Status DecodePrototxt(std::string_view text, std::string_view where, pb::Message& message) {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return BadInput(StrCat(where, ": ", text.size(), " bytes; a prototxt document may have at most 2147483647"));
  }
  FirstError errors(where, *message.GetDescriptor()->file()->pool());
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kMaxMessageDepth);
  pb::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  if (parser.Parse(&input, &message)) return OkStatus();
  return errors.status().ok() ? BadInput(StrCat(where, ": not valid prototxt")) : errors.status();
}

std::string EncodePrototxt(const pb::Message& message) {
  pb::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

}  // namespace sbp
