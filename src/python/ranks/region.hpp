// Regions and remotes for Python: elements of any NumPy type of fixed size, in any number of dimensions.
#pragma once

#include "penstock/flag.hpp"
#include "penstock/store_way.hpp"
#include "python/ranks/rank_session.hpp"

namespace penstock::python {

/// The part of `window` that a key names, as an array; never a copy. Throws UsageError for a key that is no number,
/// slice, field or tuple of these; OutOfBounds, and what else NumPy raises.
nb::object part_of(const nb::object& window, nb::handle key, const std::string& region);

/// Stores into a part of a window, which is not read. `value`: whatever NumPy would take in an assignment to such an
/// array. Blocks of 4 KiB and more whose rows are contiguous travel by `way` (nothing: as measured for their size and
/// for the distance of the window's `reader`), the rest as NumPy stores them. `own`: the memory is this rank's own,
/// from which `value` may be taken.
void store_into(const nb::object& part, nb::object value, std::optional<StoreWay> way, bool own,
                ReaderDistance& reader);

/// The bytes of a part of a window, in rows one behind the other as far as they lie so.
std::vector<std::span<const std::byte>> rows_of(const nb::object& part);

/// A flag or counter, with the session that says whether it may be used.
template <class Word>
struct PythonWord {
    std::shared_ptr<RankSession> session;
    Word word;

    Word& use() {
        session->check();
        return word;
    }
    /// Calls `action(word)`; over nodes, where it may have to wait, without the interpreter's lock.
    template <class Action>
    auto call(Action&& action) {
        if (session->check().far() == nullptr) [[likely]]
            return action(word);
        return session->wait([&](const Rank&) { return action(word); });
    }
};

using PythonFlag = PythonWord<Flag>;
using PythonRemoteFlag = PythonWord<RemoteFlag>;
using PythonCounter = PythonWord<Counter>;
using PythonRemoteCounter = PythonWord<RemoteCounter>;

}  // namespace penstock::python
