//===- Passes.td - Passes that attach annotations to an imported model ---------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_PASSES_IMPORT_PASSES_TD
#define ULSC_PASSES_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def AnnotatePass : Pass<"ulsc-annotate", "::mlir::ModuleOp"> {
  let summary = "choose the mesh and the storage sharding of every parameter";
  let description = [{
    Requires a module of parameters, blocks and `@forward` without a mesh.

    Puts presets, recipe, rules and pins together (docs/recipe.md), adds `dist.mesh`, and gives each parameter its closed
    sharding: by the pin that matches its name last, else by the rules of its logical axes. `dist.origin` of a parameter
    says for each mesh axis which annotation it came from; `uls.rules` of the module keeps the rules for propagation, and
    `origin` of `uls.batch` that of the batch. All sizes that don't divide are one error.

    Leaves types as they are: vocabularies were padded by import.

    ```mlir
    uls.param @"up.weight" : tensor<64x16xf32> axes ["mlp", "embed"] init <normal, 0.02>
    ```
    becomes, with `mesh=dp=2,tp=2`,
    ```mlir
    dist.mesh @mesh <["dp"=2, "tp"=2]>
    uls.param @"up.weight" : tensor<64x16xf32> axes ["mlp", "embed"] init <normal, 0.02> sharding <@mesh, [{"tp"}, {} ]>
      {dist.origin = {tp = "rule mlp→tp (strategy tp)"}}
    ```
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "", "mesh axes and sizes, as in dp=2,tp=4">,
    Option<"meshOrder", "mesh-order", "std::string", "", "axes major to minor, instead of the canonical order">,
    Option<"devices", "devices", "int64_t", "0", "number of devices, which resolves an axis of size *">,
    Option<"strategy", "strategy", "std::string", "", "presets joined by +">,
    Option<"recipe", "recipe", "std::string", "", "path of a JSON recipe">,
    Option<"shard", "shard", "std::string", "", "pins, as PATTERN=DIMS, separated by ;">
  ];
  let dependentDialects = ["::ulsc::dist::DistDialect", "::ulsc::uls::UlsDialect"];
}

def AssignGroupsPass : Pass<"ulsc-assign-groups", "::mlir::ModuleOp"> {
  let summary = "put parameters into the optimizer's groups, and freeze some";
  let description = [{
    Requires parameters. Sets each one's `group` to the first of the recipe's `groups` whose pattern matches its name (0, the group of all
    others, without one) and `frozen` where a pattern of `frozen` matches. `uls.groups` of the module lists the groups.

    ```mlir
    uls.param @"up.bias" : tensor<64xf32> axes ["mlp"] init <zeros>
    ```
    becomes, with `{"groups": [{"match": "*.bias", "weight_decay": 0} ] }`,
    ```mlir
    module attributes {uls.groups = [{match = "*", …}, {lr_scale = 1.0, match = "*.bias", weight_decay_scale = 0.0} ] } {
      uls.param @"up.bias" : tensor<64xf32> axes ["mlp"] init <zeros> {group = 1}
    ```
  }];
  let options = [Option<"recipe", "recipe", "std::string", "", "path of a JSON recipe">];
  let dependentDialects = ["::ulsc::uls::UlsDialect"];
}

def SpecializeBlocksPass : Pass<"ulsc-specialize-blocks", "::mlir::ModuleOp"> {
  let summary = "clone blocks whose layers are annotated differently";
  let description = [{
    Requires sharded parameters. Calls of a block agree on the shardings of its parameters afterwards: calls that differ from the first one
    get a clone, one for each distinct annotation.

    ```mlir
    %1 = uls.call @layer(%0, %a)     // a is sharded over tp
    %2 = uls.call @layer(%1, %b)     // b is pinned whole
    ```
    becomes
    ```mlir
    %1 = uls.call @layer(%0, %a)
    %2 = uls.call @layer_0(%1, %b)
    ```
  }];
  let dependentDialects = ["::ulsc::uls::UlsDialect"];
}

#endif // ULSC_PASSES_IMPORT_PASSES_TD
