// stream layer: a graph that runs: waiting for its end, writing into it and reading from it, and what it is doing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "penstock/graph.hpp"
#include "penstock/stream_statistics.hpp"

namespace penstock {

namespace streaming {
struct RunState;
Block* program_make(OutputPort& port, std::size_t bytes);
Block* program_wrap(OutputPort& port, std::span<const std::byte> values, std::shared_ptr<const void> holder);
void program_write(OutputPort& port, Block* block);
void program_close(OutputPort& port);
Block* program_read(InputPort& port, bool wait);
}  // namespace streaming

template <class T>
class StreamWriter {
  public:
    static constexpr bool belongs_to_the_program = true;
    /// To be connected.
    Output<T> output{"output"};
    bool operator()() { return false; }

    /// A buffer of `n` values. Throws RunEnded when the graph does not run.
    Buffer<T> make(std::size_t n) { return row(streaming::program_make(output, n * sizeof(T)), n); }
    /// A buffer that refers to these values instead of holding a copy: as Output::wrap().
    Buffer<T> wrap(std::span<const T> values, std::shared_ptr<const void> holder = {}) {
        return row(streaming::program_wrap(output, std::as_bytes(values), std::move(holder)), values.size());
    }
    /// Hands the buffer on; where the stream is full, runs filters or waits until there is room. Throws RunEnded once
    /// the graph has ended, UsageError inside a filter.
    void write(Buffer<T>&& buffer) { streaming::program_write(output, buffer.release()); }
    /// A buffer with these values.
    void write(std::span<const T> values) {
        auto buffer = make(values.size());
        std::copy(values.begin(), values.end(), buffer.edit().begin());
        write(std::move(buffer));
    }
    /// No more will come from here.
    void close() { streaming::program_close(output); }

  private:
    static Buffer<T> row(streaming::Block* block, std::size_t n) {
        block->rank = 1;
        block->extents[0] = n;
        return Buffer<T>(block);
    }
};

template <class T>
class StreamReader {
  public:
    static constexpr bool belongs_to_the_program = true;
    /// To be connected.
    Input<T> input{"input"};
    bool operator()() { return false; }

    /// The next buffer; nothing at the end of the stream. Runs filters or waits meanwhile. Throws RunEnded when the
    /// graph never ran, StreamStalled when nothing can come any more although the stream has not ended, UsageError
    /// inside a filter.
    std::optional<Buffer<T>> read() { return Buffer<T>::if_any(streaming::program_read(input, true)); }
    /// The same, but nothing also when no buffer waits now.
    std::optional<Buffer<T>> read_if_any() { return Buffer<T>::if_any(streaming::program_read(input, false)); }
};

template <class T>
StreamWriter<T>& GraphBuilder::add_writer(std::string name) {
    return add<StreamWriter<T>>(std::move(name));
}
template <class T>
StreamReader<T>& GraphBuilder::add_reader(std::string name) {
    return add<StreamReader<T>>(std::move(name));
}

/// Destroyed before it has ended, it stops; and it is stopped when its machine is destroyed before it.
class Run {
  public:
    Run(Run&& other) noexcept;
    Run& operator=(Run&& other) noexcept;
    ~Run();

    /// Closes the program's own writing ends, and returns when all filters have ended, running them on this thread too.
    /// Throws FilterFailed for the first firing that threw; StreamStalled, with what waits for what, when nothing can
    /// go on although the graph has not ended (a cycle that nobody starts, a reader of the program's that does not
    /// read); UsageError inside a filter.
    void finish();
    /// Changes the graph while it runs: `describe` says how. Everything is checked before anything changes: throws
    /// GraphError when the graph would be wrong, and nothing has happened then. Returns when the edit is made. Only
    /// filters that the edit takes out, and those that write to streams which it changes, stand still meanwhile. Edits
    /// of several threads are made one after the other. Called inside a filter it returns at once, and the edit is made
    /// as soon as the filters that it touches have finished their firings; then what is wrong with it is thrown by
    /// finish(). Throws RunEnded when the graph has ended.
    void edit(const std::function<void(Edit&)>& describe);

    /// `look` is called about every 50 ms by each thread that waits in finish(), or for the program's own ends, between
    /// filters. What it throws ends that wait, and the run goes on. For programs that take signals between steps, as
    /// interpreters do. Before anybody waits.
    void look_while_waiting(std::function<void()> look);

    /// Asks all sources to end, also those that an edit adds later; what is under way still goes through. Returns at
    /// once; finish() waits.
    void close();
    /// Ends all filters without firing them again; what waits is dropped (and counted). Returns when they have ended. A
    /// filter that is in a firing is waited for. Called inside a filter it returns at once.
    void stop();
    /// Have all filters ended?
    bool ended() const noexcept;

    /// Sends an event to a filter, to all filters of a group ("group/"), or to all (""). They handle it between
    /// firings, in the order in which they got it. Any thread, also inside a filter. Throws UsageError when nobody of
    /// that name handles events, RunEnded.
    void send(const Event& event, const std::string& to = "");
    /// The same later, and again at every `period` (0: once), until the run ends. What is sent to nobody is not sent.
    void send_after(std::chrono::nanoseconds delay, const Event& event, const std::string& to = "",
                    std::chrono::nanoseconds period = std::chrono::nanoseconds{0});

    /// `take` is shown each event that is sent to nobody in particular (""), besides the filters, and says whether it
    /// is for it. It is called by whoever sends, and must not wait, send or edit. Replaces the one before; empty: none.
    void listen(std::function<bool(const Event&)> take);

    /// What has happened so far. Any thread; some microseconds.
    RunStatistics statistics() const;
    /// The same for each node apart: the program first, then nodes with a part in the run in their order, lost ones
    /// behind those that took their places. Nodes say their figures four times a second, and at their end. On one
    /// machine: the program alone. Any thread; some microseconds.
    std::vector<NodeStatistics> statistics_by_node() const;
    /// The graph as it is now.
    GraphDescription description() const;
    /// The buffers that went with worker processes so far, where the machine's targets are such. Any thread.
    std::vector<LostBuffer> lost() const;
    /// What each filter is doing and what it waits for, a line each.
    std::string report() const;
    /// Under which other processes find it (RunOptions::name); empty: they cannot.
    std::string name() const;
    /// Writes the graph and its figures to a file, for `penstock draw`. Throws SystemError.
    void save(const std::string& path) const;
    /// The same as graphviz draws it.
    std::string drawing() const;

  private:
    friend class Graph;
    explicit Run(std::unique_ptr<streaming::RunState> state);
    std::unique_ptr<streaming::RunState> state_;
};

}  // namespace penstock
