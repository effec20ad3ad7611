//===- Frontend.cpp - From a Hugging Face model to a module
//------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "ulsc/Frontend.h"

#include "lib/Frontend/Family.h"
#include "ulsc/Report.h"
#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

ArrayRef<Family> ulsc::frontend::getFamilies() {
  static const Family families[] = {{"gpt2", importGpt2}, {"llama", importLlama}};
  return families;
}

std::vector<StringRef> ulsc::getModelFamilies() {
  std::vector<StringRef> names;
  for (const Family &family : getFamilies())
    names.push_back(family.name);
  return names;
}

void ulsc::frontend::checkDtype(const ConfigReader &config, const ImportOptions &options) {
  std::string dtype = config.getString({"dtype", "torch_dtype"}, "");
  StringRef found = dtype;
  found.consume_front("torch.");
  StringRef used = options.computeDtype == "bf16"  ? "bfloat16"
                   : options.computeDtype == "f16" ? "float16"
                                                   : "float32";
  if (found.empty() || found == "auto" || found == used)
    return;
  StringRef flag = found == "bfloat16" ? "bf16" : found == "float16" ? "f16" : "";
  InFlightDiagnostic warning = config.emitWarning(config.has("dtype") ? "dtype" : "torch_dtype");
  warning << "is \"" << dtype << "\"; this program stores and computes in " << used;
  if (!flag.empty())
    warning << " (--dtype " << flag << " does so in " << found << ")";
}

void ulsc::frontend::checkTotalSize(const ConfigReader &config, double parameters,
                                    bool &hasErrors) {
  // Sizes in bytes must stay far from the end of 64 bits.
  constexpr double most = 1e15;
  if (parameters <= most || hasErrors)
    return;
  hasErrors = true;
  config.getFile().emitError("")
      << llvm::formatv("describes a model of {0:E1} parameters; at most {1:E0} are supported",
                       parameters, most)
             .str();
}

/// `config.json` in a directory, or the file itself.
static std::string findConfig(StringRef path) {
  if (!llvm::sys::fs::is_directory(path))
    return path.str();
  SmallString<128> file(path);
  llvm::sys::path::append(file, "config.json");
  return file.str().str();
}

static const Family *findFamily(const ConfigReader &config) {
  std::string supported = llvm::join(getModelFamilies(), ", ");
  std::string type = config.getString({"model_type"}, "");
  if (type.empty()) {
    if (!config.has("model_type"))
      config.getFile().emitError("") << "lacks \"model_type\", expected one of " << supported;
    return nullptr;
  }
  for (const Family &family : getFamilies())
    if (family.name == type)
      return &family;
  config.emitError("model_type") << "is \"" << type << "\", which is not supported; supported are "
                                 << supported << suggestNearest(type, getModelFamilies());
  return nullptr;
}

static void attachAttributes(ModuleOp module, const Family &family, const ImportedModel &model,
                             const JsonFile &file, const ImportOptions &options) {
  Builder b(module.getContext());
  // A model is called as its file, or as the directory of a file that is called as all are.
  StringRef name = llvm::sys::path::stem(file.getPath());
  if (name == "config")
    name = llvm::sys::path::filename(llvm::sys::path::parent_path(file.getPath()));
  // A path may hold any bytes, the manifest and reports only UTF-8.
  std::string legalName = llvm::json::fixUTF8(name.empty() || name == "." ? family.name : name);
  auto named = [&](StringRef key, Attribute value) { return b.getNamedAttr(key, value); };
  module->setAttr(
      "uls.model",
      b.getDictionaryAttr(
          {named("family", b.getStringAttr(family.name)), named("name", b.getStringAttr(legalName)),
           named("config", b.getStringAttr(file.getText())),
           named("vocabulary", b.getI64IntegerAttr(model.vocabulary)),
           named("weight_prefix", b.getStringAttr(model.weightPrefix)),
           named("parameters", b.getI64IntegerAttr(report::countParameters(module))),
           named("flops_per_step",
                 b.getF64FloatAttr(report::computeFlopsPerStep(module, options.microbatches)))}));
  int64_t global = options.microBatch * options.microbatches * options.dataRanks;
  SmallVector<StringRef> axes(options.dataAxes.begin(), options.dataAxes.end());
  module->setAttr(
      "uls.batch",
      b.getDictionaryAttr({named("global", b.getI64IntegerAttr(global)),
                           named("micro", b.getI64IntegerAttr(options.microBatch)),
                           named("microbatches", b.getI64IntegerAttr(options.microbatches)),
                           named("seq", b.getI64IntegerAttr(options.seq)),
                           named("data_axes", b.getStrArrayAttr(axes))}));
  Type gradient = options.gradientDtype == "bf16" ? Type(b.getBF16Type()) : Type(b.getF32Type());
  module->setAttr(uls::UlsDialect::kGradientDtypeAttrName, TypeAttr::get(gradient));
}

OwningOpRef<ModuleOp> ulsc::importModel(MLIRContext *context, StringRef path,
                                        const ImportOptions &options) {
  context->loadDialect<uls::UlsDialect, dist::DistDialect>();
  std::optional<JsonFile> file = JsonFile::load(context, findConfig(path));
  if (!file)
    return {};
  if (!file->getRoot().getAsObject()) {
    file->emitError("") << "is " << describeJson(file->getRoot()) << ", expected a JSON object";
    return {};
  }
  bool hasErrors = false;
  ConfigReader config(*file, "", hasErrors);
  const Family *family = findFamily(config);
  if (!family)
    return {};
  std::optional<ImportedModel> model = family->import(config, context, options);
  if (!model)
    return {};
  attachAttributes(*model->module, *family, *model, *file, options);
  return std::move(model->module);
}
