#include "io/foreign.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "io/zip.h"

namespace sbp {
namespace {

constexpr size_t kLooked = 65536;  // bytes in which names of a zip archive or a saved model are looked for

constexpr std::string_view kTorchWay =
    "it holds weights or code, not a graph that can be read; in Python: "
    "torch.export.save(torch.export.export(model, inputs), \"model.pt2\")";
constexpr std::string_view kWeightsWay =
    "it holds weights without a graph; export the model that they belong to: "
    "torch.export.save(torch.export.export(model, inputs), \"model.pt2\"), or optimum-cli export onnx --model FOLDER "
    "OUT";
constexpr std::string_view kConfigWay =
    "it holds weights without a graph; give the config.json beside it, and these to --weights";
constexpr std::string_view kTensorflowWay =
    "convert it: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx";
constexpr std::string_view kKerasWay =
    "convert it in Python: model.export(\"model.onnx\", format=\"onnx\"), or tf2onnx.convert.from_keras(model)";
constexpr std::string_view kLiteWay = "convert it: python -m tf2onnx.convert --tflite FILE --output model.onnx";
constexpr std::string_view kBytecodeWay =
    "give its text in the generic form; in Python: "
    "lowered.compiler_ir('stablehlo').operation.get_asm(print_generic_op_form=True, enable_debug_info=True)";
constexpr std::string_view kPackedWay = "unpack it and give the model in it";

bool Has(std::string_view bytes, std::string_view text) {
  return bytes.substr(0, kLooked).find(text) != std::string_view::npos;
}

bool EndsWith(std::string_view path, std::string_view extension) {
  return path.size() >= extension.size() && EqualIgnoringCase(path.substr(path.size() - extension.size()), extension);
}

// Length of a JSON header in eight bytes, then the header.
bool IsSafetensors(std::string_view bytes) {
  if (bytes.size() < 10 || bytes[8] != '{') return false;
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length >= 2 && length <= bytes.size() - 8 && bytes[8 + length - 1] != '\0' && Has(bytes, "\"dtype\"");
}

// Python's pickle from protocol 2 on: PROTO, its number, then an opcode.
bool IsPickle(std::string_view bytes) {
  constexpr std::string_view kOpcodes = "\x8a\x95}](cX\x8c";
  return bytes.size() > 3 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 &&
         kOpcodes.find(bytes[2]) != std::string_view::npos;
}

bool IsWebPage(std::string_view start) {
  const std::string_view text = Trim(start);
  return EqualIgnoringCase(text.substr(0, 5), "<html") || EqualIgnoringCase(text.substr(0, 14), "<!doctype html");
}

std::string_view InZip(std::string_view bytes) {
  if (Has(bytes, "data.pkl") || Has(bytes, "constants.pkl") || Has(bytes, "/code/"))
    return "a PyTorch checkpoint or TorchScript";
  if (Has(bytes, "config.json") && Has(bytes, "model.weights.h5")) return "a Keras model";
  if (Has(bytes, ".npy")) return "a NumPy archive (.npz)";
  return "a zip archive";
}

std::string FromZip(std::string_view bytes) {
  const std::string_view what = InZip(bytes);
  if (what.starts_with("a PyTorch")) return StrCat(what, ": ", kTorchWay);
  if (what.starts_with("a Keras")) return StrCat(what, ": ", kKerasWay);
  if (what.starts_with("a NumPy")) return StrCat(what, ": it holds tensors, no model; give it to --inputs");
  return StrCat(what, ": ", kPackedWay);
}

}  // namespace

bool IsTorchProgram(std::string_view bytes) {
  if (!bytes.starts_with("PK\x03\x04")) return false;
  const auto is_program = [](const ZipMember& member) { return member.name.ends_with("models/model.json"); };
  const Result<std::vector<ZipMember>> members = ReadZipDirectory(bytes);
  if (members.ok()) return std::ranges::any_of(*members, is_program);
  return Has(bytes, "/models/model.json") || Has(bytes, "/data/weights/weight_0");  // cut off: the directory is last
}

bool LooksLikeText(std::string_view bytes) {
  return std::ranges::none_of(bytes,
                              [](char c) { return static_cast<unsigned char>(c) < 0x20 && std::isspace(c) == 0; });
}

std::string ForeignFormat(std::string_view bytes, std::string_view path) {
  if (bytes.starts_with("PK\x03\x04")) return FromZip(bytes);
  if (bytes.starts_with("\x1f\x8b")) return StrCat("gzip data: ", kPackedWay);
  if (bytes.starts_with("\x89HDF\r\n\x1a\n")) return StrCat("an HDF5 file, such as Keras writes: ", kKerasWay);
  if (bytes.starts_with("ML\xefR")) return StrCat("MLIR bytecode, such as jax.export serializes: ", kBytecodeWay);
  if (bytes.starts_with("GGUF")) return StrCat("a GGUF file: ", kWeightsWay);
  if (bytes.size() > 8 && bytes.substr(4, 4) == "TFL3") return StrCat("a TensorFlow Lite model: ", kLiteWay);
  if (bytes.size() > 8 && bytes.substr(4, 4) == "ORTM") {
    return "an ONNX Runtime model (.ort): give the .onnx file that it was made from";
  }
  if (bytes.starts_with("\x93NUMPY")) return "a NumPy array (.npy): it holds a tensor, no model; give it to --inputs";
  if (IsPickle(bytes)) return StrCat("a Python pickle, such as PyTorch's old checkpoints: ", kTorchWay);
  if (IsSafetensors(bytes)) return StrCat("safetensors: ", kConfigWay);
  if (EndsWith(path, "saved_model.pb") || EndsWith(path, "frozen_graph.pb")) {
    return StrCat("a TensorFlow model: ", kTensorflowWay);
  }
  if (EndsWith(path, ".py")) return StrCat("Python code: ", kTorchWay);
  const std::string_view start = bytes.substr(0, 4096);
  if (start.starts_with("version https://git-lfs.")) {
    return "a pointer of Git LFS in the place of the file; fetch it: git lfs pull";
  }
  if (IsWebPage(start)) return "a web page (HTML): what was downloaded is no model but an error or a page about it";
  if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff")) return "text in UTF-16; expected UTF-8";
  // A model may quote code in its metadata, as torch's exporter writes it.
  if (!LooksLikeText(start)) return "";
  if (start.find("<net ") != std::string_view::npos && Has(bytes, "<layers")) {
    return "an OpenVINO model: give the ONNX file that it was made from";
  }
  const bool is_code =
      start.find("def forward(") != std::string_view::npos && start.find("sbp_plan.") == std::string_view::npos;
  return is_code ? StrCat("Python code: ", kTorchWay) : "";
}

}  // namespace sbp
