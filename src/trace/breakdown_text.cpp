// The breakdown as text: a table for people, JSON for programs.
#include <algorithm>
#include <penstock/trace.hpp>

#include "trace/fields.hpp"
#include "trace/text.hpp"

namespace penstock::trace {

namespace {

using Row = std::vector<std::string>;

constexpr std::size_t longest_name = 32;

Row heading(const Bar& bar) {
    Row row{bar.track.role == Role::initiator ? "initiator" : "target", "wall"};
    for (const Share& share : bar.shares) {
        row.emplace_back(word(share.part));
        row.emplace_back("%");
    }
    row.emplace_back(bar.track.role == Role::initiator ? "calls" : "tasks");
    return row;
}

Row line(const Bar& bar) {
    Row row{plain_text(bar.track.name, longest_name), (bar.scaled ? "~" : "") + duration(bar.wall_seconds)};
    for (const Share& share : bar.shares) {
        row.push_back(duration(share.seconds));
        row.push_back(fixed(share.percent, 1));
    }
    const bool initiator = bar.track.role == Role::initiator;
    row.push_back(std::to_string(initiator ? std::get<InitiatorTotals>(bar.totals).calls
                                           : std::get<TargetTotals>(bar.totals).tasks));
    return row;
}

std::string aligned(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const Row& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    std::string out;
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string gap(widths[i] - columns_of(row[i]), ' ');
            out += i == 0 ? row[i] + gap : "  " + gap + row[i];
        }
        out += '\n';
    }
    return out;
}

std::string snake_case(std::string_view words) {
    std::string out(words);
    std::replace(out.begin(), out.end(), ' ', '_');
    return out;
}

std::string shares_json(const Bar& bar) {
    return "{" +
           list_of(bar.shares, ",",
                   [](const Share& share) {
                       return json_text(snake_case(word(share.part))) + ":{\"seconds\":" + exact(share.seconds) +
                              ",\"percent\":" + exact(share.percent) + '}';
                   }) +
           '}';
}

std::string counts_json(const Totals& totals) {
    std::vector<std::string> counts;
    each_field(totals, totals, [&counts](const char* name, const std::uint64_t& value, const std::uint64_t&) {
        counts.push_back(json_text(name) + ':' + std::to_string(value));
    });
    return "{" + list_of(counts, ",") + '}';
}

std::string bar_json(const Bar& bar) {
    return std::string("\n{\"role\":\"") + (bar.track.role == Role::initiator ? "initiator" : "target") +
           "\",\"id\":" + std::to_string(bar.track.id) + ",\"name\":" + json_text(bar.track.name) +
           ",\"wall_seconds\":" + exact(bar.wall_seconds) + ",\"samples\":" + std::to_string(bar.samples) +
           ",\"scaled\":" + (bar.scaled ? "true" : "false") + ",\"shares\":" + shares_json(bar) +
           ",\"counts\":" + counts_json(bar.totals) + '}';
}

}  // namespace

std::string table(const Breakdown& breakdown) {
    std::string out;
    for (const Role role : {Role::initiator, Role::target}) {
        std::vector<Row> rows;
        for (const Bar& bar : breakdown.bars()) {
            if (bar.track.role != role) continue;
            if (rows.empty()) rows.push_back(heading(bar));
            rows.push_back(line(bar));
        }
        if (rows.empty()) continue;
        if (rows.size() > 2) rows.push_back(line(breakdown.all(role)));
        if (!out.empty()) out += '\n';
        out += aligned(rows);
    }
    return out.empty() ? "nothing was traced\n" : out;
}

std::string json(const Breakdown& breakdown) {
    return "{\"nanoseconds_per_tick\":" + exact(breakdown.nanoseconds_per_tick()) + ",\"tracks\":[" +
           list_of(breakdown.bars(), ",", bar_json) + "\n]}\n";
}

}  // namespace penstock::trace
