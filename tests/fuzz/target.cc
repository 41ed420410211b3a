#include "fuzz/target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "io/documents.h"

namespace sbp::fuzz {
namespace {

constexpr size_t kScreenBytes = 6000;
constexpr int kScreenLines = 45;

}  // namespace

void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void RequireRefusal(const Status& status) {
  const std::string& text = status.message();
  Require(status.code() == Code::kBadInput || status.code() == Code::kNoPlan,
          StrCat("not blamed on the input: ", text));
  Require(!text.empty(), "a refusal that says nothing");
  Require(text.size() <= kScreenBytes && std::ranges::count(text, '\n') <= kScreenLines,
          StrCat("more than a screen: ", text));
}

void RequireModel(const Result<Graph>& graph, std::string_view where) {
  if (!graph.ok()) return RequireRefusal(graph.status());
  const Status verified = Verify(*graph, where);
  Require(verified.ok(), verified.message());
  const std::string binary = WriteGraph(*graph, Encoding::kBinary);
  const Result<Graph> again = ReadGraph(binary, "written");
  Require(again.ok(), again.status().message());
  Require(WriteGraph(*again, Encoding::kBinary) == binary, "the model changed when it was written as a graph");
  ResolveAndPlan(*graph);
}

}  // namespace sbp::fuzz
