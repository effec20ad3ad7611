#include "comm/job_secret.h"

#include "core/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ulsc::runtime {

namespace {

// Whoever listens in sees what is authenticated and can try secrets at leisure: few would be found
// soon.
constexpr size_t leastBytes = 16, mostBytes = 4096;

constexpr const char *advice = "'openssl rand -hex 32' makes one";

std::string checked(const std::string &secret, const std::string &origin) {
  if (secret.size() < leastBytes || secret.size() > mostBytes)
    raise(origin, " holds ", secret.size(), " bytes, but a job's secret has ", leastBytes, " to ",
          mostBytes, "; ", advice);
  return secret;
}

/// Readable by its owner alone; a file of root's also by a group, as Kubernetes mounts secrets.
void checkPermissions(const struct stat &status, const std::string &path) {
  if (!S_ISREG(status.st_mode))
    raise(secretFileVariable, " is '", path, "', which is no regular file; ", advice);
  if (status.st_uid != geteuid() && status.st_uid != 0)
    raise("the secret's file '", path, "' belongs to user ", status.st_uid,
          ", but has to belong to the user of the program, ", geteuid(), ", or to root");
  mode_t forbidden = S_IRWXO | S_IWGRP | S_IXGRP | (status.st_uid == 0 ? 0 : S_IRGRP);
  if (status.st_mode & forbidden) {
    char mode[8];
    std::snprintf(mode, sizeof(mode), "%04o", static_cast<unsigned>(status.st_mode & 07777));
    raise("the secret's file '", path, "' has mode ", mode,
          ", so that others can read or change it; run 'chmod 600 ", path, "'");
  }
}

std::string readFile(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    raise(secretFileVariable, " is '", path, "', which can't be read: ", std::strerror(errno), "; ",
          advice);
  struct stat status{};
  std::string text(mostBytes + 1, '\0');
  ssize_t count = -1;
  try {
    fstat(file, &status);
    checkPermissions(status, path);
    count = read(file, text.data(), text.size());
  } catch (const Error &) {
    close(file);
    throw;
  }
  close(file);
  if (count < 0)
    raise("the secret's file '", path, "' can't be read: ", std::strerror(errno));
  text.resize(static_cast<size_t>(count));
  // Editors and shells end a line.
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

} // namespace

std::string readJobSecret() {
  const char *value = std::getenv(secretVariable), *path = std::getenv(secretFileVariable);
  if (value && path)
    raise("both ", secretVariable, " and ", secretFileVariable, " are set; set one of them");
  if (value)
    return checked(value, secretVariable);
  if (path)
    return checked(readFile(path), concat("the secret's file '", path, "'"));
  return "";
}

Digest digestOf(const std::string &text) {
  Digest digest{};
  if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
    raise("OpenSSL can't compute SHA-256");
  return digest;
}

std::string hexOf(const Digest &digest) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

Digest drawNonce() {
  Digest nonce{};
  if (RAND_bytes(nonce.data(), static_cast<int>(nonce.size())) != 1)
    raise("OpenSSL has no random numbers");
  return nonce;
}

Digest authenticate(const std::string &secret, const std::string &text) {
  Digest digest{};
  unsigned size = 0;
  if (!HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
            reinterpret_cast<const unsigned char *>(text.data()), text.size(), digest.data(),
            &size))
    raise("OpenSSL can't compute HMAC-SHA256");
  return digest;
}

bool areEqual(const Digest &a, const Digest &b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

} // namespace ulsc::runtime
