#include "report/kept.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "graph/tensor_type.h"
#include "report/facts.h"

namespace sbp {
namespace {

struct KeptSum {
  std::string name;
  int64_t tensors = 0, bytes = 0, device_bytes = 0;
  void Add(int64_t more, int64_t on_device) {
    ++tensors;
    bytes = SaturatingAdd(bytes, more);
    device_bytes = SaturatingAdd(device_bytes, on_device);
  }
};

std::string KeptBytes(int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

std::string OrNoScope(std::string name) { return name.empty() ? "(no scope)" : name; }

class KeptReport {
 public:
  KeptReport(const Graph& graph, const KeptFacts& facts) : graph_(graph), facts_(facts) {
    for (const KeptTensor& kept : facts.kept) total_.Add(BytesOf(kept), OnDevice(kept));
    std::unordered_map<std::string, uint32_t> numbers;
    for (const std::string& scope : graph.scopes) {
      const auto [it, is_new] = numbers.try_emplace(RepeatedScope(scope), static_cast<uint32_t>(scopes_.size()));
      if (is_new) scopes_.push_back(it->first);
      scope_of_.push_back(it->second);
    }
  }

  std::string Text(size_t rows) const {
    std::string out = StrCat("kept for the backward pass: ", FormatCount(total_.tensors),
                             total_.tensors == 1 ? " tensor, " : " tensors, ", KeptBytes(total_.bytes),
                             planned() ? StrCat("; per device ", KeptBytes(total_.device_bytes)) : "", "\n");
    if (total_.tensors > 0) {
      out += SumTable("kept by op type", ByType(), rows) + SumTable("kept by scope", ByScope(), rows) + Largest(rows);
    }
    return out + SavingsTable(rows);
  }

  std::string Json() const {
    using Object = nlohmann::json;
    Object json = {{"tensors_kept", total_.tensors}, {"bytes", total_.bytes}, {"bytes_per_device", nullptr}};
    if (planned()) json["bytes_per_device"] = total_.device_bytes;
    const auto list = [&](const std::vector<KeptSum>& sums, const char* key) {
      Object rows = Object::array();
      for (const KeptSum& sum : sums) {
        rows.push_back({{key, sum.name}, {"tensors", sum.tensors}, {"bytes", sum.bytes}});
        if (planned()) rows.back()["bytes_per_device"] = sum.device_bytes;
      }
      return rows;
    };
    json["by_op_type"] = list(ByType(), "op_type");
    json["by_scope"] = list(ByScope(), "scope");
    json["tensors"] = Object::array();
    for (const KeptTensor* kept : BySize()) {
      const Tensor& tensor = graph_.tensor(kept->tensor);
      const Op& producer = graph_.op(tensor.producer);
      Object readers = Object::array();
      for (const OpId op : kept->readers) readers.push_back(graph_.op(op).name);
      json["tensors"].push_back({{"tensor", tensor.name},
                                 {"type", ToString(tensor.type)},
                                 {"op", producer.name},
                                 {"op_type", graph_.type_of(producer)},
                                 {"scope", graph_.scope_of(producer)},
                                 {"bytes", BytesOf(*kept)},
                                 {"needed_by", std::move(readers)}});
      if (planned()) json["tensors"].back()["bytes_per_device"] = OnDevice(*kept);
    }
    json["custom_vjps"] = Object::array();
    for (const SavedByVjp& row : facts_.savings.rows) {
      Object entry = {{"op_type", row.op_type}, {"ops", row.ops}, {"bytes", row.kept_bytes}};
      if (row.why_not.empty()) {
        entry["expanded_bytes"] = row.expanded_bytes;
        entry["saved_bytes"] = row.saved_bytes();
      } else {
        entry["bytes"] = nullptr;
        entry["not_compared"] = row.why_not;
      }
      json["custom_vjps"].push_back(std::move(entry));
    }
    json["custom_vjps_left_out"] = facts_.savings.left_out;
    return json.dump(2, ' ', false, Object::error_handler_t::replace) + "\n";
  }

 private:
  bool planned() const { return !facts_.device_bytes.empty(); }
  int64_t BytesOf(const KeptTensor& kept) const { return graph_.tensor(kept.tensor).type.num_bytes(); }
  int64_t OnDevice(const KeptTensor& kept) const { return planned() ? facts_.device_bytes[kept.tensor.index()] : 0; }
  const Op& ProducerOf(const KeptTensor& kept) const { return graph_.op(graph_.tensor(kept.tensor).producer); }

  // By a number of the op that writes each, for which `names` has a name.
  template <typename NumberOf>
  std::vector<KeptSum> Sums(const std::vector<std::string>& names, const NumberOf& number_of) const {
    std::vector<KeptSum> by_number(names.size());
    for (const KeptTensor& kept : facts_.kept) {
      by_number[number_of(ProducerOf(kept))].Add(BytesOf(kept), OnDevice(kept));
    }
    std::vector<KeptSum> sums;
    for (size_t i = 0; i < names.size(); ++i) {
      if (by_number[i].tensors == 0) continue;
      sums.push_back(by_number[i]);
      sums.back().name = names[i];
    }
    std::ranges::sort(sums, {}, &KeptSum::name);
    std::ranges::stable_sort(sums, std::ranges::greater(), &KeptSum::bytes);
    return sums;
  }
  std::vector<KeptSum> ByType() const {
    return Sums(graph_.op_types, [&](const Op& op) { return op.type; });
  }
  std::vector<KeptSum> ByScope() const {
    return Sums(scopes_, [&](const Op& op) { return scope_of_[op.scope]; });
  }

  std::vector<const KeptTensor*> BySize() const {
    std::vector<const KeptTensor*> order;
    for (const KeptTensor& kept : facts_.kept) order.push_back(&kept);
    std::ranges::stable_sort(order, [&](const auto* a, const auto* b) { return BytesOf(*a) > BytesOf(*b); });
    return order;
  }

  std::string SumTable(std::string_view title, const std::vector<KeptSum>& sums, size_t rows) const {
    std::vector<std::vector<std::string>> table = {
        {std::string(title), "tensors", "bytes", planned() ? "per device" : ""}};
    const auto add = [&](const std::string& name, const KeptSum& sum) {
      table.push_back({"  " + OrNoScope(name), FormatCount(sum.tensors), KeptBytes(sum.bytes),
                       planned() ? KeptBytes(sum.device_bytes) : ""});
    };
    KeptSum rest;
    size_t others = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      if (i < rows || (others == 0 && i + 1 == sums.size())) {
        add(sums[i].name, sums[i]);
        continue;
      }
      ++others;
      rest.tensors += sums[i].tensors;
      rest.bytes = SaturatingAdd(rest.bytes, sums[i].bytes);
      rest.device_bytes = SaturatingAdd(rest.device_bytes, sums[i].device_bytes);
    }
    if (others > 0) add(StrCat(others, " others"), rest);
    return "\n" + AlignColumns(table, {false, true, true, true}, 0);
  }

  // Who needs it: "MatMul \"backward/fc/d.b\"", the first ones.
  std::string Readers(const KeptTensor& kept) const {
    constexpr size_t kNamed = 2;
    std::vector<std::string> named;
    for (const OpId id : kept.readers) {
      if (named.size() < kNamed) named.push_back(StrCat(graph_.type_of(graph_.op(id)), " ", Quote(graph_.op(id).name)));
    }
    const size_t more = kept.readers.size() - named.size();
    return StrCat(Join(named, ", "), more > 0 ? StrCat(" and ", more, " more") : "");
  }

  // Those of repeated layers are equal in scope, type, and the types of the ops that write and read them.
  std::string Largest(size_t rows) const {
    struct Alike {
      const KeptTensor* first = nullptr;
      KeptSum sum;
      int64_t each = 0;  // bytes
    };
    std::vector<Alike> groups;
    std::unordered_map<TensorType, uint32_t> types;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, std::vector<uint32_t>>, size_t> known;
    for (const KeptTensor& kept : facts_.kept) {
      std::vector<uint32_t> readers;
      for (const OpId id : kept.readers) readers.push_back(graph_.op(id).type);
      const auto number = static_cast<uint32_t>(types.size());
      const uint32_t type = types.try_emplace(graph_.tensor(kept.tensor).type, number).first->second;
      const Op& producer = ProducerOf(kept);
      const auto [place, is_new] =
          known.try_emplace({scope_of_[producer.scope], producer.type, type, std::move(readers)}, groups.size());
      if (is_new) groups.push_back({&kept, {}, BytesOf(kept)});
      groups[place->second].sum.Add(BytesOf(kept), OnDevice(kept));
    }
    std::ranges::stable_sort(groups, [](const Alike& a, const Alike& b) {
      return std::tie(a.sum.bytes, a.each) > std::tie(b.sum.bytes, b.each);
    });
    std::string out = "\nlargest\n";
    for (size_t i = 0; i < std::min(rows, groups.size()); ++i) {
      const auto& [first, sum, each] = groups[i];
      const Tensor& tensor = graph_.tensor(first->tensor);
      const Op& producer = ProducerOf(*first);
      const std::string& scope = graph_.scope_of(producer);
      out +=
          StrCat("  ", KeptBytes(sum.bytes), planned() ? StrCat(" (", KeptBytes(sum.device_bytes), " per device)") : "",
                 ": ", sum.tensors > 1 ? StrCat(FormatCount(sum.tensors), " alike, first ") : "", Quote(tensor.name),
                 " ", ToString(tensor.type), " of ", graph_.type_of(producer),
                 scope.empty() ? "" : StrCat(" in ", scope), "\n      needed by ", Readers(*first), "\n");
    }
    if (groups.size() > rows)
      out += StrCat("  and ", groups.size() - rows, groups.size() == rows + 1 ? " smaller kind\n" : " smaller kinds\n");
    return out;
  }

  std::string SavingsTable(size_t rows) const {
    const std::vector<SavedByVjp>& list = facts_.savings.rows;
    if (list.empty()) return "";
    std::vector<std::vector<std::string>> table = {{"custom VJPs", "ops", "kept", "expanded", "saved"}};
    std::string notes;
    for (size_t i = 0; i < std::min(rows, list.size()); ++i) {
      const SavedByVjp& row = list[i];
      const bool known = row.why_not.empty();
      table.push_back({"  " + row.op_type, FormatCount(row.ops), known ? KeptBytes(row.kept_bytes) : "-",
                       known ? KeptBytes(row.expanded_bytes) : "-",
                       !known                   ? "-"
                       : row.saved_bytes() >= 0 ? KeptBytes(row.saved_bytes())
                                                : "-" + KeptBytes(-row.saved_bytes())});
      if (!known) notes += StrCat("  ", row.op_type, ": its expansion is not differentiated: ", row.why_not, "\n");
    }
    if (list.size() > rows) notes += StrCat("  and ", list.size() - rows, " more\n");
    if (facts_.savings.left_out > 0) {
      notes += StrCat("  ", FormatCount(facts_.savings.left_out), " ops of other forms are not compared\n");
    }
    return "\n" + AlignColumns(table, {false, true, true, true, true}, 0) + notes;
  }

  const Graph& graph_;
  const KeptFacts& facts_;
  KeptSum total_;
  std::vector<std::string> scopes_;  // RepeatedScope of each, once
  std::vector<uint32_t> scope_of_;   // per scope, of these
};

}  // namespace

std::string FormatKept(const Graph& graph, const KeptFacts& facts, size_t rows) {
  return KeptReport(graph, facts).Text(rows);
}

std::string KeptJson(const Graph& graph, const KeptFacts& facts) { return KeptReport(graph, facts).Json(); }

}  // namespace sbp
