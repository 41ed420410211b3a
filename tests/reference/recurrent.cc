// Recurrent cells, step by step. X (time, batch, width) or batch first; a part runs the directions that its weights
// hold.
#include <algorithm>
#include <cmath>
#include <functional>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

using Vector = std::vector<double>;

struct CellState {
  Vector h, c;
};
// The products of one step: gates * hidden each, with their biases.
struct CellStep {
  Vector input, recurrent;
  const double* peephole = nullptr;  // 3 * hidden: input, output, forget
};
using Cell = std::function<void(const CellStep& step, CellState& state)>;

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// What an activation is given, kept within the attribute `clip`.
std::function<double(double)> ClipOf(const Call& call) {
  const double most = call.attributes->Float("clip", 0);
  return [most](double x) { return most > 0 ? std::clamp(x, -most, most) : x; };
}

Cell RnnCell(const Call& call) {
  return [clip = ClipOf(call)](const CellStep& step, CellState& state) {
    for (size_t j = 0; j < state.h.size(); ++j) state.h[j] = std::tanh(clip(step.input[j] + step.recurrent[j]));
  };
}

Cell LstmCell(const Call& call) {
  const bool coupled = call.attributes->Int("input_forget", 0) != 0;
  return [coupled, clip = ClipOf(call)](const CellStep& step, CellState& state) {
    const size_t n = state.h.size();
    const auto gate = [&](size_t g, size_t j) { return step.input[g * n + j] + step.recurrent[g * n + j]; };
    const auto peep = [&](size_t p, size_t j) { return step.peephole ? step.peephole[p * n + j] : 0; };
    for (size_t j = 0; j < n; ++j) {
      const double in = Logistic(clip(gate(0, j) + peep(0, j) * state.c[j]));
      const double forget = coupled ? 1 - in : Logistic(clip(gate(2, j) + peep(2, j) * state.c[j]));
      state.c[j] = forget * state.c[j] + in * std::tanh(clip(gate(3, j)));
      state.h[j] = Logistic(clip(gate(1, j) + peep(1, j) * state.c[j])) * std::tanh(state.c[j]);
    }
  };
}

// The products of one position with the local direction's weights.
class CellWeights {
 public:
  CellWeights(const Call& call, int64_t direction, int64_t gates_hidden)
      : call_(call), direction_(direction), rows_(gates_hidden) {}

  // Weights [direction, rows, width] of operand 1 or 2, and their half of the bias [direction, 2 rows].
  Vector Times(size_t operand, const Vector& x) const {
    Vector out(rows_);
    for (int64_t row = 0; row < rows_; ++row) {
      if (call_.has(3)) out[row] = call_.in(3).at({direction_, row + (operand == 2 ? rows_ : 0)});
      for (size_t i = 0; i < x.size(); ++i)
        out[row] += call_.in(operand).at({direction_, row, static_cast<int64_t>(i)}) * x[i];
    }
    return out;
  }

 private:
  const Call& call_;
  int64_t direction_, rows_;
};

// (r h) enters the candidate's product before or after the recurrent weights.
Cell GruCell(const Call& call, const CellWeights& weights) {
  const bool after = call.attributes->Int("linear_before_reset", 0) != 0;
  return [after, &weights](const CellStep& step, CellState& state) {
    const size_t n = state.h.size();
    Vector update(n), gated(n);
    for (size_t j = 0; j < n; ++j) {
      update[j] = Logistic(step.input[j] + step.recurrent[j]);
      gated[j] = Logistic(step.input[n + j] + step.recurrent[n + j]);
    }
    Vector reset_state = state.h;
    for (size_t j = 0; j < n; ++j) reset_state[j] *= gated[j];
    const Vector reset = weights.Times(2, reset_state);
    for (size_t j = 0; j < n; ++j) {
      const double recurrent = after ? gated[j] * step.recurrent[2 * n + j] : reset[2 * n + j];
      state.h[j] = (1 - update[j]) * std::tanh(step.input[2 * n + j] + recurrent) + update[j] * state.h[j];
    }
  };
}

// Where the batch and the directions are.
struct RecurrentLayout {
  bool batch_first = false;
  Index X(int64_t t, int64_t b, int64_t i) const { return batch_first ? Index{b, t, i} : Index{t, b, i}; }
  Index State(int64_t r, int64_t b, int64_t j) const { return batch_first ? Index{b, r, j} : Index{r, b, j}; }
  Index Y(int64_t t, int64_t r, int64_t b, int64_t j) const {
    return batch_first ? Index{b, t, r, j} : Index{t, r, b, j};
  }
};

struct Recurrence {
  const Call& call;
  RecurrentLayout layout;
  int64_t hidden = 0;
  std::vector<Array> results;  // Y, Y_h, Y_c

