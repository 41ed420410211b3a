// The part of graph.h that is about attributes.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"

namespace sbp {
namespace {

auto Position(std::vector<std::pair<std::string, AttributeValue>>& entries, std::string_view name) {
  return std::lower_bound(entries.begin(), entries.end(), name,
                          [](const auto& entry, std::string_view key) { return entry.first < key; });
}

}  // namespace

bool Equal(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<double>(&a)) return SameBits(*x, std::get<double>(b));
  if (const auto* x = std::get_if<std::vector<double>>(&a)) return SameBits(*x, std::get<std::vector<double>>(b));
  if (const auto* x = std::get_if<LiteralRef>(&a)) {
    const auto& y = std::get<LiteralRef>(b);
    return *x == y || (*x && y && **x == *y);
  }
  return a == b;
}

namespace {

struct ValueHasher {
  size_t operator()(int64_t value) const { return HashOf(value); }
  size_t operator()(double value) const { return HashOf(value); }
  size_t operator()(const std::string& value) const { return HashOf(value); }
  template <typename T>
  size_t operator()(const std::vector<T>& values) const {
    return HashRange(values.size(), values);
  }
  size_t operator()(const LiteralRef& value) const { return value ? HashLiteral(*value) : 0; }
  size_t operator()(const std::shared_ptr<const Graph>& value) const { return HashOf(value.get()); }
};

// A point shows that it is a float: 1 is an int, 1.0 a float.
std::string FormatFloat(double value) {
  std::string text = FormatDouble(value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

template <typename T, typename Format>
std::string FormatList(const std::vector<T>& values, Format format) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i > 0 ? ", " : "") + format(values[i]);
  return text + "]";
}

struct ValuePrinter {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return FormatFloat(value); }
  std::string operator()(const std::string& value) const { return Quote(value); }
  std::string operator()(const std::vector<int64_t>& values) const {
    return FormatList(values, [](int64_t value) { return std::to_string(value); });
  }
  std::string operator()(const std::vector<double>& values) const { return FormatList(values, FormatFloat); }
  std::string operator()(const std::vector<std::string>& values) const { return FormatList(values, Quote); }
  std::string operator()(const LiteralRef& value) const {
    return value ? ToString(value->type) + " " + ToString(*value) : "none";
  }
  std::string operator()(const std::shared_ptr<const Graph>& value) const {
    return value ? StrCat("graph ", Quote(value->name), " of ", value->ops.size(), " ops") : "none";
  }
};

}  // namespace

const AttributeValue* Attributes::Find(std::string_view name) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const auto& entry, std::string_view key) { return entry.first < key; });
  return at != entries_.end() && at->first == name ? &at->second : nullptr;
}

void Attributes::Set(std::string name, AttributeValue value) {
  const auto at = Position(entries_, name);
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.emplace(at, std::move(name), std::move(value));
  }
}

int64_t Attributes::Int(std::string_view name, int64_t fallback) const {
  const AttributeValue* value = Find(name);
  const auto* number = value ? std::get_if<int64_t>(value) : nullptr;
  return number ? *number : fallback;
}

double Attributes::Float(std::string_view name, double fallback) const {
  const AttributeValue* value = Find(name);
  const auto* number = value ? std::get_if<double>(value) : nullptr;
  return number ? *number : fallback;
}

std::string Attributes::String(std::string_view name, std::string_view fallback) const {
  const AttributeValue* value = Find(name);
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? *text : std::string(fallback);
}

const std::vector<int64_t>* Attributes::Ints(std::string_view name) const {
  const AttributeValue* value = Find(name);
  return value ? std::get_if<std::vector<int64_t>>(value) : nullptr;
}

bool Equal(const Attributes& a, const Attributes& b) {
  return std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(), b.entries().end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && Equal(x.second, y.second); });
}

size_t HashAttributes(const Attributes& attributes) {
  size_t seed = attributes.entries().size();
  for (const auto& [name, value] : attributes.entries()) {
    seed = HashCombine(seed, HashOf(name));
    seed = HashCombine(seed, HashCombine(value.index(), std::visit(ValueHasher(), value)));
  }
  return seed;
}

std::string ToString(const AttributeValue& value) { return std::visit(ValuePrinter(), value); }

bool HasSubgraph(const Attributes& attributes) {
  for (const auto& [name, value] : attributes.entries()) {
    if (std::holds_alternative<std::shared_ptr<const Graph>>(value)) return true;
  }
  return false;
}

}  // namespace sbp
