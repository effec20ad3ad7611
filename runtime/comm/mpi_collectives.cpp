#include "comm/mpi_collectives.h"

#include "comm/reduce.h"
#include "core/error.h"
#include "core/numeric.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace ulsc::runtime {

namespace {

// Values only travel here, so their size is all that MPI needs to know.
MPI_Datatype transportType(int32_t dtype) {
  int64_t size = dtypeSize(dtype);
  return size == 2 ? MPI_UINT16_T : size == 4 ? MPI_UINT32_T : MPI_UINT64_T;
}

// The largest piece of an all-gather or all-to-all, per rank.
constexpr int64_t directPieceBytes = int64_t(4) << 20;

std::vector<char *> buffersOf(void *const *buffers, int64_t count) {
  auto begin = reinterpret_cast<char *const *>(buffers);
  return {begin, begin + count};
}

// Asking about a request that is not complete drives all of MPI, asking about another does nothing.
bool isPending(MPI_Request request, const std::string &name) {
  int isComplete = 0;
  checkMpi(MPI_Request_get_status(request, &isComplete, MPI_STATUS_IGNORE), name);
  return !isComplete;
}

} // namespace

int MpiSlot::checkedOffset(int64_t elements) const {
  if (elements > std::numeric_limits<int>::max())
    endJob(name, concat("an offset of ", elements, " elements is more than MPI can address"));
  return static_cast<int>(elements);
}

// Level 1 begins a logical collective, 2 goes on with it, 0 leaves it. A PMPI tool sums by
// identifier.
void MpiSlot::announce(int level) const {
  std::string identifier = std::to_string(desc->identifier);
  MPI_Pcontrol(level, identifier.c_str());
}

int64_t MpiSlot::blockBegin(const Piece &piece, int rank) const {
  return piece.count * rank / group.ranks;
}

char *MpiSlot::stagingOf(size_t piece) const {
  return staging + static_cast<int64_t>(piece % piecesInFlight) * pieceBytes;
}

void MpiSlot::start(const ulsc_collective_desc &newDesc, void *const *newInputs,
                    void *const *newOutputs, const MpiGroup &newGroup, const std::string &newName) {
  desc = &newDesc;
  group = newGroup;
  name = newName;
  if (busy)
    endJob(name, "its slot holds another collective that was not waited for");
  bool isSend = desc->kind == ULSC_SEND, isReceive = desc->kind == ULSC_RECEIVE;
  inputs = buffersOf(newInputs, isReceive ? 0 : desc->operands);
  outputs = buffersOf(newOutputs, isSend ? 0 : desc->operands);
  busy = true;
  if (group.ranks == 1 && !isSend && !isReceive) {
    copyLocally();
    return;
  }
  announce(1);
  if (isSend || isReceive) {
    startMessage();
  } else if (desc->kind == ULSC_ALL_REDUCE || desc->kind == ULSC_REDUCE_SCATTER) {
    cutReductions();
    for (size_t i = 0; i < pieces.size() && i < piecesInFlight; ++i)
      startExchange(i, group.communicator);
  } else {
    startDirect();
  }
  MPI_Pcontrol(0);
}

void MpiSlot::copyLocally() {
  for (int64_t i = 0; i < desc->operands; ++i)
    if (inputs[i] != outputs[i])
      std::memmove(outputs[i], inputs[i], desc->elements[i] * dtypeSize(desc->dtypes[i]));
}

void MpiSlot::startDirect() {
  for (int64_t operand = 0; operand < desc->operands; ++operand) {
    if (desc->kind == ULSC_ALL_GATHER)
      startGather(operand);
    else if (desc->kind == ULSC_ALL_TO_ALL)
      startAllToAll(operand);
    else if (desc->kind == ULSC_PERMUTE)
      startPermute(operand);
    else
      endJob(name, concat("collective kind ", desc->kind, " is not supported by this runtime yet"));
  }
}

