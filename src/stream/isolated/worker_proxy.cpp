#include "stream/isolated/worker_proxy.hpp"

#include "stream/isolated/isolated_run.hpp"
#include "stream/run/run_core.hpp"

namespace penstock::streaming {
namespace {

constexpr std::uint64_t first_report = 4'096;
constexpr std::size_t most_granted = 64;  ///< for one output in one firing; what is made beyond is asked for

std::uint64_t next_key() noexcept {
    static std::atomic<std::uint64_t> keys{0};
    return keys.fetch_add(1, std::memory_order_relaxed) + 1;
}

template <class T>
std::byte* put(std::byte* to, const std::vector<T>& all) noexcept {
    if (!all.empty()) std::memcpy(to, all.data(), all.size() * sizeof(T));
    return to + all.size() * sizeof(T);
}

}  // namespace

WorkerProxy::WorkerProxy(IsolatedRun& run, Station& station, const FilterKind& kind, int target,
                         std::chrono::nanoseconds time_limit)
    : run_(run), station_(station), target_(target), time_limit_(time_limit), sent_(station.inlets.size()),
      most_passed_(station.inlets.size(), 1), takes_(station.inlets.size()), makes_(station.outlets.size()) {
    carried::Encoder arguments(run.heap().base(), run.heap().size());
    const auto make = kind.write_down(arguments);
    record_ = new (run.heap().allocate(sizeof(FiringRecord))) FiringRecord;
    record_->key = next_key();
    record_->make = make;
    make_room(arguments_, arguments.all().size() + 1);
    put(arguments_.at, arguments.all());
    record_->arguments = {arguments_.at, arguments.all().size()};
    record_->heap = {run.heap().base(), run.heap().size()};
    record_->cuts = station.run().cuts();
    record_->board = &run.board();
    make_room(report_, first_report);
    record_->report = {report_.at, report_.capacity};
    begin_with_state_of_program();
}

WorkerProxy::~WorkerProxy() {
    for (auto& inlet : sent_)
        for (const Sent& each : inlet) give_back(each.waiting.block), lent_[each.slot].block = nullptr;
    for (Block* const block : take_slots()) give_back(block);
    for (const Area* const area : {&arguments_, &state_, &job_area_, &report_}) run_.heap().release(area->at);
    run_.heap().release(reinterpret_cast<std::byte*>(record_));
}

/// What is in it is lost where it grows.
void WorkerProxy::make_room(Area& area, std::uint64_t bytes) {
    if (bytes <= area.capacity) return;
    const auto capacity = std::max(bytes, 2 * area.capacity);
    std::byte* const larger = run_.heap().allocate(capacity);
    run_.heap().release(area.at);
    area = {larger, capacity};
}

void WorkerProxy::keep_state(const std::vector<std::byte>& state) {
    make_room(state_, state.size() + 1);
    put(state_.at, state);
    state_bytes_ = state.size();
    record_->state = {state_.at, state_bytes_};
}

void WorkerProxy::begin_with_state_of_program() {
    if (!station_.filter().has_state()) return;
    carried::Encoder state(run_.heap().base(), run_.heap().size());
    station_.filter().save_state(state);
    keep_state(state.all());
}

void WorkerProxy::refuse_nonsense() {
    throw Error(
        "what a worker process reported of its firing makes no sense: it has written over the memory that it shares "
        "with the program");
}

// ---- memory that lies with the worker ----

void WorkerProxy::make_slot() {
    if (!free_slots_.empty()) return;
    free_slots_.reserve(lent_.size() + 1);
    lent_.emplace_back();
    free_slots_.push_back(static_cast<std::uint32_t>(lent_.size() - 1));
}

Loan WorkerProxy::lend(Block* block, Inlet* inlet) noexcept {
    const auto slot = free_slots_.back();
    free_slots_.pop_back();
    lent_[slot] = {block, inlet, number_, inlet != nullptr};
    return {block->data, block->storage->capacity, slot};
}

Block* WorkerProxy::take_slot(std::uint32_t slot) {
    if (slot >= lent_.size() || lent_[slot].block == nullptr || lent_[slot].waits) refuse_nonsense();
    return free_slot(slot);
}

Block* WorkerProxy::free_slot(std::uint32_t slot) {
    free_slots_.push_back(slot);
    return std::exchange(lent_[slot].block, nullptr);
}

std::vector<Block*> WorkerProxy::take_slots(std::uint64_t before_job, std::vector<LostBuffer>* lost) {
    std::vector<Block*> blocks;
    blocks.reserve(lent_.size());
    const auto taken = [&](const Lent& each) { return each.block != nullptr && each.job < before_job; };
    // First what may be refused memory, then what must not be left half done.
    for (const Lent& each : lent_)
        if (lost != nullptr && each.inlet != nullptr && taken(each))
            lost->push_back(station_.lost_buffer(*each.inlet, *each.block));
    for (std::uint32_t slot = 0; slot < lent_.size(); ++slot)
        if (taken(lent_[slot])) blocks.push_back(free_slot(slot));
    return blocks;
}

/// A buffer that the program made outside the graph, or that wraps its memory, is copied, once.
Block& WorkerProxy::in_heap(Waiting& waiting) {
    Block* const block = waiting.block;
    if (block->data != nullptr && !block->is_wrapped() && run_.heap().contains(block->data, 1)) return *block;
    Block* const copy = make_block_in(run_.block_memory(), block->bytes);
    if (block->bytes != 0) std::memcpy(copy->data, block->data, block->bytes);
    Shape::of(*block).give_to(*copy);
    copy->written = block->written;
    copy->order = block->order;
    waiting.block = copy;
    give_back(block);
    return *copy;
}

// ---- a job goes ----

void WorkerProxy::pass_inputs(std::vector<Passed>& passed) {
    passed_all_ = true;
    for (auto& inlet : station_.inlets) {
        auto& sent = sent_[inlet->index];
        const auto most = std::max(most_passed_[inlet->index], inlet->port->options().at_least);
        while (!inlet->queue.empty() && sent.size() < most) {
            const Block& block = in_heap(inlet->queue.front());
            make_slot();
            auto& each = sent.emplace_back();
            const auto loan = lend(inlet->queue.front().block, inlet.get());
            each = {inlet->queue.pop(), loan.slot};
            passed.push_back({loan, inlet->index, block.storage->readers.load(std::memory_order_acquire) != 1,
                              block.written, Shape::of(block)});
        }
        passed_all_ = passed_all_ && inlet->queue.empty();
        inlet->waiting.store(inlet->queue.size(), std::memory_order_relaxed);
    }
}

void WorkerProxy::grant(std::vector<Granted>& granted) {
    for (auto& outlet : station_.outlets) {
        const auto& made = makes_[outlet->index];
        for (std::size_t i = 0; i < std::min(made.count, most_granted) && outlet->pool->has_one(); ++i) {
            make_slot();
            granted.push_back({lend(outlet->pool->get(made.bytes), nullptr), outlet->index});
        }
    }
}

void WorkerProxy::send(FilterCall call, const Event* event) {
    call_ = call;
    death_ = nullptr;
    ++number_;
    for (auto& made : makes_) made.now = 0;
    station_.spreading = true;
    for (auto& taken : record_->taken) taken.store(0, std::memory_order_relaxed);
    try {
        std::vector<Passed> passed;
        std::vector<Granted> granted;
        carried::Encoder settings, event_code;
        if (call == FilterCall::fire) {
            pass_inputs(passed);
            grant(granted);
        }
        for (AnySetting* const setting : station_.filter().settings) encode_setting(settings, setting->value());
        if (settings_version_ == 0 || settings.all() != settings_) ++settings_version_, settings_ = settings.all();
        if (event != nullptr) {
            carried::encode(event_code, event->name);
            encode_setting(event_code, event->value);
        }
        make_room(job_area_, sizeof(CallRecord) + passed.size() * sizeof(Passed) + granted.size() * sizeof(Granted) +
                                 station_.inlets.size() + station_.outlets.size() + settings_.size() +
                                 event_code.all().size());
        const bool begun = started_ && call != FilterCall::start;
        record_->job = new (job_area_.at) CallRecord{call,
                                                     begun,
                                                     number_,
                                                     passed.size(),
                                                     granted.size(),
                                                     station_.inlets.size(),
                                                     station_.outlets.size(),
                                                     settings_version_,
                                                     settings_.size(),
                                                     event_code.all().size()};
        auto* to = put(put(job_area_.at + sizeof(CallRecord), passed), granted);
        for (auto& inlet : station_.inlets) *to++ = std::byte{inlet->open_links == 0 && inlet->queue.empty()};
        for (auto& outlet : station_.outlets) *to++ = std::byte{outlet->has_reader()};
        put(put(to, settings_), event_code.all());
        started_ = true;
        run_.issue(*this, number_);
    } catch (...) {  // it cannot be sent: the firing ends before it began
        death_ = std::current_exception();
        tell_station();
    }
}

void WorkerProxy::tell_station() { station_.run().post(station_, &station_.tasks_done); }

/// Under the lock of those who look at the reports, while the worker waits.
void WorkerProxy::answer() noexcept {
    const auto asked = record_->asked.load(std::memory_order_acquire);
    if (asked == record_->answered.load(std::memory_order_relaxed)) return;
    const auto question = record_->question;
    record_->answer = {};
    try {
        if (question.kind == FiringRecord::Question::report) {
            make_room(report_, question.bytes);
            record_->report = {report_.at, report_.capacity};
        } else {
            const bool of_outlet =
                question.kind == FiringRecord::Question::values && question.outlet < station_.outlets.size();
            make_slot();
            Block* const block = of_outlet ? station_.outlets[question.outlet]->pool->get(question.bytes)
                                           : make_block_in(run_.block_memory(), question.bytes);
            record_->answer = lend(block, nullptr);
        }
    } catch (const std::exception&) {  // no memory, which the worker sees
    }
    record_->answered.store(asked, std::memory_order_release);
}

// ---- the end, and another worker ----

void WorkerProxy::retire() {
    if (std::exchange(retired_, true)) return;
    if (station_.filter().has_state()) {
        carried::Decoder state({state_.at, state_bytes_});
        try {
            station_.filter().load_state(state);
        } catch (...) {
            station_.run().failed(station_, station_.firings.load(std::memory_order_relaxed), std::current_exception());
        }
    }
    leave_worker(patiently([this] { return take_slots(); }));  // nobody could end the station again
}

/// Where the object lives in the worker, that drops it before it has the blocks no more.
void WorkerProxy::leave_worker(std::vector<Block*> blocks) {
    if (made_.exchange(false, std::memory_order_relaxed)) return run_.forget(target(), record_->key, std::move(blocks));
    for (Block* const block : blocks) give_back(block);
}

void WorkerProxy::move_to(int target) {
    if (target == target_.load(std::memory_order_relaxed)) return;
    std::vector<LostBuffer> lost;
    auto blocks = take_slots(all_jobs, &lost);
    station_.run().note_lost(lost);
    tally(station_.lost, lost.size());
    leave_worker(std::move(blocks));
    record_->key = next_key();  // what the old worker is told to forget is not what comes back to it one day
    target_.store(target, std::memory_order_relaxed);
}

std::string why_not_carried(const FilterKind& kind, const AnyFilter& filter, const SharedHeap& heap) {
    if (filter.inputs.size() > FiringRecord::most_ports)
        return "it has more than " + std::to_string(FiringRecord::most_ports) + " inputs";
    carried::Encoder arguments(heap.base(), heap.size());
    try {
        (void)kind.write_down(arguments);
    } catch (const carried::NotCarried& refusal) {
        return refusal.what();
    }
    return {};
}

}  // namespace penstock::streaming
