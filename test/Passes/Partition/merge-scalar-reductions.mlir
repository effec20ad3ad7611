// RUN: ulsc-opt %s --ulsc-merge-scalar-reductions --split-input-file | FileCheck %s

module attributes {dist.partitioned} {
dist.mesh @mesh <["dp"=2, "cp"=2, "tp"=2]>
// Over the same axes nothing is asked; a reduction that another one depends on stays apart.
// CHECK-LABEL: uls.block @same_axes
uls.block @same_axes(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[X:.*]] = dist.all_reduce sum %arg0 over @mesh ["dp"] cause "a"
  // CHECK-NEXT: %[[E:.*]] = uls.exp %[[X]]
  // CHECK-NEXT: %[[S:.*]]:2 = dist.all_reduce sum %arg1, %[[E]] over @mesh ["dp"] cause "b"
  // CHECK-NEXT: uls.yield %[[S]]#1, %[[S]]#0
  %x = dist.all_reduce sum %a over @mesh ["dp"] cause "a" : (tensor<f32>) -> tensor<f32>
  %y = dist.all_reduce sum %b over @mesh ["dp"] cause "b" : (tensor<f32>) -> tensor<f32>
  %e = uls.exp %x : tensor<f32>
  %z = dist.all_reduce sum %e over @mesh ["dp"] : (tensor<f32>) -> tensor<f32>
  uls.yield %z, %y : tensor<f32>, tensor<f32>
}
// Reduced step by step over two axes: the first sum is not complete, and the second is of it.
// CHECK-LABEL: uls.block @pending
uls.block @pending(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: dist.all_reduce sum %arg0 over @mesh ["dp"] :
  // CHECK: dist.all_reduce sum %{{.*}} over @mesh ["tp"] :
  // CHECK: dist.all_reduce sum %arg1 over @mesh ["cp"] :
  %x = dist.all_reduce sum %a over @mesh ["dp"] : (tensor<f32>) -> tensor<f32>
  %y = dist.all_reduce sum %x over @mesh ["tp"] : (tensor<f32>) -> tensor<f32>
  %z = dist.all_reduce sum %b over @mesh ["cp"] : (tensor<f32>) -> tensor<f32>
  uls.yield %y, %z : tensor<f32>, tensor<f32>
}
// Complete ones share the axes of all, in the mesh's order; each counts once. A maximum needs no mask.
// CHECK-LABEL: uls.block @complete
uls.block @complete(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  // CHECK: %[[T:.*]] = dist.axis_index @mesh ["cp"]
  // CHECK: %[[A:.*]] = uls.mask le %[[T]], %{{.*}}, %arg0
  // CHECK: %[[D:.*]] = dist.axis_index @mesh ["dp", "tp"]
  // CHECK: %[[B:.*]] = uls.mask le %[[D]], %{{.*}}, %arg1
  // CHECK: dist.all_reduce sum %[[A]], %[[B]] over @mesh ["dp", "cp", "tp"] :
  // CHECK: dist.all_reduce max %arg0, %arg1 over @mesh ["dp", "tp"] :
  %x = dist.all_reduce sum %a over @mesh ["dp", "tp"] {dist.complete} : (tensor<f32>) -> tensor<f32>
  %y = dist.all_reduce sum %b over @mesh ["cp"] {dist.complete} : (tensor<f32>) -> tensor<f32>
  %v = dist.all_reduce max %a over @mesh ["tp"] {dist.complete} : (tensor<f32>) -> tensor<f32>
  %w = dist.all_reduce max %b over @mesh ["dp"] {dist.complete} : (tensor<f32>) -> tensor<f32>
  uls.yield %x, %y, %v, %w : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
}
