// That the ranks of a job were started alike: one program, and the same flags where they matter.
#ifndef ULSC_RUNTIME_CORE_AGREEMENT_H
#define ULSC_RUNTIME_CORE_AGREEMENT_H

#include "core/options.h"

namespace ulsc::runtime {

class Communicator;

/// Throws on all ranks if the program or a flag of one is not that of rank 0, with both sides named
/// (docs/program.md). Ranks that go on unlike each other would wait for ever, or train on mixtures.
void checkAgreement(const Manifest &manifest, const Options &options, Communicator &communicator);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_AGREEMENT_H
