//===- ProgramTest.cpp - An exec program becomes an executable that trains -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

// A hand-written step: loss = 1/2 |W|^2 for W of 8 x 8 ones, by SGD. The loss is read off the
// diagonal of W W^T.

#include "dialects/Exec/ExecDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Lower/Passes.h"
#include "ulsc/Target/Cpu.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace mlir;

static const char *manifest = R"({"schema":"ulsc.manifest/1",
  "model":{"name":"square","family":"fake","config":"{}","parameters":64,"flops_per_step":1,"vocabulary":50,"weight_prefix":""},
  "compile":{"dtype":"f32","optimizer":"sgd","dropout":false},
  "mesh":{"axes":[{"name":"dp","size":1}]},
  "batch":{"global":2,"micro":2,"microbatches":1,"seq":4,"data_axes":["dp"]},
  "arena":{"bytes":4096,"threads":4,"categories":{"parameters":256,"gradients":256,"optimizer":256,"temporaries":3328}},
  "inputs":{"tokens":{"offset":0,"shape":[1,2,4],"dtype":"i32"},"targets":{"offset":64,"shape":[1,2,4],"dtype":"i32"}},
  "tensors":[
    {"name":"w","role":"parameter","parameter":"w","dtype":"f32","offset":128,"shape":[8,8],"logical_shape":[8,8],
     "external_shape":[8,8],"sharding":[[],[]],"replicated_over":["dp"],"init":{"kind":"ones"},"trainable":true,"group":0},
    {"name":"w","role":"moment1","parameter":"w","dtype":"f32","offset":640,"shape":[8,8],"logical_shape":[8,8],
     "external_shape":[8,8],"sharding":[[],[]],"replicated_over":["dp"],"init":{"kind":"zeros"},"trainable":true,"group":0},
    {"name":"w","role":"gradient","parameter":"w","dtype":"f32","offset":384,"shape":[8,8],"logical_shape":[8,8],
     "external_shape":[8,8],"sharding":[[],[]],"replicated_over":["dp"],"init":{"kind":"zeros"},"trainable":true,"group":0}],
  "groups_optimizer":[{"match":"*","weight_decay_scale":1,"lr_scale":1}],
  "groups":[{"axes":["dp"]}],
  "collectives":[{"kind":"all_reduce","axes":["dp"],"phase":"backward","source":"w","cause":"test","count_per_step":1,"bytes":256}],
  "collective_slots":1,
  "hyperparameters":{"lr":0.1,"momentum":0,"weight_decay":0,"clip_grad":0}})";

