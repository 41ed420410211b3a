// A product of matrices by Eigen, in the instructions that the including file is compiled for.
#pragma once

#include <Eigen/Core>

#include "kernel/cpu/gemm.h"

namespace sbp::cpu {
namespace {  // one copy a file: their code differs

template <typename T>
void EigenGemm(const GemmShape& s, const void* a, const void* b, void* c, bool accumulate) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Stride = Eigen::OuterStride<>;
  const Eigen::Map<const Matrix, 0, Stride> left(static_cast<const T*>(a), s.m, s.k, Stride(s.lda));
  const Eigen::Map<const Matrix, 0, Stride> right(static_cast<const T*>(b), s.k, s.n, Stride(s.ldb));
  Eigen::Map<Matrix, 0, Stride> result(static_cast<T*>(c), s.m, s.n, Stride(s.ldc));
  if (!accumulate) result.setZero();
  if (s.k > 0) result.noalias() += left * right;
}

}  // namespace
}  // namespace sbp::cpu
