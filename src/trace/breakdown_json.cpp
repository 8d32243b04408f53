#include <algorithm>
#include <penstock/detail/trace/export.hpp>

#include "trace/fields.hpp"
#include "trace/text.hpp"

namespace penstock::trace {

namespace {

std::string snake_case(std::string_view words) {
    std::string out(words);
    std::replace(out.begin(), out.end(), ' ', '_');
    return out;
}

std::string shares_json(const Bar& bar) {
    std::string out = "{";
    for (const Share& share : bar.shares) {
        if (out.size() > 1) out += ',';
        out += json_text(snake_case(word(share.part))) + ":{\"seconds\":" + exact(share.seconds) +
               ",\"percent\":" + exact(share.percent) + '}';
    }
    return out += '}';
}

std::string counts_json(const Totals& totals) {
    std::string out = "{";
    each_field(totals, totals, [&out](const char* name, const std::uint64_t& value, const std::uint64_t&) {
        if (out.size() > 1) out += ',';
        out += json_text(name) + ':' + std::to_string(value);
    });
    return out += '}';
}

}  // namespace

std::string json(const Breakdown& breakdown) {
    std::string out = "{\"nanoseconds_per_tick\":" + exact(breakdown.nanoseconds_per_tick()) + ",\"tracks\":[";
    bool first = true;
    for (const Bar& bar : breakdown.bars()) {
        out += first ? "\n" : ",\n";
        first = false;
        out += std::string("{\"role\":\"") + (bar.track.role == Role::initiator ? "initiator" : "target") +
               "\",\"id\":" + std::to_string(bar.track.id) + ",\"name\":" + json_text(bar.track.name) +
               ",\"wall_seconds\":" + exact(bar.wall_seconds) + ",\"samples\":" + std::to_string(bar.samples) +
               ",\"scaled\":" + (bar.scaled ? "true" : "false") + ",\"shares\":" + shares_json(bar) +
               ",\"counts\":" + counts_json(bar.totals) + '}';
    }
    return out += "\n]}\n";
}

}  // namespace penstock::trace
