#include "comm/tcp_socket.h"

#include "core/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ulsc::runtime {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string &address, int port, std::string &problem, int flags = 0) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  int code = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) {
    problem = concat("'", address, "' can't be resolved: ", gai_strerror(code));
    found = nullptr;
  }
  return Addresses(found, freeaddrinfo);
}

bool isLoopbackAddress(const sockaddr *address) {
  if (address->sa_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in *>(address)->sin_addr.s_addr) >> 24 == 127;
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr);
}

std::string textOf(const sockaddr_storage &address) {
  char host[NI_MAXHOST] = "?", service[NI_MAXSERV] = "?";
  getnameinfo(reinterpret_cast<const sockaddr *>(&address), sizeof(address), host, sizeof(host),
              service, sizeof(service), NI_NUMERICHOST | NI_NUMERICSERV);
  return concat(host, ":", service);
}

void setOption(int descriptor, int level, int name, int value) {
  setsockopt(descriptor, level, name, &value, sizeof(value));
}

/// All addresses of both families where the machine has both.
bool bindTo(int descriptor, int family, bool onlyLoopback, int port) {
  if (family == AF_INET6) {
    setOption(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    any.sin6_port = htons(static_cast<uint16_t>(port));
    return bind(descriptor, reinterpret_cast<sockaddr *>(&any), sizeof(any)) == 0;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(onlyLoopback ? INADDR_LOOPBACK : INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return bind(descriptor, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
}

/// A port that nobody listens on may connect to itself: both ends of the connection are one then.
bool isConnectedToItself(int descriptor) {
  sockaddr_storage own{}, peer{};
  socklen_t ownSize = sizeof(own), peerSize = sizeof(peer);
  return getsockname(descriptor, reinterpret_cast<sockaddr *>(&own), &ownSize) == 0 &&
         getpeername(descriptor, reinterpret_cast<sockaddr *>(&peer), &peerSize) == 0 &&
         ownSize == peerSize && std::memcmp(&own, &peer, ownSize) == 0;
}

Socket connectToAddress(const addrinfo &address, Clock::time_point deadline, std::string &problem) {
  Socket made(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int error = 0;
  if (!made.isOpen() || connect(made.get(), address.ai_addr, address.ai_addrlen) != 0)
    error = errno;
  if (error == EINPROGRESS) {
    pollfd wanted{made.get(), POLLOUT, 0};
    socklen_t size = sizeof(error);
    if (poll(&wanted, 1, millisecondsUntil(deadline)) <= 0)
      error = ETIMEDOUT;
    else
      getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0 && isConnectedToItself(made.get()))
    error = ECONNREFUSED;
  if (error != 0) {
    problem = std::strerror(error);
    return Socket();
  }
  fcntl(made.get(), F_SETFL, 0);
  setOption(made.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  return made;
}

} // namespace

int millisecondsUntil(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

Socket::~Socket() { close(); }

void Socket::close() {
  if (descriptor >= 0)
    ::close(descriptor);
  descriptor = -1;
}

std::string Place::text() const { return concat(address, ":", port); }

bool isLoopback(const std::string &address) {
  std::string problem;
  Addresses found = resolve(address, 0, problem, AI_NUMERICHOST);
  return address == "localhost" || (found && isLoopbackAddress(found->ai_addr));
}

Socket listenOn(const std::vector<int> &ports, bool onlyLoopback, int &port, std::string &problem) {
  for (int candidate : ports)
    for (int family : {AF_INET6, AF_INET}) {
      if (onlyLoopback && family == AF_INET6)
        continue;
      Socket made(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!made.isOpen()) { // a machine without IPv6
        problem = std::strerror(errno);
        continue;
      }
      setOption(made.get(), SOL_SOCKET, SO_REUSEADDR, 1);
      if (bindTo(made.get(), family, onlyLoopback, candidate) &&
          listen(made.get(), SOMAXCONN) == 0) {
        port = candidate;
        return made;
      }
      problem = std::strerror(errno);
    }
  return Socket();
}

Socket acceptFrom(const Socket &listener, std::string &peer) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  Socket made(accept4(listener.get(), reinterpret_cast<sockaddr *>(&address), &size, SOCK_CLOEXEC));
  if (made.isOpen()) {
    peer = textOf(address);
    setOption(made.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  }
  return made;
}

Socket connectTo(const Place &place, Clock::time_point deadline, std::string &problem) {
  Addresses found = resolve(place.address, place.port, problem);
  for (const addrinfo *one = found.get(); one; one = one->ai_next)
    if (Socket made = connectToAddress(*one, deadline, problem); made.isOpen())
      return made;
  return Socket();
}

void keepAlive(const Socket &socket) {
  setOption(socket.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, 15);
  setOption(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, 5);
  setOption(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, 6);
  setOption(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 60000);
}

void limitWrites(const Socket &socket, double seconds) {
  timeval limit{static_cast<time_t>(seconds), 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

Transfer readAll(const Socket &socket, void *data, size_t bytes, Clock::time_point deadline) {
  for (size_t done = 0; done < bytes;) {
    pollfd wanted{socket.get(), POLLIN, 0};
    int ready = poll(&wanted, 1, millisecondsUntil(deadline));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return Transfer::Late;
    ssize_t count = recv(socket.get(), static_cast<char *>(data) + done, bytes - done, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return Transfer::Closed;
    done += static_cast<size_t>(count);
  }
  return Transfer::Done;
}

bool writeAll(const Socket &socket, const void *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t count =
        send(socket.get(), static_cast<const char *>(data) + done, bytes - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

void drain(const std::vector<const Socket *> &sockets, double seconds) {
  auto deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  std::vector<pollfd> open;
  for (const Socket *socket : sockets)
    if (socket->isOpen() && shutdown(socket->get(), SHUT_WR) == 0)
      open.push_back({socket->get(), POLLIN, 0});
  while (!open.empty() && poll(open.data(), open.size(), millisecondsUntil(deadline)) > 0) {
    char ignored[4096];
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](const pollfd &one) {
                                return one.revents != 0 &&
                                       recv(one.fd, ignored, sizeof(ignored), MSG_DONTWAIT) <= 0;
                              }),
               open.end());
  }
}

} // namespace ulsc::runtime
