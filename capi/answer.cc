#include "capi/answer.h"

#include <cstddef>
#include <string>

#include "base/dtype.h"
#include "capi/sbp_plan.h"

namespace {

// Of no answer, which is there where memory is out.
const std::string& ErrorOfNone() {
  static const std::string kError = "error: out of memory\n";
  return kError;
}
const std::string& NoText() {
  static const std::string kNone;
  return kNone;
}

const char* TextOf(const std::string& text, size_t* size) {
  if (size != nullptr) *size = text.size();
  return text.c_str();
}

}  // namespace

const char* sbp_answer_output(const sbp_answer* answer, size_t* size) {
  return TextOf(answer == nullptr ? NoText() : answer->output, size);
}
const char* sbp_answer_chatter(const sbp_answer* answer, size_t* size) {
  return TextOf(answer == nullptr ? ErrorOfNone() : answer->chatter, size);
}

size_t sbp_answer_num_documents(const sbp_answer* answer) { return answer == nullptr ? 0 : answer->documents.size(); }
int sbp_answer_document(const sbp_answer* answer, size_t index, sbp_document* out) {
  if (index >= sbp_answer_num_documents(answer)) return 0;
  const auto& [name, content] = answer->documents[index];
  *out = {.name = name.c_str(), .data = content.data(), .size = content.size()};
  return 1;
}

size_t sbp_answer_num_arrays(const sbp_answer* answer) { return answer == nullptr ? 0 : answer->arrays.size(); }
int sbp_answer_array(const sbp_answer* answer, size_t index, sbp_array* out) {
  if (index >= sbp_answer_num_arrays(answer)) return 0;
  const sbp::TensorData& tensor = answer->arrays[index];
  *out = {.name = tensor.name.c_str(),
          .dtype = sbp::DTypeName(tensor.type.dtype).data(),  // of a literal, so that a 0 follows
          .shape = tensor.type.shape.data(),
          .rank = tensor.type.shape.size(),
          .data = tensor.bytes.data(),
          .size = tensor.bytes.size()};
  return 1;
}

void sbp_answer_free(sbp_answer* answer) { delete answer; }
