//===- GridAttention.h - Attention by blocks of threads, through tiles ---------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_CUDA_GRIDATTENTION_H
#define ULSC_PASSES_LOWER_CUDA_GRIDATTENTION_H

#include "passes/Lower/AttentionOperands.h"
#include "passes/Lower/Cuda/GridBuilder.h"

namespace ulsc::lower {

/// Rows of f32 in shared memory, one element longer than the data, so that the elements of a column
/// lie in different banks.
struct Tile {
  mlir::Value pointer;
  int64_t rows = 0, columns = 0;

  int64_t stride() const { return columns + 1; }
};

/// One block's part of an attention: tiles of queries and keys of one head. All threads of a block
/// call what it emits.
class GridAttention : public AttentionOperands {
public:
  GridAttention(GridBuilder &grid, const AttentionShape &shape, int64_t queries, int64_t keys)
      : AttentionOperands(grid.code, shape), grid(grid), queries(queries), keys(keys) {}

  /// The largest power of two up to 32 for which `tiles` tiles of that many rows, and the scores of
  /// as many queries and keys, fit in shared memory.
  static int64_t chooseRows(const AttentionShape &shape, int64_t tiles);

  int64_t queryBlocks() const { return llvm::divideCeil(shape.s, queries); }
  int64_t keyBlocks() const { return llvm::divideCeil(shape.t, keys); }

  Tile makeTile(int64_t rows, int64_t columns);
  Tile makeColumn(int64_t rows) { return makeTile(rows, 1); }
  mlir::Value load(const Tile &tile, mlir::Value row, mlir::Value column);
  void store(mlir::Value value, const Tile &tile, mlir::Value row, mlir::Value column);
  mlir::Value loadRow(const Tile &tile, mlir::Value row); ///< of a column
  void storeRow(mlir::Value value, const Tile &tile, mlir::Value row);

  /// Each element of `rows` x `columns` by one thread, always the same.
  void forElements(int64_t rows, int64_t columns,
                   llvm::function_ref<void(mlir::Value, mlir::Value)> body);
  /// Each of `rows` by one warp.
  void forRows(int64_t rows, llvm::function_ref<void(mlir::Value)> body);

  /// Sets the queries' block, `firstRow` on, or the keys', `firstKey` on.
  void setRows(mlir::Value first);
  void setKeys(mlir::Value first);
  /// The block's rows of a buffer in q's or k's layout; rows past the end are zero.
  void loadQueries(mlir::Value pointer, const Tile &tile);
  void loadKeys(mlir::Value pointer, const Tile &tile);
  void storeQueries(const Tile &tile, mlir::Value pointer);
  void storeKeys(const Tile &tile, mlir::Value pointer);
  /// Calls `body` if any query of the block may see a key of the block by their positions.
  void ifVisible(llvm::function_ref<void()> body);

  /// The sum over the columns of x[i, d] * y[j, d].
  mlir::Value dot(const Tile &x, mlir::Value i, const Tile &y, mlir::Value j);
  /// Whether query `row` sees key `key`, both of the block and within the sequence.
  mlir::Value sees(mlir::Value row, mlir::Value key);
  /// `dropoutFactor` of two indices of the block.
  mlir::Value factorOf(mlir::Value row, mlir::Value key);
  mlir::Value isRow(mlir::Value row);

  GridBuilder &grid;
  int64_t queries, keys;
  mlir::Value firstKey;

private:
  mlir::Value isKey(mlir::Value key);
};

// Each fills in a function whose arguments are bound, and returns how it is launched.
Geometry emitAttention(GridAttention &task);
Geometry emitQueryGradient(GridAttention &task);
Geometry emitKeyGradient(GridAttention &task);

/// Tiles of keys or queries that each of them holds at a time.
constexpr int64_t kAttentionTiles = 3, kQueryGradientTiles = 5, kKeyGradientTiles = 6;

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_CUDA_GRIDATTENTION_H