void MpiSlot::startGather(int64_t operand) {
  int64_t block = desc->elements[operand], size = dtypeSize(desc->dtypes[operand]);
  int64_t length = directPieceBytes / size;
  char *own = outputs[operand] + group.rank * block * size;
  // MPI forbids aliased buffers, so a value that is already in its place is sent from there.
  bool inPlace = inputs[operand] == own;
  for (int64_t begin = 0; begin < block; begin += length) {
    direct.emplace_back();
    Exchange &exchange = direct.back();
    int count = static_cast<int>(std::min(length, block - begin));
    exchange.receiveCounts.assign(group.ranks, count);
    for (int rank = 0; rank < group.ranks; ++rank)
      exchange.receiveOffsets.push_back(checkedOffset(rank * block));
    MPI_Datatype type = transportType(desc->dtypes[operand]);
    checkMpi(MPI_Iallgatherv(inPlace ? MPI_IN_PLACE : inputs[operand] + begin * size, count, type,
                             outputs[operand] + begin * size, exchange.receiveCounts.data(),
                             exchange.receiveOffsets.data(), type, group.communicator,
                             &exchange.request),
             name);
  }
}

void MpiSlot::startAllToAll(int64_t operand) {
  int64_t size = dtypeSize(desc->dtypes[operand]);
  int64_t block = desc->elements[operand] / group.ranks;
  if (block * group.ranks != desc->elements[operand] ||
      (block > 0 && inputs[operand] == outputs[operand]))
    endJob(name, concat("an all-to-all of ", desc->elements[operand], " elements among ",
                        group.ranks, " ranks, or one in place, is not possible"));
  int64_t length = std::max<int64_t>(1, directPieceBytes / size / group.ranks);
  for (int64_t begin = 0; begin < block; begin += length) {
    direct.emplace_back();
    Exchange &exchange = direct.back();
    exchange.sendCounts.assign(group.ranks, static_cast<int>(std::min(length, block - begin)));
    for (int rank = 0; rank < group.ranks; ++rank)
      exchange.sendOffsets.push_back(checkedOffset(rank * block));
    MPI_Datatype type = transportType(desc->dtypes[operand]);
    checkMpi(MPI_Ialltoallv(inputs[operand] + begin * size, exchange.sendCounts.data(),
                            exchange.sendOffsets.data(), type, outputs[operand] + begin * size,
                            exchange.sendCounts.data(), exchange.sendOffsets.data(), type,
                            group.communicator, &exchange.request),
             name);
  }
}

// Messages between two ranks arrive in the order they were sent, and collectives are started in one
// order on all ranks: one tag serves all. A rank sends to itself, too, as it may be told to.
void MpiSlot::startPermute(int64_t operand) {
  int64_t size = dtypeSize(desc->dtypes[operand]), total = desc->elements[operand];
  int target = static_cast<int>(desc->destinations[group.rank]), source = 0;
  while (source < group.ranks && desc->destinations[source] != group.rank)
    ++source;
  if (source == group.ranks || (total > 0 && inputs[operand] == outputs[operand]))
    endJob(name, "a permute that sends nothing to a rank, or one in place, is not possible");
  MPI_Datatype type = transportType(desc->dtypes[operand]);
  int64_t length = directPieceBytes / size;
  for (int64_t begin = 0; begin < total; begin += length) {
    int count = static_cast<int>(std::min(length, total - begin));
    direct.emplace_back();
    checkMpi(MPI_Irecv(outputs[operand] + begin * size, count, type, source, 0, group.communicator,
                       &direct.back().request),
             name);
    direct.emplace_back();
    checkMpi(MPI_Isend(inputs[operand] + begin * size, count, type, target, 0, group.communicator,
                       &direct.back().request),
             name);
  }
}

