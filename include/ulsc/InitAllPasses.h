//===- InitAllPasses.h - The one place where passes and pipelines are registered --*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_INITALLPASSES_H
#define ULSC_INITALLPASSES_H

namespace ulsc {

/// Registers every pass and the pipelines of all stages, and the few upstream passes that tests
/// use.
void registerAllPasses();

} // namespace ulsc

#endif // ULSC_INITALLPASSES_H
