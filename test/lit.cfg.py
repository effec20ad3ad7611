"""Text tests: ulsc-opt and its kind on .mlir files, checked by FileCheck."""
import os
import shutil
import sys

import lit.formats

config.name = "ulsc"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir"]
config.test_source_root = config.source_dir
config.test_exec_root = config.binary_dir
config.environment["PATH"] = os.pathsep.join(
    [config.tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "")]
)
# Tests verify after each pass, so that a broken module is found at the pass that broke it.
for command in ("compile", "explain"):
    config.substitutions.append((rf"\bulsc {command}\b", f"ulsc {command} --verify-each"))
config.substitutions.append(("%python", sys.executable))
# The assembler of a CUDA toolkit, where there is one, takes what programs for CUDA bring.
ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
