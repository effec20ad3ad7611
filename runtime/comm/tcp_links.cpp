#include "comm/tcp_links.h"

#include "core/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ulsc::runtime {

namespace {

// For the reason of an end to travel before the connections close.
constexpr double farewellSeconds = 5;

[[noreturn]] void sleepForEver() {
  for (;;)
    ::pause();
}

} // namespace

TcpLinks::TcpLinks(int rank, JoinedJob joined)
    : rank(rank), job(std::move(joined)), readings(job.links.size()), writing(job.links.size()) {
  for (const Socket &link : job.links)
    if (link.isOpen())
      keepAlive(link);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    raise("the system has no descriptors left: ", std::strerror(errno), "; raise 'ulimit -n'");
  sleeper = Socket(ends[0]);
  wake = Socket(ends[1]);
  reader = std::thread([this] { readAll(); });
}

TcpLinks::~TcpLinks() {
  wake.close();
  if (reader.joinable())
    reader.join();
}

std::string TcpLinks::nameOf(int peer) const {
  return concat("rank ", peer, " (", job.members[peer].text(), ")");
}

//===---------------------------------------------------------------------------------------===//
// The main thread
//===---------------------------------------------------------------------------------------===//

void TcpLinks::write(size_t link, const Frame &head, const void *data) {
  std::unique_lock lock(writing[link], std::defer_lock);
  if (!isEnding)
    lock.lock();
  else if (!lock.try_lock_for(std::chrono::duration<double>(farewellSeconds)))
    return;
  const Socket &socket = job.links[link];
  // A broken connection is the reading thread's to report, which may know why it broke.
  if (socket.isOpen() && writeAll(socket, &head, sizeof(head)) && head.bytes)
    writeAll(socket, data, head.bytes);
}

void TcpLinks::send(Frame::Kind kind, int destination, const void *data, size_t bytes) {
  write(linkTo(destination),
        {kind, static_cast<uint32_t>(rank), static_cast<uint32_t>(destination),
         static_cast<uint32_t>(bytes)},
        data);
}

std::string TcpLinks::receive(Frame::Kind kind, int source) {
  std::unique_lock lock(mutex);
  std::deque<std::string> &box = inbox[{kind, source}];
  changed.wait(lock, [&] { return !box.empty(); });
  std::string text = std::move(box.front());
  box.pop_front();
  return text;
}

std::optional<std::string> TcpLinks::receiveBefore(Frame::Kind kind, int source,
                                                   Clock::time_point deadline) {
  std::unique_lock lock(mutex);
  std::deque<std::string> &box = inbox[{kind, source}];
  if (!changed.wait_until(lock, deadline, [&] { return !box.empty(); }))
    return std::nullopt;
  std::string text = std::move(box.front());
  box.pop_front();
  return text;
}

void TcpLinks::finish() {
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank || (rank != 0 && peer != 0))
      continue;
    if (rank != 0)
      send(Frame::Goodbye, peer, nullptr, 0);
    receive(Frame::Goodbye, peer);
  }
  for (int peer = 1; rank == 0 && peer < ranks(); ++peer)
    send(Frame::Goodbye, peer, nullptr, 0);
  wake.close();
  reader.join();
  std::vector<const Socket *> sockets;
  for (const Socket &link : job.links)
    sockets.push_back(&link);
  drain(sockets, farewellSeconds);
}

void TcpLinks::setTeller(Teller newTeller) {
  std::lock_guard lock(mutex);
  teller = std::move(newTeller);
}

std::vector<std::string> TcpLinks::askAll(double seconds) {
  auto deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  std::vector<std::string> answers(ranks());
  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != rank)
      send(Frame::Question, peer, nullptr, 0);
  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != rank)
      answers[peer] = receiveBefore(Frame::Reply, peer, deadline).value_or("");
  return answers;
}

//===---------------------------------------------------------------------------------------===//
// Ends
//===---------------------------------------------------------------------------------------===//

void TcpLinks::claimEnd() {
  if (isEnding.exchange(true))
    sleepForEver();
  for (const Socket &link : job.links)
    if (link.isOpen())
      limitWrites(link, farewellSeconds);
}

/// The reason has been sent to all: lets it arrive.
void TcpLinks::endProcess() {
  std::vector<const Socket *> sockets;
  for (const Socket &link : job.links)
    sockets.push_back(&link);
  drain(sockets, farewellSeconds);
  std::_Exit(1);
}

