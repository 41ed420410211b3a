// GraphBuilder: makes a Graph by names, as readers and generators see it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/name_table.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {

// Names may be used before they are defined. Build() reports: a name defined twice, a name read but never defined (with
// the nearest known name), a cycle. Descriptions of tensors that nothing defines or reads are dropped.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name = "");

  TensorId AddInput(std::string_view name, TensorType type, std::vector<std::string> symbols = {});
  TensorId AddParameter(std::string_view name, TensorType type, LiteralRef literal = nullptr);
  // Empty operand names are absent. Build() makes the op's name from its type and a number when it is empty, from the
  // name and a number when an earlier op has it.
  OpId AddOp(std::string_view type, std::string_view name, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs, Attributes attributes = {}, std::string_view scope = "");
  void AddOutput(std::string_view name);
  void AddTie(std::string_view output, std::string_view input, bool restarts = false);
  // What is known of a tensor that an op writes (from value_info); may come before or after the op.
  void DescribeTensor(std::string_view name, TensorType type, std::vector<std::string> symbols = {});

  // Is there an op that was given this name?
  bool HasOp(std::string_view name) const;

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
  bool ClaimName(std::string_view name, OpId id);
  void NameOps();
  void FindUndefined();

  Graph graph_;
  NameTable tensor_ids_, op_ids_, type_ids_, scope_ids_;
  std::unordered_map<size_t, std::vector<AttributesRef>> attribute_sets_;
  std::vector<std::string> problems_;
  std::vector<bool> defined_;  // per tensor
  std::vector<OpId> unnamed_;
};

}  // namespace sbp