  CellState Start(int64_t r, int64_t b) const {
    CellState state{Vector(hidden), Vector(hidden)};
    for (int64_t j = 0; j < hidden; ++j) {
      if (call.has(5)) state.h[j] = call.in(5).at(layout.State(r, b, j));
      if (call.has(6)) state.c[j] = call.in(6).at(layout.State(r, b, j));
    }
    return state;
  }

  // Runs one sequence of one direction.
  void Run(int64_t r, int64_t b, const CellWeights& weights, const Cell& cell) {
    const Array& x = call.in(0);
    const std::string direction = call.attributes->String("direction", "forward");
    const bool backwards =
        direction == "reverse" || (direction == "bidirectional" && r + call.input_pieces[1].ranges[0].begin == 1);
    const int64_t time = call.has(4) ? static_cast<int64_t>(call.in(4).values[b]) : x.shape[layout.batch_first ? 1 : 0];
    CellState state = Start(r, b);
    for (int64_t s = 0; s < time; ++s) {
      const int64_t t = backwards ? time - 1 - s : s;
      Vector row;
      for (int64_t i = 0; i < x.shape[2]; ++i) row.push_back(x.at(layout.X(t, b, i)));
      const CellStep step{weights.Times(1, row), weights.Times(2, state.h),
                          call.has(7) ? &call.in(7).values[call.in(7).Offset({r, 0})] : nullptr};
      cell(step, state);
      for (int64_t j = 0; j < hidden; ++j) results[0].at(layout.Y(t, r, b, j)) = state.h[j];
    }
    for (int64_t j = 0; j < hidden; ++j) {
      if (results.size() > 1) results[1].at(layout.State(r, b, j)) = state.h[j];
      if (results.size() > 2) results[2].at(layout.State(r, b, j)) = state.c[j];
    }
  }
};

template <int64_t kGates>
std::vector<Array> RunRecurrent(const Call& call) {
  Recurrence run{call, {call.attributes->Int("layout", 0) != 0}, call.input_pieces[2].global[2], {}};
  for (size_t r = 0; r < call.result_pieces.size(); ++r) run.results.push_back(call.MakeResult(r));
  const int64_t batch = call.in(0).shape[run.layout.batch_first ? 0 : 1];
  for (int64_t r = 0; r < call.in(1).shape[0]; ++r) {
    const CellWeights weights(call, r, kGates * run.hidden);
    const Cell cell = kGates == 1 ? RnnCell(call) : kGates == 4 ? LstmCell(call) : GruCell(call, weights);
    for (int64_t b = 0; b < batch; ++b) run.Run(r, b, weights, cell);
  }
  return run.results;
}

// 8-bit x by the range of all of it, and back.
Array QuantizedByRange(const Array& x) {
  double low = 0, high = 0;
  for (const double v : x.values) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const double scale = high == low ? 1 : (high - low) / 255;
  Array out = x;
  for (double& v : out.values) v = std::nearbyint(v / scale) * scale;
  return out;
}

// Operands 1 and 2: [directions, width, gates * hidden] of small integers, with scales and zero points [directions] or
// [directions, gates * hidden] behind; as real numbers, transposed.
Array RealWeights(const Call& call, size_t operand) {
  const Array &w = call.in(operand), &scale = call.in(operand == 1 ? 8 : 10), &zero = call.in(operand == 1 ? 9 : 11);
  Array out(DType::kF32, {w.shape[0], w.shape[2], w.shape[1]});
  ForEach(out.shape, [&](const Index& at) {
    const Index parameter = scale.rank() == 1 ? Index{at[0]} : Index{at[0], at[1]};
    out.at(at) = (w.at({at[0], at[2], at[1]}) - zero.at(parameter)) * scale.at(parameter);
  });
  return out;
}

// The hidden state, which a kernel also quantises by its range, stays real here: it is whole in every layout.
std::vector<Array> DynamicQuantizeLstm(const Call& call) {
  const Array x = QuantizedByRange(call.in(0)), w = RealWeights(call, 1), r = RealWeights(call, 2);
  Call lstm = call;
  lstm.inputs.resize(8);
  lstm.inputs[0] = &x;
  lstm.inputs[1] = &w;
  lstm.inputs[2] = &r;
  for (size_t i : {1, 2}) {
    std::swap(lstm.input_pieces[i].global[1], lstm.input_pieces[i].global[2]);
    std::swap(lstm.input_pieces[i].ranges[1], lstm.input_pieces[i].ranges[2]);
  }
  return RunRecurrent<4>(lstm);
}

}  // namespace

void AddRecurrent(KernelTable& t) {
  t["RNN"] = RunRecurrent<1>;
  t["GRU"] = RunRecurrent<3>;
  t["LSTM"] = RunRecurrent<4>;
  t["com.microsoft::DynamicQuantizeLSTM"] = DynamicQuantizeLstm;
}

}  // namespace sbp::reference
