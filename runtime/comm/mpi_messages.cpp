// Sends and receives between two ranks of a group: one MPI message carries all operands, so that
// its size alone tells whether both sides mean the same.
#include "comm/mpi_collectives.h"
#include "core/error.h"
#include "core/numeric.h"

#include <algorithm>

namespace ulsc::runtime {

namespace {

// MPI counts a block's bytes in an int: larger operands take several.
constexpr int64_t blockBytes = int64_t(64) << 20;

// Apart from permutes, which have tag 0: the messages of each are matched by their own order.
constexpr int messageTag = 1;

int64_t totalBytes(const ulsc_collective_desc &desc) {
  int64_t total = 0;
  for (int64_t i = 0; i < desc.operands; ++i)
    total += desc.elements[i] * dtypeSize(desc.dtypes[i]);
  return total;
}

// The operands' bytes where they lie, one operand after the other.
MPI_Datatype typeOf(const ulsc_collective_desc &desc, const std::vector<char *> &buffers,
                    const std::string &name) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  for (int64_t i = 0; i < desc.operands; ++i) {
    int64_t bytes = desc.elements[i] * dtypeSize(desc.dtypes[i]);
    for (int64_t begin = 0; begin < bytes; begin += blockBytes) {
      lengths.push_back(static_cast<int>(std::min(blockBytes, bytes - begin)));
      places.emplace_back();
      checkMpi(MPI_Get_address(buffers[i] + begin, &places.back()), name);
    }
  }
  MPI_Datatype type;
  checkMpi(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                                    MPI_BYTE, &type),
           name);
  checkMpi(MPI_Type_commit(&type), name);
  return type;
}

} // namespace

void MpiSlot::startMessage() {
  if (desc->peer < 0 || desc->peer >= group.ranks)
    endJob(name, concat("position ", desc->peer, " is not in its group of ", group.ranks,
                        group.ranks == 1 ? " rank" : " ranks"));
  bool isSend = desc->kind == ULSC_SEND;
  int peer = static_cast<int>(desc->peer);
  MPI_Datatype type = typeOf(*desc, isSend ? inputs : outputs, name);
  direct.emplace_back();
  MPI_Request *request = &direct.back().request;
  checkMpi(isSend ? MPI_Isend(MPI_BOTTOM, 1, type, peer, messageTag, group.communicator, request)
                  : MPI_Irecv(MPI_BOTTOM, 1, type, peer, messageTag, group.communicator, request),
           name);
  checkMpi(MPI_Type_free(&type), name); // MPI keeps it until the message has travelled
}

void MpiSlot::finishReceive(Exchange &exchange) {
  MPI_Status status;
  int code = MPI_Wait(&exchange.request, &status), errorClass = MPI_SUCCESS;
  MPI_Error_class(code, &errorClass);
  if (errorClass != MPI_ERR_TRUNCATE)
    checkMpi(code, name);
  MPI_Count found = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &found);
  int64_t expected = totalBytes(*desc);
  if (errorClass == MPI_SUCCESS && found == expected)
    return;
  // Of a message that is too long, MPI need not tell the length.
  bool isKnown = errorClass == MPI_SUCCESS || found > expected;
  endJob(name, concat("the message from position ", desc->peer, " of its group has ",
                      isKnown ? concat(found) : concat("more than ", expected),
                      " bytes, but the receive expects ", expected));
}

} // namespace ulsc::runtime
