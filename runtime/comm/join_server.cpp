// Rank 0's side of joining. One thread serves all connections, so that one which says nothing keeps
// nobody else waiting.
#include "comm/join_messages.h"
#include "core/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <list>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ulsc::runtime {

namespace {

// What a process that belongs to the job says at once may take this long on a busy machine.
constexpr auto requestTime = std::chrono::seconds(30);
// Connections whose other side is not known yet. Beyond these the oldest is closed: a rank that is
// meant comes again.
constexpr size_t mostGuests = 256;
// Notes about strangers: a port scanner must not fill the log.
constexpr int mostNotes = 20;

/// A connection from which the request has not come yet.
struct Guest {
  Socket socket;
  std::string address;
  Digest nonce;
  Clock::time_point deadline;
  std::string received;
};

struct Joined {
  Socket socket;
  Member member;
  Digest firstNonce, nonce;
};

class Gathering {
public:
  Gathering(const Launch &launch, const JoinOptions &options)
      : launch(launch), options(options), joined(launch.ranks),
        deadline(Clock::now() +
                 std::chrono::milliseconds(static_cast<int64_t>(options.timeoutSeconds * 1000))) {
    char name[256] = "";
    gethostname(name, sizeof(name) - 1);
    joined[0].member = {name, getpid()};
  }

  void listen(bool onlyLoopback);
  JoinedJob run();

private:
  void waitForSomething();
  void admit();
  /// False when the guest has gone or joined.
  bool advance(Guest &guest);
  void judge(Guest &guest, const std::string &text);
  std::string objectionTo(const JoinRequest &request) const;
  void answer(const Socket &socket, const Answer &answer, const Digest &firstNonce,
              const Digest &nonce) const;
  void forgetWhoLeft();
  void note(const std::string &text);
  std::vector<int> missing() const;
  [[noreturn]] void giveUp();

