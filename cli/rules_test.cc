#include "cli/rules_test.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/op_question.h"
#include "graph/tensor_type.h"
#include "io/file.h"
#include "rule/factor_map.h"
#include "rule/infer.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

// Where a text of a line begins, counted from 1.
struct Position {
  size_t line = 0, column = 0;
};

struct TestFailure {
  std::string where, what, expected, found;
};

// The parts of a line between commas that stand in no bracket, each with its offset.
std::vector<std::pair<std::string_view, size_t>> SplitLayouts(std::string_view text) {
  std::vector<std::pair<std::string_view, size_t>> parts;
  int depth = 0;
  size_t begin = 0;
  const auto add = [&](size_t end) {
    const std::string_view part = text.substr(begin, end - begin);
    const std::string_view trimmed = Trim(part);
    parts.emplace_back(trimmed, trimmed.empty() ? begin : static_cast<size_t>(trimmed.data() - text.data()));
    begin = end + 1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == ']' || text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) add(i);
  }
  if (!Trim(text).empty()) add(text.size());
  return parts;
}

class TestFile {
 public:
  TestFile(const RuleSet& rules, std::string path, bool update)
      : rules_(rules), path_(std::move(path)), update_(update) {}

  Status Run() {
    SBP_ASSIGN_OR_RETURN(const std::string text, ReadFile(path_));
    for (const std::string_view line : Split(text, '\n')) {
      ++line_;
      std::string now(line);
      SBP_RETURN_IF_ERROR(ReadLine(line, now));
      rewritten_ += now + "\n";
    }
    if (!text.empty() && text.back() == '\n') rewritten_.pop_back();  // what stands behind the last line end
    if (passed_ + static_cast<int64_t>(failures_.size()) == 0)
      return BadInput(StrCat(path_, ": holds no test; expected lines such as: forward [0,-1], [-1,-1] -> [0,-1], ..."));
    if (update_ && rewritten_ != text) return WriteFile(path_, rewritten_);
    return OkStatus();
  }

  int64_t passed() const { return passed_; }
  const std::vector<TestFailure>& failures() const { return failures_; }

 private:
  std::string Where(size_t offset) const { return StrCat(path_, ":", line_, ":", offset + 1); }
  Status Wrong(size_t offset, std::string_view what) const { return BadInput(StrCat(Where(offset), ": ", what)); }
  Status At(size_t offset, const Status& status) const {
    return status.ok() ? status : BadInput(StrCat(Where(offset), ": ", status.message()));
  }

  Status ReadLine(std::string_view line, std::string& now) {
    const size_t comment = line.find('#');
    const std::string_view code = line.substr(0, comment);
    const std::string_view trimmed = Trim(code);
    if (trimmed.empty()) return OkStatus();
    const auto begin = static_cast<size_t>(trimmed.data() - line.data());
    const size_t space = std::min(trimmed.find_first_of(" \t"), trimmed.size());
    const std::string_view word = trimmed.substr(0, space);
    const std::string_view rest = Trim(trimmed.substr(space));
    const size_t at = rest.empty() ? begin + space : static_cast<size_t>(rest.data() - line.data());
    static const std::vector<std::string> kWords = {"op", "mesh", "input", "attr", "results", "forward", "backward"};
    if (std::ranges::find(kWords, word) == kWords.end())
      return Wrong(begin, StrCat("expected one of ", Join(kWords, ", "), DidYouMean(std::string(word), kWords)));
    if (rest.empty()) return Wrong(at, StrCat("expected something after ", Quote(word)));
    if (word == "forward" || word == "backward") return Expect(line, at, code.size(), word == "backward", now);
    return Describe(word, rest, at);
  }

