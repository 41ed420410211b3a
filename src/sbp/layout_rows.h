// Layouts of an op's operands (or results) in a candidate. An op of 100,000 operands has candidates in which nearly all
// of them lie alike: slots that lie alike in every candidate of a list share a row, and all its candidates share the
// table that says which row is a slot's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {

// A constant list of layouts, one per slot. Without a table every slot has a row of its own.
class LayoutRows {
 public:
  using Table = std::shared_ptr<const std::vector<uint32_t>>;  // per slot: its row; every row is some slot's

  LayoutRows() = default;
  LayoutRows(std::vector<NdSbp> layouts) : rows_(std::move(layouts)) {}  // NOLINT: a plain list is one
  LayoutRows(std::vector<NdSbp> rows, Table row_of) : rows_(std::move(rows)), row_of_(std::move(row_of)) {}

  size_t size() const { return row_of_ ? row_of_->size() : rows_.size(); }
  bool empty() const { return size() == 0; }
  const NdSbp& operator[](size_t slot) const { return rows_[row_of_ ? (*row_of_)[slot] : slot]; }
  const std::vector<NdSbp>& rows() const { return rows_; }
  const Table& row_of() const { return row_of_; }

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = NdSbp;
    using difference_type = std::ptrdiff_t;
    using pointer = const NdSbp*;
    using reference = const NdSbp&;
    Iterator() = default;
    Iterator(const LayoutRows* list, size_t slot) : list_(list), slot_(slot) {}
    reference operator*() const { return (*list_)[slot_]; }
    pointer operator->() const { return &(*list_)[slot_]; }
    Iterator& operator++() {
      ++slot_;
      return *this;
    }
    Iterator operator++(int) { return {list_, slot_++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.slot_ == b.slot_; }

   private:
    const LayoutRows* list_ = nullptr;
    size_t slot_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  operator std::vector<NdSbp>() const { return {begin(), end()}; }  // NOLINT: reads as a plain list

  friend bool operator==(const LayoutRows& a, const LayoutRows& b) {
    return a.row_of_ == b.row_of_ ? a.rows_ == b.rows_ : SameSlots(a, b);
  }
  friend bool operator==(const LayoutRows& a, const std::vector<NdSbp>& b) { return SameSlots(a, b); }

 private:
  template <typename List>
  static bool SameSlots(const LayoutRows& a, const List& b) {
    if (a.size() != b.size()) return false;
    for (size_t slot = 0; slot < a.size(); ++slot) {
      if (a[slot] != b[slot]) return false;
    }
    return true;
  }

  std::vector<NdSbp> rows_;
  Table row_of_;
};

// A signature with shared rows. Where a Signature is needed it becomes one, slot by slot.
struct CandidateSignature {
  LayoutRows inputs, outputs;

  CandidateSignature() = default;
  CandidateSignature(Signature signature)  // NOLINT: a plain signature is one
      : inputs(std::move(signature.inputs)), outputs(std::move(signature.outputs)) {}
  operator Signature() const { return {inputs, outputs}; }  // NOLINT

  friend bool operator==(const CandidateSignature&, const CandidateSignature&) = default;
  friend bool operator==(const CandidateSignature& a, const Signature& b) {
    return a.inputs == b.inputs && a.outputs == b.outputs;
  }
};

}  // namespace sbp
