//===- Tables.h - Schedules for tests of what is made from them ---------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_UNIT_PIPELINE_TABLES_H
#define ULSC_TEST_UNIT_PIPELINE_TABLES_H

#include "ulsc/PipelineTransfers.h"

#include <random>

namespace ulsc::test {

/// What chunks hand on: activations forward, gradients backward.
std::vector<pipeline::Flow> getFlows(const pipeline::Schedule &schedule);

/// A table of one of the shapes with its entries in a random order: of all, of some that keep their
/// backwards behind their forwards, or with one entry changed.
pipeline::Schedule drawTable(std::mt19937_64 &random);

/// A table with all of its work, in a random order that each rank by itself could follow: what is
/// wrong with it is between ranks.
pipeline::Schedule drawTableOfWholeRanks(std::mt19937_64 &random);

} // namespace ulsc::test

#endif // ULSC_TEST_UNIT_PIPELINE_TABLES_H
