# Compiler settings, the dependencies and the functions that every CMakeLists.txt of the project uses.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()
if(ULSC_ASSERTIONS)
  string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
endif()
# -O2 keeps the build short; nothing of the compiler itself gains from -O3.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(ULSC_SANITIZE)
  # vptr needs RTTI, which LLVM does without.
  # -O1: instrumented code takes several times as long to optimise.
  string(REPLACE "-O2" "-O1" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  add_compile_options(-fsanitize=${ULSC_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer
    -gline-tables-only)
  add_link_options(-fsanitize=${ULSC_SANITIZE} -fno-sanitize=vptr)
endif()

# One cache for every build folder and worktree of a machine. Precompiled headers need its sloppiness.
find_program(ULSC_CCACHE ccache)
if(ULSC_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${ULSC_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:$<$<COMPILE_LANGUAGE:CXX>:-Xclang -fno-pch-timestamp>")
  endif()
endif()

find_package(MLIR REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)

# mlir-tblgen searches the directory's include path.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
set(ULSC_LLVM_TOOLS_DIR ${LLVM_TOOLS_BINARY_DIR})

# The flags of code that uses LLVM and MLIR: their headers, no RTTI, their two shared libraries.
add_library(ulsc_mlir INTERFACE)
target_include_directories(ulsc_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_include_directories(ulsc_mlir INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR})
target_compile_options(ulsc_mlir INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
target_link_libraries(ulsc_mlir INTERFACE MLIR LLVM nlohmann_json::nlohmann_json)

# What nearly every compiler source includes, compiled once per build folder.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pch/Pch.cpp CONTENT "// Carrier of the precompiled header.\n")
add_library(ulsc_pch OBJECT ${PROJECT_BINARY_DIR}/pch/Pch.cpp)
target_link_libraries(ulsc_pch PRIVATE ulsc_mlir)
target_precompile_headers(ulsc_pch PRIVATE
  <mlir/IR/Builders.h> <mlir/IR/BuiltinAttributes.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h>
  <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h> <mlir/Interfaces/FunctionInterfaces.h>
  <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Interfaces/SideEffectInterfaces.h>
  <mlir/Pass/Pass.h> <mlir/Pass/PassManager.h> <mlir/Transforms/GreedyPatternRewriteDriver.h>)

# Sources wait for this: depending on an object library, CMake lets them wait for what that library depends on, but not for what
# it compiles.
add_custom_target(ulsc_pch_file DEPENDS ${PROJECT_BINARY_DIR}/CMakeFiles/ulsc_pch.dir/cmake_pch.hxx.pch)

# A precompiled header holds its folder's absolute path, so that two worktrees' never have the same bytes. Beside a file of
# this name ccache takes its contents for the header's; what else matters is in the command line.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/CMakeFiles/ulsc_pch.dir/cmake_pch.hxx.pch.sum CONTENT
     "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} LLVM ${LLVM_PACKAGE_VERSION}\n")

# Names the header relative to the build folder, where Ninja runs compilers: CMake's own flags have its absolute path, which would
# keep worktrees from sharing the compiler cache.
function(ulsc_use_precompiled_header name)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_GENERATOR STREQUAL "Ninja")
    set(header CMakeFiles/ulsc_pch.dir/cmake_pch.hxx)
    target_compile_options(${name} PRIVATE
      "SHELL:-Winvalid-pch -Xclang -include-pch -Xclang ${header}.pch -Xclang -include -Xclang ${header}")
    add_dependencies(${name} ulsc_pch ulsc_pch_file)
  else()
    target_precompile_headers(${name} REUSE_FROM ulsc_pch)
  endif()
endfunction()

# ulsc_add_library(NAME SOURCE... [DEPENDS TARGET...] [LINK LIBRARY...]): a static library of the compiler.
# DEPENDS are generated headers.
function(ulsc_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ulsc_mlir ${ARG_LINK})
  ulsc_use_precompiled_header(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY ULSC_LIBRARIES ${name})
endfunction()

# ulsc_add_shared_library(NAME): all compiler libraries so far in one shared library, which the tools and out-of-tree
# plugins link: a plugin must see the same dialects, not a second copy of them.
function(ulsc_add_shared_library name)
  get_property(libraries GLOBAL PROPERTY ULSC_LIBRARIES)
  list(TRANSFORM libraries REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${name} SHARED ${libraries})
  target_link_libraries(${name} PUBLIC ulsc_mlir)
endfunction()

# ulsc_tablegen(TARGET TD OUTPUT ARGUMENT... [OUTPUT ARGUMENT...]): runs mlir-tblgen; each OUTPUT ends in .inc.
function(ulsc_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(output "")
  set(arguments "")
  set(TABLEGEN_OUTPUT "")
  foreach(word ${ARGN} "end.inc")
    if(word MATCHES "\\.inc$")
      if(output)
        mlir_tablegen(${output} ${arguments} EXTRA_INCLUDES ${PROJECT_SOURCE_DIR})
      endif()
      set(output ${word})
      set(arguments "")
    else()
      list(APPEND arguments ${word})
    endif()
  endforeach()
  add_public_tablegen_target(${target})
endfunction()
