// Sockets between ranks: addresses, listening, connecting, and whole reads and writes.
#ifndef ULSC_RUNTIME_COMM_TCP_SOCKET_H
#define ULSC_RUNTIME_COMM_TCP_SOCKET_H

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace ulsc::runtime {

using Clock = std::chrono::steady_clock;

/// Whole milliseconds until `deadline`, 0 when it is over: what poll takes.
int millisecondsUntil(Clock::time_point deadline);

/// Owns a file descriptor.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Socket();

  int get() const { return descriptor; }
  bool isOpen() const { return descriptor >= 0; }
  void close();

private:
  int descriptor = -1;
};

/// Where ranks meet.
struct Place {
  std::string address;
  int port = 0;

  std::string text() const;
};

/// Whether the address names each machine itself. A machine's own name does not, though many
/// machines resolve their own to such an address: others don't.
bool isLoopback(const std::string &address);

/// Listens on the first of the ports that is free, which `port` gets: on 127.0.0.1, or on all
/// addresses of the machine. Where none is free the socket is closed and `problem` says why.
Socket listenOn(const std::vector<int> &ports, bool onlyLoopback, int &port, std::string &problem);

/// Takes a connection that waits, and the peer's address; closed where there is none.
Socket acceptFrom(const Socket &listener, std::string &peer);

/// Connects before the deadline; else the socket is closed and `problem` says why.
Socket connectTo(const Place &place, Clock::time_point deadline, std::string &problem);

/// Lets the system find out, within about a minute, that the other side's machine has gone.
void keepAlive(const Socket &socket);

/// From now on a write that does not go on for so long fails.
void limitWrites(const Socket &socket, double seconds);

enum class Transfer { Done, Closed, Late };
/// Reads exactly `bytes` bytes before the deadline.
Transfer readAll(const Socket &socket, void *data, size_t bytes, Clock::time_point deadline);
/// Writes all bytes, for as long as it takes; false when the connection is broken.
bool writeAll(const Socket &socket, const void *data, size_t bytes);

/// Ends sending and reads what still comes until the other side has closed, for `seconds` at most:
/// closing a connection on which something unread waits would take back what was sent.
void drain(const std::vector<const Socket *> &sockets, double seconds);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_TCP_SOCKET_H
