#include "io/documents.h"

#include <google/protobuf/arena.h>

#include <array>
#include <vector>

#include "base/text.h"
#include "io/cluster_proto.h"
#include "io/codec.h"
#include "io/graph_proto.h"
#include "io/kinds.h"
#include "io/plan_proto.h"

namespace sbp {
namespace {

namespace v1 = sbp_plan::v1;

struct ExtensionRow {
  std::string_view extension;
  Encoding encoding;
};
constexpr std::array<ExtensionRow, 6> kExtensions = {{
    {".json", Encoding::kJson},
    {".prototxt", Encoding::kPrototxt},
    {".pbtxt", Encoding::kPrototxt},
    {".txtpb", Encoding::kPrototxt},
    {".pb", Encoding::kBinary},
    {".bin", Encoding::kBinary},
}};

// Blocks of the default 8 KB cost more to free than to fill: malloc joins each with its neighbours.
google::protobuf::ArenaOptions LargeBlocks() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = 16 << 10;
  options.max_block_size = 4 << 20;
  return options;
}

// Recognises, decodes and converts a document of the kind that is wanted.
template <typename Message, typename Value>
Result<Value> ReadDocument(std::string_view bytes, std::string_view where, DocumentKind wanted,
                           Result<Value> (*convert)(const Message&, std::string_view)) {
  SBP_ASSIGN_OR_RETURN(const DocumentInfo info, Recognise(bytes, where));
  const KindRow& row = RowOf(wanted);
  if (info.kind == DocumentKind::kOnnx) {
    return BadInput(StrCat(where, ": neither JSON nor prototxt nor one of our binary documents; expected ", row.article,
                           " (", row.name, ")"));
  }
  if (info.kind != wanted) {
    return BadInput(StrCat(where, ": this is ", RowOf(info.kind).article, " (", RowOf(info.kind).name, "); expected ",
                           row.article, " (", row.name, ")"));
  }
  google::protobuf::Arena arena(LargeBlocks());
  auto& message = *google::protobuf::Arena::CreateMessage<Message>(&arena);
  SBP_RETURN_IF_ERROR(Decode(bytes, info.encoding, where, message));
  return convert(message, where);
}

template <typename Message, typename Value>
std::string WriteDocument(const Value& value, Encoding encoding, DocumentKind kind,
                          void (*convert)(const Value&, Message&)) {
  google::protobuf::Arena arena(LargeBlocks());
  auto& message = *google::protobuf::Arena::CreateMessage<Message>(&arena);
  message.set_kind(std::string(RowOf(kind).name));
  convert(value, message);
  return Encode(message, encoding);
}

}  // namespace

Result<Encoding> EncodingForPath(std::string_view path) {
  if (path == "-") return Encoding::kJson;
  std::vector<std::string> known;
  for (const ExtensionRow& row : kExtensions) {
    if (path.ends_with(row.extension)) return row.encoding;
    known.emplace_back(row.extension);
  }
  return UsageError(
      StrCat("output ", Quote(path), ": the extension names the encoding; expected one of ", Join(known, ", ")));
}

Result<Graph> ReadGraph(std::string_view bytes, std::string_view where) {
  return ReadDocument<v1::Graph>(bytes, where, DocumentKind::kGraph, GraphFromMessage);
}

Result<Cluster> ReadCluster(std::string_view bytes, std::string_view where) {
  return ReadDocument<v1::Cluster>(bytes, where, DocumentKind::kCluster, ClusterFromMessage);
}

Result<Plan> ReadPlan(std::string_view bytes, std::string_view where) {
  return ReadDocument<v1::Plan>(bytes, where, DocumentKind::kPlan, PlanFromMessage);
}

std::string WriteGraph(const Graph& graph, Encoding encoding) {
  return WriteDocument<v1::Graph>(graph, encoding, DocumentKind::kGraph, GraphToMessage);
}

std::string WriteCluster(const Cluster& cluster, Encoding encoding) {
  return WriteDocument<v1::Cluster>(cluster, encoding, DocumentKind::kCluster, ClusterToMessage);
}

std::string WritePlan(const Plan& plan, Encoding encoding) {
  return WriteDocument<v1::Plan>(plan, encoding, DocumentKind::kPlan, PlanToMessage);
}

}  // namespace sbp
