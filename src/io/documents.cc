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

// What another file than the one that was asked for is, where its kind is none of ours; "" is of no kind that we know.
std::string_view ForeignKind(DocumentKind kind, std::string_view where) {
  constexpr std::string_view kOnnxExtension = ".onnx";
  if (kind == DocumentKind::kTorch) return "a model that torch.export saved";
  if (kind == DocumentKind::kConfig) return "a config.json of Hugging Face";
  const bool is_called_onnx = where.size() > kOnnxExtension.size() &&
                              EqualIgnoringCase(where.substr(where.size() - kOnnxExtension.size()), kOnnxExtension);
  return kind == DocumentKind::kOnnx && is_called_onnx ? "an ONNX model" : "";
}

// Recognises a document of the kind that is wanted.
Result<DocumentInfo> RecogniseAs(std::string_view bytes, std::string_view where, DocumentKind wanted) {
  SBP_ASSIGN_OR_RETURN(const DocumentInfo info, Recognise(bytes, where));
  if (info.kind == wanted) return info;
  const KindRow& row = RowOf(wanted);
  const std::string expected = StrCat("; expected ", row.article, " (", row.name, ")",
                                      wanted == DocumentKind::kPlan ? ", which infer makes of a model" : "");
  if (const std::string_view foreign = ForeignKind(info.kind, where); !foreign.empty()) {
    return BadInput(StrCat(where, ": this is ", foreign, expected));
  }
  if (info.kind == DocumentKind::kOnnx) {
    return BadInput(StrCat(where, ": neither JSON nor prototxt nor one of our binary documents", expected));
  }
  const KindRow& found = RowOf(info.kind);
  return BadInput(StrCat(where, ": this is ", found.article, " (", found.name, ")", expected));
}

// Decodes and converts it.
template <typename Message, typename Value>
Result<Value> ReadDocument(std::string_view bytes, std::string_view where, DocumentKind wanted,
                           Result<Value> (*convert)(const Message&, std::string_view)) {
  SBP_ASSIGN_OR_RETURN(const DocumentInfo info, RecogniseAs(bytes, where, wanted));
  google::protobuf::Arena arena(LargeBlocks());
  auto& message = *google::protobuf::Arena::CreateMessage<Message>(&arena);
  SBP_RETURN_IF_ERROR(Decode(bytes, info.encoding, where, message));
  return convert(message, where);
}

// One op, one tensor at a time.
Result<Graph> ReadBinaryGraph(std::string_view bytes, std::string_view where) {
  constexpr int kFields[] = {v1::Graph::kOpsFieldNumber, v1::Graph::kTensorsFieldNumber};
  google::protobuf::Arena arena(LargeBlocks());
  auto& message = *google::protobuf::Arena::CreateMessage<v1::Graph>(&arena);
  const Result<BinaryEntries> document = BinaryEntries::Decode(bytes, kFields, message);
  if (!document.ok()) return document.status().WithContext(where);
  v1::Op op;
  v1::Tensor tensor;
  const GraphEntries entries = {.num_ops = document->count(v1::Graph::kOpsFieldNumber),
                                .num_tensors = document->count(v1::Graph::kTensorsFieldNumber),
                                .op = [&](size_t i) -> Result<const v1::Op*> {
                                  SBP_RETURN_IF_ERROR(document->Read(v1::Graph::kOpsFieldNumber, i, op));
                                  return &op;
                                },
                                .tensor = [&](size_t i) -> Result<const v1::Tensor*> {
                                  SBP_RETURN_IF_ERROR(document->Read(v1::Graph::kTensorsFieldNumber, i, tensor));
                                  return &tensor;
                                }};
  return GraphFromMessages(message, entries, where);
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
  SBP_ASSIGN_OR_RETURN(const DocumentInfo info, RecogniseAs(bytes, where, DocumentKind::kGraph));
  if (info.encoding == Encoding::kBinary) return ReadBinaryGraph(bytes, where);
  return ReadDocument<v1::Graph>(bytes, where, DocumentKind::kGraph, GraphFromMessage);
}

Result<Cluster> ReadCluster(std::string_view bytes, std::string_view where) {
  return ReadDocument<v1::Cluster>(bytes, where, DocumentKind::kCluster, ClusterFromMessage);
}

Result<Plan> ReadPlan(std::string_view bytes, std::string_view where) {
  return ReadDocument<v1::Plan>(bytes, where, DocumentKind::kPlan, PlanFromMessage);
}

void WriteGraph(const Graph& graph, Encoding encoding, const ByteSink& sink) {
  if (encoding != Encoding::kBinary) {
    sink(WriteDocument<v1::Graph>(graph, encoding, DocumentKind::kGraph, GraphToMessage));
    return;
  }
  constexpr size_t kPiece = size_t{4} << 20;
  std::string piece;
  piece.reserve(kPiece + kPiece / 4);
  bool wanted = true;
  const auto hand_over = [&](size_t most) {
    if (piece.size() <= most) return;
    wanted = wanted && sink(piece);
    piece.clear();
  };
  const auto append = [&](const google::protobuf::Message& entry, int field) {
    if (!wanted) return;
    AppendEntry(entry, field, piece);
    hand_over(kPiece);
  };
  const auto whole = [&](const v1::Graph& part) { piece += EncodeBinary(part); };
  GraphToMessages(graph, RowOf(DocumentKind::kGraph).name,
                  {.first = whole,
                   .parameter = [&](const v1::Tensor& tensor) { append(tensor, v1::Graph::kParametersFieldNumber); },
                   .tensor = [&](const v1::Tensor& tensor) { append(tensor, v1::Graph::kTensorsFieldNumber); },
                   .op = [&](const v1::Op& op) { append(op, v1::Graph::kOpsFieldNumber); },
                   .last = whole});
  hand_over(0);
}

std::string WriteGraph(const Graph& graph, Encoding encoding) {
  std::string bytes;
  WriteGraph(graph, encoding, [&](std::string_view piece) {
    bytes += piece;
    return true;
  });
  return bytes;
}

std::string WriteCluster(const Cluster& cluster, Encoding encoding) {
  return WriteDocument<v1::Cluster>(cluster, encoding, DocumentKind::kCluster, ClusterToMessage);
}

std::string WritePlan(const Plan& plan, Encoding encoding) {
  return WriteDocument<v1::Plan>(plan, encoding, DocumentKind::kPlan, PlanToMessage);
}

}  // namespace sbp
