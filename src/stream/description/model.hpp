// A graph as it is described: filters and streams by number, so that an edit can be tried on a copy and compared with
// what runs.
#pragma once

#include "penstock/edit.hpp"

namespace penstock::streaming {

struct FilterModel {
    std::uint64_t id = 0;
    std::string name;
    std::shared_ptr<const FilterKind> kind;
    std::shared_ptr<AnyFilter> first;  ///< the first copy, to whose ports the user has references
    FilterOptions options;
    /// Where their number is automatic: what the pressure made of it; 0: as many as it begins with
    int copies_now = 0;
    int places = 0;  ///< where it is automatic: targets that it has; 0: any
    /// A setting's new value, for all copies.
    std::vector<std::pair<std::string, SettingValue>> changes{};
    /// Settings as they were last given, of a graph that runs: those of the filter itself are its own while it does.
    /// Shared, because every edit begins with a copy of the model.
    std::shared_ptr<const std::vector<SettingDescription>> shown{};
};

/// One output joined to one input. Streams of one name are several of these.
struct StreamModel {
    std::uint64_t id = 0;
    std::uint64_t from = 0;  ///< filter
    std::size_t output = 0;  ///< number of the port
    std::uint64_t to = 0;
    std::size_t input = 0;
    StreamOptions options;
};

/// A filter that an edit takes out.
struct RemovalModel {
    std::uint64_t filter = 0;
    Removal removal = Removal::finish;
    std::uint64_t successor = 0;        ///< 0: none
    std::function<void()> take_over{};  ///< the successor's
};

/// Ids of filters by a hash of their names. Those of filters that have been taken out are not found in the model. Flat,
/// because every edit begins with a copy of the model: that of a node-based map would cost an allocation a filter.
class FilterIndex {
  public:
    FilterIndex() = default;
    /// With room for so many.
    explicit FilterIndex(std::size_t filters);
    bool full() const noexcept { return 2 * taken_ == slots_.size(); }
    void add(std::size_t hash, std::uint64_t filter);
    /// The lowest id with this hash that `is` is true for; 0: none.
    template <class Is>
    std::uint64_t find(std::size_t hash, Is&& is) const {
        std::uint64_t lowest = 0;
        if (!slots_.empty())
            for (auto at = hash & (slots_.size() - 1); slots_[at].filter != 0; at = (at + 1) & (slots_.size() - 1))
                if (slots_[at].hash == hash && (lowest == 0 || slots_[at].filter < lowest) && is(slots_[at].filter))
                    lowest = slots_[at].filter;
        return lowest;
    }

  private:
    struct Slot {
        std::size_t hash = 0;
        std::uint64_t filter = 0;  ///< 0: free
    };
    std::vector<Slot> slots_;  ///< a power of two, at most half of them taken
    std::size_t taken_ = 0;
};

struct Model {
    std::vector<RemovalModel> removals;  ///< of an edit
    bool ended_may_read = false;         ///< of an edit: its new streams may lead to filters that have ended
    std::vector<FilterModel> filters;    ///< by rising id; added by add()
    std::vector<StreamModel> streams;    ///< by rising id
    std::vector<std::string> problems;   ///< found while it was described
    std::vector<std::shared_ptr<void>> groups;
    std::uint64_t next_id = 1;
    /// Shared with the run, which may outlive the graph
    std::shared_ptr<bool> running = std::make_shared<bool>(false);

    /// Its id must be the highest so far.
    FilterModel& add(FilterModel filter);
    const FilterModel* filter(std::uint64_t id) const noexcept;
    FilterModel* filter(std::uint64_t id) noexcept;
    /// Where it stands in `filters`; their number, where it does not.
    std::size_t position(std::uint64_t filter) const noexcept {
        // A graph that was never edited has its filters' numbers one after the other.
        if (filters.empty()) return 0;
        const auto guess = filter - filters.front().id;
        return guess < filters.size() && filters[guess].id == filter ? guess : position_among_gaps(filter);
    }
    const StreamModel* stream(std::uint64_t id) const noexcept;
    const FilterModel* named(const std::string& name) const noexcept;
    FilterModel* named(const std::string& name) noexcept;
    const FilterModel* owning(const AnyFilter* filter) const noexcept;

  private:
    std::size_t position_among_gaps(std::uint64_t filter) const noexcept;

    FilterIndex by_name_;
};

/// The port or setting of this name; null where there is none.
template <class Part>
Part* named(const std::vector<Part*>& all, const std::string& name) {
    const auto found = std::ranges::find(all, name, [](const Part* each) { return each->name(); });
    return found == all.end() ? nullptr : *found;
}

/// Do they ask for the same? Functions cannot be compared: where there is a key, they do not.
bool same(const StreamOptions& a, const StreamOptions& b);

/// Filters that name classes of targets get the targets of these, and `places` are counted. Throws nothing: what is
/// wrong becomes a problem.
void resolve_places(Model& model, const Machine& machine);

/// Everything that is wrong with it, in words. `targets`: of the machine that is to run it; below 0: not known yet.
std::vector<std::string> problems_of(const Model& model, int targets);

/// Writes down, in `shown`, what each filter's settings are given. Before the filters run that are new.
void note_settings(Model& model);

/// Settings are those that note_settings() wrote down; without, the filters' own.
GraphDescription description_of(const Model& model);

std::string port_name(const Model& model, std::uint64_t filter, const Part& port);

}  // namespace penstock::streaming
