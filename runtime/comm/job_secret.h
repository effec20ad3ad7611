// The secret that the ranks of a job share, and what is made of it. The cryptography is OpenSSL's.
#ifndef ULSC_RUNTIME_COMM_JOB_SECRET_H
#define ULSC_RUNTIME_COMM_JOB_SECRET_H

#include <array>
#include <string>

namespace ulsc::runtime {

inline constexpr const char *secretVariable = "ULSC_JOB_SECRET";
inline constexpr const char *secretFileVariable = "ULSC_JOB_SECRET_FILE";

/// Of the variable, or of the file that the other one names; empty where neither is set. Throws an
/// Error where it is too short to be one, or the file can be read by others.
std::string readJobSecret();

using Digest = std::array<unsigned char, 32>;

/// SHA-256.
Digest digestOf(const std::string &text);
std::string hexOf(const Digest &digest);
/// 32 bytes that nobody can foresee.
Digest drawNonce();
/// HMAC-SHA256 under the secret.
Digest authenticate(const std::string &secret, const std::string &text);
/// In a time that does not depend on where they differ.
bool areEqual(const Digest &a, const Digest &b);

/// A digest's bytes, to be sent or put into what is authenticated.
inline std::string bytesOf(const Digest &digest) {
  return std::string(reinterpret_cast<const char *>(digest.data()), digest.size());
}

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_JOB_SECRET_H
