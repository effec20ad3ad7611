// For tests that are linked with the shim instead of preloading it.
#ifndef ULSC_TEST_SHIM_FILE_SHIM_H
#define ULSC_TEST_SHIM_FILE_SHIM_H

extern "C" {
/// Reads the environment again and counts from zero.
void ulsc_file_shim_restart(void);
/// Operations since then.
long ulsc_file_shim_operations(void);
}

#endif // ULSC_TEST_SHIM_FILE_SHIM_H