  Status Describe(std::string_view word, std::string_view rest, size_t at) {
    question_.reset();
    if (word == "mesh") {
      auto mesh = ParseMesh(rest);
      if (!mesh.ok()) return At(at, mesh.status());
      mesh_ = *mesh;
      return OkStatus();
    }
    if (word == "op") {
      flags_ = {};
      flags_.op = rest;
      op_at_ = {line_, at};
      if (rules_.Find(rest) != nullptr) return OkStatus();
      return Wrong(at, StrCat("no rule for op ", Quote(rest), DidYouMean(std::string(rest), rules_.Names())));
    }
    if (flags_.op.empty()) return Wrong(at, "expected an op first, as in: op MatMul");
    if (word == "attr") {
      flags_.attributes.emplace_back(rest);
    } else if (word == "results") {
      const auto count = ParseInt(rest);
      if (!count || *count < 1 || *count > 1000) return Wrong(at, "expected a number of results, 1 to 1000");
      flags_.num_outputs = *count;
    } else {
      return AddInput(rest, at);
    }
    return OkStatus();
  }

  // A name that was given before is given anew: another shape, or a further tensor of a list with NAME[i].
  Status AddInput(std::string_view rest, size_t at) {
    const size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return Wrong(at, "expected NAME=TYPE, as in: input x=f32[64,36]");
    const std::string_view name = Trim(rest.substr(0, equals));
    const auto same = std::ranges::find_if(flags_.inputs, [&](const std::string& input) {
      return Trim(std::string_view(input).substr(0, input.find('='))) == name;
    });
    if (same != flags_.inputs.end())
      *same = rest;
    else
      flags_.inputs.emplace_back(rest);
    return OkStatus();
  }

  Status Prepare(size_t at) {
    if (question_) return OkStatus();
    if (flags_.op.empty()) return Wrong(at, "expected an op first, as in: op MatMul");
    if (mesh_.num_axes() == 0) return Wrong(at, "expected a mesh first, as in: mesh x=2,y=4");
    auto question = AskOp(flags_, rules_, mesh_);
    if (!question.ok())
      return BadInput(StrCat(path_, ":", op_at_.line, ":", op_at_.column + 1, ": ", question.status().message()));
    question_ = *std::move(question);
    operands_.clear();
    for (size_t i = 0; i < question_->instance->operands.size(); ++i) {
      if (question_->instance->present[i]) operands_.push_back(i);
    }
    return OkStatus();
  }

