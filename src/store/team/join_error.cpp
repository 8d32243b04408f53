#include <string>
#include <utility>

#include "penstock/join.hpp"

namespace penstock {
namespace {

std::string in_quotes(const std::string& name) { return "team '" + name + "'"; }

std::string list(const std::vector<int>& ranks) {
    std::string text;
    for (const int rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
    return text;
}

}  // namespace

TeamNameTaken::TeamNameTaken(std::string team)
    : Error("somebody stands host for " + in_quotes(team) +
            " already; take another name, or wait until that team has ended"),
      team_(std::move(team)) {}

HostMissing::HostMissing(std::string team, const std::string& what)
    : Error(in_quotes(team) + " has no host: " + what), team_(std::move(team)) {}

WrongHost::WrongHost(std::string team, uid_t expected, uid_t actual)
    : Error("the host of " + in_quotes(team) + " runs as user " + std::to_string(actual) + ", but user " +
            std::to_string(expected) +
            " was expected; nothing was handed over (JoinOptions::owner says who may be host)"),
      team_(std::move(team)), expected_(expected), actual_(actual) {}

JoinRefused::JoinRefused(std::string team, Reason reason, const std::string& what)
    : Error("the host of " + in_quotes(team) + " refuses this process: " + what), team_(std::move(team)),
      reason_(reason) {}

MembersMissing::MembersMissing(std::string team, std::vector<int> missing, int size)
    : Error(in_quotes(team) + " never came together: of its " + std::to_string(size) +
            " ranks these did not come in time: " + list(missing) +
            "; start them all, or allow more time (HostOptions::within)"),
      team_(std::move(team)), missing_(std::move(missing)), size_(size) {}

}  // namespace penstock