void MpiSlot::cutReductions() {
  for (int64_t operand = 0; operand < desc->operands; ++operand) {
    int64_t count = desc->elements[operand];
    // Uneven blocks are rounded up on the receiving side: leave room for one more element a rank.
    int64_t room = pieceBytes / dtypeSize(desc->dtypes[operand]);
    int64_t length = room - group.ranks;
    if (length < 1)
      endJob(name, concat("the manifest's staging leaves ", pieceBytes,
                          " bytes for a piece of a reduction among ", group.ranks,
                          " ranks, which is too little"));
    if (desc->kind == ULSC_REDUCE_SCATTER) {
      if (count % group.ranks)
        endJob(name, concat("a reduce-scatter of ", count, " elements among ", group.ranks,
                            " ranks is not possible"));
      count /= group.ranks;
      length = room / group.ranks;
    }
    for (int64_t begin = 0; begin < count; begin += length)
      pieces.push_back({operand, begin, std::min(length, count - begin), {}, {}});
  }
}

void MpiSlot::startExchange(size_t index, MPI_Comm communicator) {
  Piece &piece = pieces[index];
  Exchange &exchange = piece.exchange;
  bool scatter = desc->kind == ULSC_REDUCE_SCATTER;
  int64_t size = dtypeSize(desc->dtypes[piece.operand]);
  int64_t block = desc->elements[piece.operand] / group.ranks;
  int own = static_cast<int>(
      scatter ? piece.count : blockBegin(piece, group.rank + 1) - blockBegin(piece, group.rank));
  for (int rank = 0; rank < group.ranks; ++rank) {
    int64_t begin = blockBegin(piece, rank);
    exchange.sendCounts.push_back(
        static_cast<int>(scatter ? piece.count : blockBegin(piece, rank + 1) - begin));
    exchange.sendOffsets.push_back(checkedOffset(scatter ? rank * block : begin));
    exchange.receiveCounts.push_back(own);
    exchange.receiveOffsets.push_back(own * rank);
  }
  MPI_Datatype type = transportType(desc->dtypes[piece.operand]);
  checkMpi(MPI_Ialltoallv(inputs[piece.operand] + piece.offset * size, exchange.sendCounts.data(),
                          exchange.sendOffsets.data(), type, stagingOf(index),
                          exchange.receiveCounts.data(), exchange.receiveOffsets.data(), type,
                          communicator, &exchange.request),
           name);
}

void MpiSlot::finishExchange(size_t index) {
  Piece &piece = pieces[index];
  checkMpi(MPI_Wait(&piece.exchange.request, MPI_STATUS_IGNORE), name);
  int32_t dtype = desc->dtypes[piece.operand];
  char *target = outputs[piece.operand] + piece.offset * dtypeSize(dtype);
  bool scatter = desc->kind == ULSC_REDUCE_SCATTER;
  int64_t begin = scatter ? 0 : blockBegin(piece, group.rank);
  reduceBlocks(stagingOf(index), group.ranks, piece.exchange.receiveCounts[0],
               target + begin * dtypeSize(dtype), dtype, desc->reduction);
  if (scatter)
    return;
  // The exchange's send side describes the blocks that all ranks now hold the sums of.
  checkMpi(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, target,
                           piece.exchange.sendCounts.data(), piece.exchange.sendOffsets.data(),
                           transportType(dtype), group.waitCommunicator, &piece.gathering.request),
           name);
}

void MpiSlot::wait() {
  if (!busy)
    endJob("collective_wait", "nothing was started in the slot");
  if (!pieces.empty()) {
    announce(2);
    for (size_t i = 0; i < pieces.size(); ++i) {
      finishExchange(i);
      if (i + piecesInFlight < pieces.size())
        startExchange(i + piecesInFlight, group.waitCommunicator);
    }
    MPI_Pcontrol(0);
    for (Piece &piece : pieces)
      checkMpi(MPI_Wait(&piece.gathering.request, MPI_STATUS_IGNORE), name);
  }
  for (Exchange &exchange : direct)
    if (desc->kind == ULSC_RECEIVE)
      finishReceive(exchange);
    else
      checkMpi(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE), name);
  pieces.clear();
  direct.clear();
  busy = false;
}

bool MpiSlot::progress() {
  for (size_t i = direct.size(); i-- > 0;)
    if (isPending(direct[i].request, name))
      return true;
  for (size_t i = 0; i < pieces.size() && i < piecesInFlight; ++i)
    if (isPending(pieces[i].exchange.request, name))
      return true;
  return false;
}

} // namespace ulsc::runtime
