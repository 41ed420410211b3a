#include "cluster/cluster.h"

#include "fuzz/target.h"
#include "io/documents.h"

namespace sbp::fuzz {

void RunCluster(std::string_view bytes) {
  const Result<Cluster> cluster = ReadCluster(bytes, "input");
  if (!cluster.ok()) return RequireRefusal(cluster.status());
  Require(Verify(*cluster, "input").ok(), "a cluster was read that does not verify");
  const std::string json = WriteCluster(*cluster, Encoding::kJson);
  for (const Encoding encoding : {Encoding::kJson, Encoding::kPrototxt, Encoding::kBinary}) {
    const Result<Cluster> again = ReadCluster(WriteCluster(*cluster, encoding), "written");
    Require(again.ok(), again.status().message());
    Require(WriteCluster(*again, Encoding::kJson) == json, "the cluster changed in a round trip");
  }
  (void)Dump(*cluster);
  const Mesh mesh = ParseMesh("2,4").value();
  for (int axis = 0; axis < 2; ++axis) (void)AxisGroupShape(*cluster, mesh, axis);
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8}) (void)FlopsFor(cluster->device, dtype);
}

}  // namespace sbp::fuzz
