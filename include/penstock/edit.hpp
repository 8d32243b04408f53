// stream layer: changes of a graph while it runs. An edit is described whole, checked whole, and then made; only the
// filters whose streams it changes stand still meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penstock/graph.hpp"

namespace penstock {

/// What becomes of the buffers that wait at a filter that is removed.
enum class Removal {
    finish,  ///< it works them off first; what it writes still goes where it went
    /// They go back to whoever wrote them, to be sent to whichever sinks there are after the edit, in their old order.
    /// Where the writer has ended, or is the program itself, they go to a successor or another copy that still reads;
    /// where there is none, or more is to come from others that are taken out, the filter finishes instead. So do
    /// several copies whose order is restored further down, and filters that share buffers with others.
    hand_over,
    discard,  ///< they are dropped, and counted (RunStatistics::lost)
};

/// What Run::edit() hands to its function. Names, add(), connect(), set() and so on are those of GraphBuilder.
class Edit : public GraphBuilder {
  public:
    ~Edit();

    /// Takes a filter out, with its streams.
    void remove(const std::string& filter, Removal removal = Removal::finish);
    /// Takes out all filters of a group.
    void remove_group(const std::string& group, Removal removal = Removal::finish);
    /// Another filter in the place of one, with the same name, options and streams: each of its ports must have the
    /// name and type of one of the old filter's, where that is connected. Its function take_over(Old&), if it has one
    /// for the old type, is called when the old filter has fired for the last time and before the new one starts; what
    /// it throws, edit() throws when the edit is made.
    template <class F, class Old, class... Args>
    F& replace(Old& old, Removal removal = Removal::hand_over, Args&&... arguments) {
        using Kind = streaming::FilterKindOf<F, std::decay_t<Args>...>;
        auto* const made = replace_filter(&old, removal, std::make_shared<Kind>(std::forward<Args>(arguments)...));
        F& filter = *static_cast<F*>(made->object());
        if constexpr (requires(F& f, Old& o) { f.take_over(o); })
            take_over_by([&filter, &old] { filter.take_over(old); });
        return filter;
    }

    /// The same for a filter whose kind is made at run time (described_filter.hpp). `take_over` is called with the old
    /// filter's first copy.
    streaming::AnyFilter& replace_kind(
        const std::string& old, Removal removal, std::shared_ptr<const streaming::FilterKind> kind,
        std::function<void(streaming::AnyFilter& successor, streaming::AnyFilter& predecessor)> take_over = {});

    /// Takes one stream away, named as it was connected.
    void disconnect(const std::string& from, const std::string& to);
    template <class T>
    void disconnect(Output<T>& from, Input<T>& to) {
        disconnect_ports(from, to);
    }
    /// Other options for a stream. `feedback` and `ordered` cannot be changed.
    void change(const std::string& from, const std::string& to, StreamOptions options);
    /// Another number of copies. What waited at a copy that is taken away goes to the others.
    void copies(const std::string& filter, int count);
    /// Other targets; empty: any.
    void place(const std::string& filter, std::vector<int> targets);
    /// New streams into filters that have ended are an error unless this is said: then what is written to them is
    /// dropped. For edits that come from outside, where nobody can know how far the filters are.
    void allow_ended_readers();

  private:
    friend class Run;
    friend struct streaming::RunState;
    explicit Edit(std::unique_ptr<streaming::Model> model);
    streaming::AnyFilter* replace_filter(void* old, Removal removal, std::shared_ptr<const streaming::FilterKind> kind);
    void take_over_by(std::function<void()> work);
    void disconnect_ports(streaming::OutputPort& from, streaming::InputPort& to);
};

}  // namespace penstock
