// Programs in Python that run plans on JAX, embedded in the build.
#pragma once

#include <string_view>

#include "base/status.h"
#include "export/exporter.h"
#include "graph/tensor_type.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

std::string_view JaxAnnotatedText();     // jax_annotated.py
std::string_view JaxExactText();         // jax_exact.py
std::string_view JaxOpsText();           // jax_ops.py
std::string_view JaxOpsCompositeText();  // jax_ops_composite.py: activations, norms, losses, optimizers
std::string_view JaxOpsImageText();      // jax_ops_image.py: images of other sizes and forms
std::string_view JaxOpsNetworkText();    // jax_ops_network.py: convolutions and pools
std::string_view JaxOpsRecurrentText();  // jax_ops_recurrent.py: LSTM, GRU, RNN
std::string_view JaxRunText();           // jax_run.py, what both share

// The mesh axes on which the layout cuts the tensor into parts of different sizes become B; true: there were some.
bool MakeEven(const TensorType& type, const Mesh& mesh, NdSbp& layout);

// The plan as a program of one device, with the plan's collectives. Errors (kBadInput): ops that it does not compute,
// by type; uneven parts, by tensor; parts sent from device to device.
Result<PlanExport> WriteJaxProgram(const Plan& plan);

}  // namespace sbp