  // `text` begins at `offset` of the line. As many layouts as `types`, of which an entry may be any in any spelling.
  Result<std::vector<NdSbp>> ReadLayouts(std::string_view text, size_t offset, const std::vector<TensorType>& types,
                                         std::string_view of, bool legal) const {
    const auto parts = SplitLayouts(text);
    if (parts.size() != types.size()) {
      return Wrong(offset, StrCat("expected ", types.size(), types.size() == 1 ? " layout" : " layouts", " (", of,
                                  "), found ", parts.size()));
    }
    std::vector<NdSbp> layouts;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto layout = ParseLayoutOf(parts[i].first, types[i], mesh_);
      if (!layout.ok()) return At(offset + parts[i].second, layout.status());
      if (legal) SBP_RETURN_IF_ERROR(At(offset + parts[i].second, ValidateLayout(types[i].shape, *layout, mesh_)));
      layouts.push_back(*layout);
    }
    return layouts;
  }

  std::vector<TensorType> OperandTypes() const {
    std::vector<TensorType> types;
    for (const size_t i : operands_) types.push_back(question_->instance->operands[i]);
    return types;
  }
  std::string Names(bool operands, bool results) const {
    std::vector<std::string> names;
    if (operands) {
      for (const size_t i : operands_) names.push_back(question_->instance->operand_names[i]);
    }
    if (results) {
      const auto& all = question_->instance->result_names;
      names.insert(names.end(), all.begin(), all.end());
    }
    return Join(names, ", ");
  }

  // What the rule makes of the left side.
  Result<std::vector<NdSbp>> Infer(std::string_view left, size_t at, bool backward) const {
    const RuleInstance& instance = *question_->instance;
    InferRequest request{question_->instance, mesh_, question_->inputs, question_->outputs, backward};
    std::vector<TensorType> given = backward ? instance.results : OperandTypes();
    const bool both = backward && SplitLayouts(left).size() == operands_.size() + instance.results.size();
    if (both) {
      given = OperandTypes();
      given.insert(given.end(), instance.results.begin(), instance.results.end());
    }
    const std::string names = Names(!backward || both, backward);
    SBP_ASSIGN_OR_RETURN(const std::vector<NdSbp> layouts, ReadLayouts(left, at, given, names, true));
    size_t next = 0;
    for (size_t i = 0; (!backward || both) && i < operands_.size(); ++i) request.inputs[operands_[i]] = layouts[next++];
    for (size_t i = 0; backward && i < instance.results.size(); ++i) request.outputs[i] = layouts[next++];
    const InferAnswer answer = InferLayouts(request);
    std::vector<NdSbp> found;
    for (const size_t i : operands_) found.push_back(answer.inputs[i]);
    found.insert(found.end(), answer.outputs.begin(), answer.outputs.end());
    return found;
  }

  Status Expect(std::string_view line, size_t at, size_t end, bool backward, std::string& now) {
    SBP_RETURN_IF_ERROR(Prepare(at));
    const std::string_view text = line.substr(at, end - at);
    const size_t arrow = text.find("->");
    if (arrow == std::string_view::npos) return Wrong(at + Trim(text).size(), "expected -> and the layouts inferred");
    const std::string_view left = text.substr(0, text[arrow - (arrow > 0)] == '-' ? arrow - 1 : arrow);
    SBP_ASSIGN_OR_RETURN(const std::vector<NdSbp> found, Infer(left, at, backward));
    std::vector<TensorType> types = OperandTypes();
    types.insert(types.end(), question_->instance->results.begin(), question_->instance->results.end());
    const Notation notation = left.find('[') == std::string_view::npos ? Notation::kSbp : Notation::kDimsMapping;
    std::vector<std::string> said;
    for (size_t i = 0; i < found.size(); ++i) said.push_back(FormatLayout(found[i], types[i].rank(), notation));
    const size_t right = at + arrow + 2;
    if (update_) {
      const std::string_view comment = line.substr(end);
      now = StrCat(line.substr(0, right), " ", Join(said, ", "), comment.empty() ? "" : "  ", comment);
      ++passed_;
      return OkStatus();
    }
    SBP_ASSIGN_OR_RETURN(const std::vector<NdSbp> expected,
                         ReadLayouts(line.substr(right, end - right), right, types, Names(true, true), false));
    if (expected == found) {
      ++passed_;
      return OkStatus();
    }
    const auto wrong = static_cast<size_t>(std::ranges::mismatch(expected, found).in1 - expected.begin());
    const auto parts = SplitLayouts(line.substr(right, end - right));
    failures_.push_back({Where(right + parts[wrong].second), StrCat(flags_.op, backward ? " backward" : " forward"),
                         std::string(Trim(line.substr(right, end - right))), Join(said, ", ")});
    return OkStatus();
  }

  const RuleSet& rules_;
  const std::string path_;
  const bool update_;
  size_t line_ = 0;
  Position op_at_;
  Mesh mesh_;
  OpQuestionFlags flags_;
  std::optional<OpQuestion> question_;  // of the lines above
  std::vector<size_t> operands_;        // those that are present
  int64_t passed_ = 0;
  std::vector<TestFailure> failures_;
  std::string rewritten_;
};

}  // namespace

Status TestRules(const RuleSet& rules, const RulesTestFlags& flags, const OutputFlags& output) {
  int64_t passed = 0;
  std::vector<TestFailure> failures;
  for (const std::string& path : flags.files) {
    TestFile file(rules, path, flags.update);
    SBP_RETURN_IF_ERROR(file.Run());
    passed += file.passed();
    failures.insert(failures.end(), file.failures().begin(), file.failures().end());
  }
  Json list = Json::array();
  std::string text;
  for (const TestFailure& failure : failures) {
    text += StrCat(failure.where, ": ", failure.what, "\n    expected: ", failure.expected,
                   "\n    found:    ", failure.found, "\n");
    list.push_back(
        {{"where", failure.where}, {"what", failure.what}, {"expected", failure.expected}, {"found", failure.found}});
  }
  text += StrCat(passed, " passed, ", failures.size(), " failed");
  const Json report = {{"passed", passed}, {"failed", failures.size()}, {"failures", list}};
  SBP_RETURN_IF_ERROR(Print(output.json() ? report.dump(2) : text));
  return failures.empty() ? OkStatus() : Status(Code::kMismatch, "");
}

}  // namespace sbp
