// Literals and attributes <-> messages.
#pragma once

#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "schemas/graph.pb.h"

namespace sbp {

// `implied`: the type that need not be spelled out, or null.
void LiteralToMessage(const Literal& literal, const TensorType* implied, sbp_plan::v1::Literal& message);
// Errors: no type, a list of another length than the type has elements, raw bytes of another size.
Result<LiteralRef> LiteralFromMessage(const sbp_plan::v1::Literal& message, const TensorType* implied);

void AttributesToMessages(const Attributes& attributes,
                          google::protobuf::RepeatedPtrField<sbp_plan::v1::Attribute>& messages);
// Errors name the attribute: given twice, without a value, a bad literal or subgraph.
Result<Attributes> AttributesFromMessages(const google::protobuf::RepeatedPtrField<sbp_plan::v1::Attribute>& messages);

}  // namespace sbp
