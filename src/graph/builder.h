// GraphBuilder: makes a Graph by names, as readers and generators see it.
#pragma once

#include <functional>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace sbp {

// By name; asked with a view of one, without making a string.
struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};
struct NameEqual {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};
template <typename Value>
using NameMap = std::pmr::unordered_map<std::pmr::string, Value, NameHash, NameEqual>;

// Names may be used before they are defined. Build() reports: a name defined twice, a name read but never defined (with
// the nearest known name), a cycle. Descriptions of tensors that nothing defines or reads are dropped.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name = "");
  GraphBuilder(GraphBuilder&&) = default;
  GraphBuilder& operator=(GraphBuilder&&) = delete;  // the maps would outlive their memory

  TensorId AddInput(std::string_view name, TensorType type, std::vector<std::string> symbols = {});
  TensorId AddParameter(std::string_view name, TensorType type, LiteralRef literal = nullptr);
  // Empty operand names are absent. Build() makes the op's name from its type and a number when it is empty, from the
  // name and a number when an earlier op has it.
  OpId AddOp(std::string_view type, std::string_view name, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs, Attributes attributes = {}, std::string_view scope = "");
  void AddOutput(std::string_view name);
  void AddTie(std::string_view output, std::string_view input);
  // What is known of a tensor that an op writes (from value_info); may come before or after the op.
  void DescribeTensor(std::string_view name, TensorType type, std::vector<std::string> symbols = {});

  // The id of a name, made if it is new. For setting further fields through graph().
  TensorId Tensor(std::string_view name);
  Graph& graph() { return graph_; }
  uint32_t TypeIndex(std::string_view type);
  uint32_t ScopeIndex(std::string_view scope);
  AttributesRef Intern(Attributes attributes);

  // Room for this many more, for readers that know.
  void Reserve(size_t tensors, size_t ops);

  // The builder is spent afterwards. `where` names the file in errors.
  Result<Graph> Build(std::string_view where);

 private:
  TensorId Define(std::string_view name, std::string_view what);
  void ReportTwice(std::string_view name, std::string_view what);
  void NameOps();
  void FindUndefined();

  Graph graph_;
  // The names of a million tensors are given back at once, not one by one.
  std::unique_ptr<std::pmr::memory_resource> memory_ = std::make_unique<std::pmr::monotonic_buffer_resource>();
  NameMap<TensorId> tensor_ids_{memory_.get()};
  NameMap<uint32_t> type_ids_{memory_.get()}, scope_ids_{memory_.get()}, op_names_{memory_.get()};
  std::unordered_map<size_t, std::vector<AttributesRef>> attribute_sets_;
  std::vector<std::string> problems_;
  std::vector<bool> defined_;  // per tensor
  std::vector<OpId> unnamed_;
};

}  // namespace sbp
