#include "comm/join_messages.h"

#include "core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

namespace ulsc::runtime {

namespace {

using Json = nlohmann::json;

// The number tells versions and byte orders apart.
constexpr char magic[9] = "ULSCJOIN";
constexpr uint32_t protocolVersion = 1;
constexpr size_t digestBytes = sizeof(Digest);

template <typename Value>
std::string rawBytes(Value value) {
  return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
}

Digest digestAt(const std::string &text, size_t offset) {
  Digest digest;
  std::memcpy(digest.data(), text.data() + offset, digestBytes);
  return digest;
}

std::string withSize(const std::string &text) {
  return rawBytes(static_cast<uint32_t>(text.size())) + text;
}

// What both sides authenticate begins with whose it is, so that neither can be sent back its own.
Digest proveRequest(const std::string &secret, const Digest &firstNonce, const std::string &text) {
  return authenticate(secret, "ulsc join: rank;" + bytesOf(firstNonce) + text);
}

Digest proveAnswer(const std::string &secret, const Digest &firstNonce, const Digest &nonce,
                   const std::string &text) {
  return authenticate(secret, "ulsc join: rank 0;" + bytesOf(firstNonce) + bytesOf(nonce) + text);
}

/// A host's name may hold bytes that are no UTF-8.
std::string dump(const Json &json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Other people's words go to a terminal.
std::string printable(std::string text) {
  constexpr size_t most = 200;
  text.resize(std::min(text.size(), most));
  for (char &letter : text)
    if (static_cast<unsigned char>(letter) < ' ' || letter == 127)
      letter = '?';
  return text;
}

Json jsonOf(const Member &member) { return {{"host", member.host}, {"process", member.process}}; }

Member memberOf(const Json &json) {
  return {printable(json.at("host").get<std::string>()), json.at("process").get<int>()};
}

} // namespace

std::string Challenge::encode() const {
  return std::string(magic, 8) + rawBytes(protocolVersion) + rawBytes(uint32_t(hasSecret)) +
         bytesOf(job) + bytesOf(nonce);
}

std::optional<Challenge> Challenge::decode(const std::string &text, std::string &problem) {
  if (text.size() != bytes || text.compare(0, 8, magic) != 0) {
    problem = "what listens there is not a rank of a program";
    return std::nullopt;
  }
  uint32_t numbers[2];
  std::memcpy(numbers, text.data() + 8, sizeof(numbers));
  if (numbers[0] != protocolVersion) {
    problem = concat("rank 0 there speaks version ", numbers[0], " of joining, this program ",
                     protocolVersion, "; compile both with one version of ulsc");
    return std::nullopt;
  }
  return Challenge{digestAt(text, 16), digestAt(text, 16 + digestBytes), numbers[1] != 0};
}

size_t decodeSize(const char *prefix) {
  uint32_t size;
  std::memcpy(&size, prefix, sizeof(size));
  return size;
}

std::string encodeRequest(const JoinRequest &request, const std::string &secret,
                          const Digest &firstNonce, const Digest &ownNonce) {
  Json json = jsonOf(request.member);
  json["rank"] = request.rank;
  json["ranks"] = request.ranks;
  json["digest"] = request.program.digest;
  json["title"] = request.program.title;
  std::string text = bytesOf(ownNonce) + dump(json);
  return withSize(text + bytesOf(proveRequest(secret, firstNonce, text)));
}

RequestFault decodeRequest(const std::string &text, const std::string &secret,
                           const Digest &firstNonce, Digest &nonce, JoinRequest &request) {
  if (text.size() < 2 * digestBytes)
    return RequestFault::Malformed;
  size_t end = text.size() - digestBytes;
  nonce = digestAt(text, 0);
  if (!areEqual(digestAt(text, end), proveRequest(secret, firstNonce, text.substr(0, end))))
    return RequestFault::WrongSecret;
  try {
    Json json = Json::parse(text.substr(digestBytes, end - digestBytes));
    request.rank = json.at("rank").get<int>();
    request.ranks = json.at("ranks").get<int>();
    request.program.digest = printable(json.at("digest").get<std::string>());
    request.program.title = printable(json.at("title").get<std::string>());
    request.member = memberOf(json);
  } catch (const Json::exception &) {
    return RequestFault::Malformed;
  }
  return RequestFault::None;
}

std::string encodeAnswer(const Answer &answer, const std::string &secret, const Digest &firstNonce,
                         const Digest &nonce) {
  std::string text = static_cast<char>(answer.kind) + answer.text;
  return withSize(text + bytesOf(proveAnswer(secret, firstNonce, nonce, text)));
}

std::optional<Answer> decodeAnswer(const std::string &text, const std::string &secret,
                                   const Digest &firstNonce, const Digest &nonce) {
  if (text.size() < 1 + digestBytes)
    return std::nullopt;
  size_t end = text.size() - digestBytes;
  Answer answer{static_cast<Answer::Kind>(text[0]), text.substr(1, end - 1)};
  bool isAuthentic =
      areEqual(digestAt(text, end), proveAnswer(secret, firstNonce, nonce, text.substr(0, end)));
  if (answer.kind == Answer::WrongSecret || isAuthentic)
    return answer;
  return std::nullopt;
}

std::string encodeMembers(const std::vector<Member> &members) {
  Json json = Json::array();
  for (const Member &member : members)
    json.push_back(jsonOf(member));
  return dump(json);
}

std::vector<Member> decodeMembers(const std::string &text) {
  try {
    std::vector<Member> members;
    for (const Json &json : Json::parse(text))
      members.push_back(memberOf(json));
    return members;
  } catch (const Json::exception &error) {
    raise("rank 0 sent a list of ranks that can't be read: ", error.what());
  }
}

} // namespace ulsc::runtime