  const Launch &launch;
  const JoinOptions &options;
  Socket listener;
  std::list<Guest> guests;
  std::vector<Joined> joined; // by rank; a closed socket: not yet
  Clock::time_point deadline;
  int notes = 0;
  std::string lastNote;
};

/// Every rank takes a descriptor, and systems begin with a low limit that programs may raise.
void allowManyDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void Gathering::listen(bool onlyLoopback) {
  int port = 0;
  std::string problem;
  std::vector<int> ports = launch.ports();
  listener = listenOn(ports, onlyLoopback, port, problem);
  if (listener.isOpen())
    return;
  if (launch.isPortTaken)
    raise("none of the ports ", std::min(ports.front(), ports.back()), " to ",
          std::max(ports.front(), ports.back()), " beside MASTER_PORT=", launch.master.port,
          " is free to wait for the other ranks: ", problem, "; start torchrun with another port");
  raise("can't wait for the other ranks on port ", launch.master.port, " (MASTER_PORT): ", problem,
        "; set MASTER_PORT to a free port, such as ",
        launch.master.port < 65000 ? launch.master.port + 1 : 29500, ", on all ranks");
}

void Gathering::note(const std::string &text) {
  lastNote = text;
  if (++notes <= mostNotes)
    std::fprintf(stderr, "note: %s%s\n", messagePrefix().c_str(), text.c_str());
}

std::vector<int> Gathering::missing() const {
  std::vector<int> ranks;
  for (int rank = 1; rank < launch.ranks; ++rank)
    if (!joined[rank].socket.isOpen())
      ranks.push_back(rank);
  return ranks;
}

void Gathering::waitForSomething() {
  std::vector<pollfd> wanted{{listener.get(), POLLIN, 0}};
  Clock::time_point wake = deadline;
  for (const Guest &guest : guests) {
    wanted.push_back({guest.socket.get(), POLLIN, 0});
    wake = std::min(wake, guest.deadline);
  }
  // Who has joined is silent until all are there: something to read means that it has gone.
  for (const Joined &one : joined)
    if (one.socket.isOpen())
      wanted.push_back({one.socket.get(), POLLIN, 0});
  // A millisecond more, as the rest of one is cut off.
  poll(wanted.data(), wanted.size(), millisecondsUntil(wake) + 1);
}

void Gathering::admit() {
  for (;;) {
    std::string address;
    Socket socket = acceptFrom(listener, address);
    if (!socket.isOpen())
      return;
    if (guests.size() == mostGuests)
      guests.pop_front();
    Challenge challenge{digestOf(launch.job), drawNonce(), !options.secret.empty()};
    if (writeAll(socket, challenge.encode().data(), Challenge::bytes))
      guests.push_back(
          {std::move(socket), address, challenge.nonce, Clock::now() + requestTime, ""});
  }
}

bool Gathering::advance(Guest &guest) {
  char buffer[mostRequestBytes];
  ssize_t count = recv(guest.socket.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (Clock::now() < guest.deadline)
      return true;
    note(concat("a connection from ", guest.address,
                " was closed: it did not say which rank it is"));
    return false;
  }
  if (count <= 0)
    return false;
  guest.received.append(buffer, static_cast<size_t>(count));
  if (guest.received.size() < prefixBytes)
    return true;
  size_t size = decodeSize(guest.received.data());
  if (size > mostRequestBytes || guest.received.size() > prefixBytes + size) {
    note(concat("a connection from ", guest.address,
                " was closed: what it sends is not from a rank of a program"));
    return false;
  }
  if (guest.received.size() < prefixBytes + size)
    return true;
  judge(guest, guest.received.substr(prefixBytes));
  return false;
}

/// Why a process that knows the secret is not taken; empty: it is.
std::string Gathering::objectionTo(const JoinRequest &request) const {
  if (request.ranks != launch.ranks)
    return concat("it was started as one of ", request.ranks, " ranks, but rank 0 as one of ",
                  launch.ranks, "; start all with one WORLD_SIZE");
  if (request.rank < 0 || request.rank >= launch.ranks)
    return concat("there is no such rank: the job has ranks 0 to ", launch.ranks - 1);
  if (request.program.digest != options.program.digest)
    return concat("its program is not that of rank 0: it trains ", request.program.title,
                  ", manifest ", request.program.digest.substr(0, 12), ", and rank 0 ",
                  options.program.title, ", manifest ", options.program.digest.substr(0, 12),
                  "; start all ranks with one executable");
  if (request.rank == 0 || joined[request.rank].socket.isOpen())
    return concat("rank ", request.rank, " is already there: ", joined[request.rank].member.text(),
                  "; give each process a RANK of its own");
  return "";
}

void Gathering::answer(const Socket &socket, const Answer &answer, const Digest &firstNonce,
                       const Digest &nonce) const {
  std::string text = encodeAnswer(answer, options.secret, firstNonce, nonce);
  writeAll(socket, text.data(), text.size());
}

void Gathering::judge(Guest &guest, const std::string &text) {
  JoinRequest request;
  Digest nonce{};
  switch (decodeRequest(text, options.secret, guest.nonce, nonce, request)) {
  case RequestFault::Malformed:
    return note(concat("a connection from ", guest.address,
                       " was closed: what it sends is not from a rank of a program"));
  case RequestFault::WrongSecret:
    answer(guest.socket, {Answer::WrongSecret, ""}, guest.nonce, nonce);
    drain({&guest.socket}, 0);
    return note(concat("a process at ", guest.address,
                       " was refused: its job secret is not that of rank 0"));
  case RequestFault::None:
    break;
  }
  std::string objection = objectionTo(request);
  if (!objection.empty()) {
    answer(guest.socket,
           {Answer::Refused, concat("rank 0 (", joined[0].member.text(), ") refuses rank ",
                                    request.rank, " (", request.member.text(), "): ", objection)},
           guest.nonce, nonce);
    return note(
        concat("rank ", request.rank, " (", request.member.text(), ") was refused: ", objection));
  }
  keepAlive(guest.socket);
  answer(guest.socket, {Answer::Accepted, ""}, guest.nonce, nonce);
  joined[request.rank] = {std::move(guest.socket), request.member, guest.nonce, nonce};
}

/// A machine that restarts a process may let it join again.
void Gathering::forgetWhoLeft() {
  for (int rank = 1; rank < launch.ranks; ++rank) {
    Joined &one = joined[rank];
    char byte;
    if (!one.socket.isOpen() || recv(one.socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0)
      continue;
    note(concat("rank ", rank, " (", one.member.text(), ") has ended before all were there"));
    one = Joined();
  }
}

void Gathering::giveUp() {
  std::vector<int> absent = missing();
  std::string here;
  constexpr int most = 64;
  int listed = 0;
  for (int rank = 0; rank < launch.ranks; ++rank)
    if ((rank == 0 || joined[rank].socket.isOpen()) && ++listed <= most)
      here +=
          concat(here.empty() ? "" : ", ", "rank ", rank, " (", joined[rank].member.text(), ")");
  if (listed > most)
    here += concat(" and ", listed - most, " more");
  std::string message =
      concat(listRanks(absent), absent.size() == 1 ? " has" : " have", " not joined within ",
             options.timeoutSeconds, " s; there are ", here,
             lastNote.empty() ? "" : concat("; the last refusal: ", lastNote),
             "; look at what the missing ones print, or give them more time by --join-timeout");
  std::vector<const Socket *> sockets;
  for (const Joined &one : joined)
    if (one.socket.isOpen()) {
      answer(one.socket, {Answer::Failed, message}, one.firstNonce, one.nonce);
      sockets.push_back(&one.socket);
    }
  drain(sockets, 5);
  throw Error(message);
}

JoinedJob Gathering::run() {
  while (!missing().empty()) {
    if (Clock::now() >= deadline)
      giveUp();
    waitForSomething();
    admit();
    for (auto guest = guests.begin(); guest != guests.end();)
      guest = advance(*guest) ? std::next(guest) : guests.erase(guest);
    forgetWhoLeft();
  }
  JoinedJob job;
  for (const Joined &one : joined)
    job.members.push_back(one.member);
  std::string members = encodeMembers(job.members);
  for (Joined &one : joined) {
    if (one.socket.isOpen())
      answer(one.socket, {Answer::Started, members}, one.firstNonce, one.nonce);
    job.links.push_back(std::move(one.socket));
  }
  return job;
}

} // namespace

JoinedJob gatherRanks(const Launch &launch, const JoinOptions &options, bool onlyLoopback) {
  allowManyDescriptors();
  Gathering gathering(launch, options);
  gathering.listen(onlyLoopback);
  return gathering.run();
}

} // namespace ulsc::runtime