void TcpLinks::abort(const std::string &cause) {
  claimEnd();
  std::string reason = concat(nameOf(rank), ": ", cause);
  for (size_t link = 0; link < job.links.size(); ++link)
    if (job.links[link].isOpen())
      send(Frame::Abort, peerOf(link), reason.data(),
           std::min<size_t>(reason.size(), Frame::mostBytes));
  endProcess();
}

void TcpLinks::lose(size_t link, const std::string &how) {
  claimEnd();
  std::string reason = concat(nameOf(peerOf(link)), " ", how);
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s%s; the job ends on all ranks\n", messagePrefix().c_str(),
               reason.c_str());
  for (size_t other = 0; other < job.links.size(); ++other)
    if (other != link && job.links[other].isOpen())
      send(Frame::Abort, peerOf(other), reason.data(), reason.size());
  endProcess();
}

void TcpLinks::takeAbort(const Frame &head, const std::string &text) {
  claimEnd();
  std::fflush(stdout);
  std::fprintf(stderr, "error: %sthe job ends on all ranks: %s\n", messagePrefix().c_str(),
               text.c_str());
  for (size_t link = 0; rank == 0 && link < job.links.size(); ++link)
    if (job.links[link].isOpen() && link != head.source)
      write(link,
            {Frame::Abort, head.source, static_cast<uint32_t>(link),
             static_cast<uint32_t>(text.size())},
            text.data());
  endProcess();
}

//===---------------------------------------------------------------------------------------===//
// The reading thread
//===---------------------------------------------------------------------------------------===//

void TcpLinks::readAll() {
  for (;;) {
    std::vector<pollfd> wanted{{sleeper.get(), POLLIN, 0}};
    std::vector<size_t> links;
    for (size_t link = 0; link < job.links.size(); ++link)
      if (job.links[link].isOpen() && !readings[link].saidGoodbye) {
        wanted.push_back({job.links[link].get(), POLLIN, 0});
        links.push_back(link);
      }
    if (poll(wanted.data(), wanted.size(), -1) < 0)
      continue;
    if (wanted[0].revents)
      return;
    for (size_t i = 0; i < links.size(); ++i)
      if (wanted[i + 1].revents)
        readFrom(links[i]);
  }
}

void TcpLinks::readFrom(size_t link) {
  Reading &reading = readings[link];
  char buffer[65536];
  ssize_t count = recv(job.links[link].get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  // Reset: it had not read all that was sent to it.
  if (count == 0 || (count < 0 && errno == ECONNRESET))
    lose(link, "has ended: its connection was closed");
  if (count < 0)
    lose(link, concat("is lost: ", std::strerror(errno)));
  reading.received.append(buffer, static_cast<size_t>(count));
  while (reading.received.size() >= sizeof(Frame)) {
    Frame head;
    std::memcpy(&head, reading.received.data(), sizeof(head));
    if (!isPlausible(link, head))
      lose(link, "sent something that no rank sends");
    if (reading.received.size() < sizeof(head) + head.bytes)
      return;
    std::string text = reading.received.substr(sizeof(head), head.bytes);
    reading.received.erase(0, sizeof(head) + head.bytes);
    take(link, head, std::move(text));
  }
}

bool TcpLinks::isPlausible(size_t link, const Frame &head) const {
  auto ranksNow = static_cast<uint32_t>(ranks());
  bool hasSource = rank == 0 ? head.source == link : head.source < ranksNow;
  bool hasDestination =
      rank == 0 ? head.destination < ranksNow : head.destination == static_cast<uint32_t>(rank);
  return head.kind >= Frame::Message && head.kind <= Frame::LastKind && hasSource &&
         hasDestination && head.bytes <= Frame::mostBytes;
}

void TcpLinks::take(size_t link, const Frame &head, std::string text) {
  if (head.kind == Frame::Abort)
    takeAbort(head, text);
  if (head.destination != static_cast<uint32_t>(rank))
    return write(head.destination, head, text.data());
  auto source = static_cast<int>(head.source);
  if (head.kind == Frame::Question) {
    std::string reply;
    {
      std::lock_guard lock(mutex);
      reply = teller ? teller() : "";
    }
    return send(Frame::Reply, source, reply.data(), reply.size());
  }
  if (head.kind == Frame::Goodbye)
    readings[link].saidGoodbye = true;
  {
    std::lock_guard lock(mutex);
    inbox[{head.kind, source}].push_back(std::move(text));
  }
  changed.notify_all();
}

} // namespace ulsc::runtime