static const char *program = R"(
#r = affine_map<(i, j) -> (i, j)>
#s = affine_map<(i, j) -> ()>
#d = affine_map<(i) -> (i, i)>
#e = affine_map<(i) -> ()>
exec.kernel private @square_root(%x: tensor<8x8xf32>) -> tensor<f32> attributes {row_dims = 0 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#r, #s], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<8x8xf32>) outs(%i : tensor<f32>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.mulf %a, %a : f32
      %1 = arith.addf %0, %acc : f32
      linalg.yield %1 : f32
  } -> tensor<f32>
  %q = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%s : tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.sqrt %a : f32
      linalg.yield %0 : f32
  } -> tensor<f32>
  exec.yield %q : tensor<f32>
}
exec.kernel private @half_trace(%x: tensor<8x8xf32>) -> tensor<f32> attributes {row_dims = 0 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#d, #e], iterator_types = ["reduction"]}
      ins(%x : tensor<8x8xf32>) outs(%i : tensor<f32>) {
    ^bb0(%a: f32, %acc: f32):
      %half = arith.constant 0.5 : f32
      %0 = arith.mulf %a, %half : f32
      %1 = arith.addf %0, %acc : f32
      linalg.yield %1 : f32
  } -> tensor<f32>
  exec.yield %s : tensor<f32>
}
exec.kernel private @update(%w: tensor<8x8xf32>, %g: tensor<8x8xf32>, %parameter: i64) -> tensor<8x8xf32> attributes {row_dims = 2 : i64} {
  %e = tensor.empty() : tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [#r, #r, #r], iterator_types = ["parallel", "parallel"]}
      ins(%w, %g : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %lr = exec.control "learning_rate" : f32
      %scale = exec.parameter_scale %parameter : f32
      %rate = arith.mulf %lr, %scale : f32
      %0 = arith.mulf %rate, %b : f32
      %1 = arith.subf %a, %0 : f32
      linalg.yield %1 : f32
  } -> tensor<8x8xf32>
  exec.yield %y : tensor<8x8xf32>
}
exec.function private @backward(%w: memref<8x8xf32>, %g: memref<8x8xf32>, %loss: memref<f32>) attributes {frame_bytes = 256 : i64} {
  %t = exec.buffer temporaries offset(0) : memref<8x8xf32>
  exec.gemm "w" %w, %w outs(%t) sizes [1, 8, 8, 8] strides [0, 8, 1], [0, 1, 8], [0, 8, 1]
      : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  exec.launch @half_trace ins(%t : memref<8x8xf32>) outs(%loss : memref<f32>)
  exec.copy %w to %g : memref<8x8xf32> to memref<8x8xf32>
  exec.return
}
exec.function @ulsc_step() attributes {entry, frame_bytes = 4096 : i64} {
  %w = exec.buffer parameters "w" offset(128) : memref<8x8xf32>
  %g = exec.buffer gradients "w" offset(384) : memref<8x8xf32>
  %loss = exec.buffer temporaries offset(960) : memref<f32>
  %norm = exec.buffer temporaries offset(1024) : memref<f32>
  %stop = exec.buffer temporaries offset(1088) : memref<f32>
  %count = exec.buffer temporaries offset(1152) : memref<f32>
  %frame = exec.buffer temporaries offset(1216) : memref<256xi8>
  exec.call @backward(%w, %g, %loss) frame(%frame : memref<256xi8>) : memref<8x8xf32>, memref<8x8xf32>, memref<f32>
  exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%g) outs(%g) : memref<8x8xf32> to memref<8x8xf32>
  exec.collective_wait slot(0)
  exec.launch @square_root ins(%g : memref<8x8xf32>) outs(%norm : memref<f32>)
  %first = arith.constant 0 : i64
  exec.launch @update ins(%w, %g : memref<8x8xf32>, memref<8x8xf32>) outs(%w : memref<8x8xf32>) scalars(%first : i64)
  exec.write_control "loss" from %loss : memref<f32>
  exec.write_control "grad_norm" from %norm : memref<f32>
  exec.fill %count with 8.0 : f32 : memref<f32>
  exec.write_control "valid_count" from %count : memref<f32>
  exec.read_control "stop_requested" to %stop : memref<f32>
  exec.write_control "stop_count" from %stop : memref<f32>
  exec.return
}
)";

TEST(Program, TrainsAsAnExecutable) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                      math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                      tensor::TensorDialect, ulsc::exec::ExecDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  ASSERT_TRUE(module);
  (*module)->setAttr("exec.manifest", StringAttr::get(&context, manifest));
  PassManager passes(&context);
  ulsc::buildCpuPipeline(passes);
  ASSERT_TRUE(succeeded(passes.run(*module)));
  std::string directory = testing::TempDir() + "ulsc-program-test";
  ASSERT_EQ(std::system(("rm -rf " + directory + " && mkdir -p " + directory).c_str()), 0);
  std::string object = directory + "/program.o", executable = directory + "/program",
              metrics = directory + "/m.jsonl";
  ASSERT_TRUE(succeeded(ulsc::emitCpuObject(*module, {}, object)));
  ASSERT_TRUE(succeeded(ulsc::linkProgram(module->getLoc(), {object}, "cpu", executable, "")));
  std::ofstream(directory + "/tokens.bin") << std::string(2 * 4 * 10 * 2, '\0');
  std::string command = executable + " --data " + directory +
                        "/tokens.bin --steps 3 --threads 2 --metrics " + metrics;
  ASSERT_EQ(std::system((command + " > " + directory + "/log 2>&1").c_str()), 0)
      << std::ifstream(directory + "/log").rdbuf();
  std::ifstream lines(metrics);
  double expected = 32;
  int count = 0;
  for (std::string line; std::getline(lines, line); expected *= 0.81) {
    auto step = nlohmann::json::parse(line);
    if (!step.contains("loss"))
      continue;
    ++count;
    EXPECT_NEAR(step["loss"].get<double>(), expected, 1e-4);
    EXPECT_NEAR(step["grad_norm"].get<double>(), std::sqrt(2 * expected), 1e-4);
  }
  EXPECT_EQ(count, 3);
}

TEST(Program, NamesAMissingRuntime) {
  MLIRContext context;
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    for (Diagnostic &note : diagnostic.getNotes())
      message += note.str();
  });
  EXPECT_TRUE(failed(
      ulsc::linkProgram(UnknownLoc::get(&context), {"/nonexistent.o"}, "cpu", "/tmp/none", "")));
  EXPECT_NE(message.find("libdnnl-dev"), std::string::npos) << message;
}
