#include "stream/isolated/worker_filter.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "machine/said_by.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/spread.hpp"

namespace penstock::streaming {
namespace {

/// Of this process, by the key that the program gave them. Made when it is first asked for, and left to the process's
/// end.
std::unordered_map<std::uint64_t, std::unique_ptr<WorkerFilter>>& filters() {
    static auto* const all = new std::unordered_map<std::uint64_t, std::unique_ptr<WorkerFilter>>;
    return *all;
}

std::string name_of_current_exception() {
    const auto* const type = abi::__cxa_current_exception_type();
    if (type == nullptr) return "unknown";
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                                      &std::free);
    return name == nullptr ? type->name() : name.get();
}

/// The parts of a job that lie behind it.
struct JobParts {
    const Passed* passed;
    const Granted* granted;
    const std::byte* ended;
    const std::byte* read;
    std::span<const std::byte> settings;
    std::span<const std::byte> event;

    explicit JobParts(const Job& job)
        : passed(reinterpret_cast<const Passed*>(&job + 1)),
          granted(reinterpret_cast<const Granted*>(passed + job.passed)),
          ended(reinterpret_cast<const std::byte*>(granted + job.granted)), read(ended + job.inlets),
          settings(read + job.outlets, job.settings_bytes), event(settings.data() + settings.size(), job.event_bytes) {}
};

}  // namespace

/// What a filter's blocks have instead of malloc. Outlives the filter where a buffer does.
class WorkerFilter::Values final : public BlockMemory {
  public:
    explicit Values(WorkerFilter& filter) noexcept : filter_(&filter) {}
    std::byte* take(std::size_t& bytes) override {
        if (filter_ == nullptr) throw std::bad_alloc();
        return filter_->borrow({FiringRecord::Question::own_values, 0, bytes}, bytes);
    }
    void give(std::byte* values) noexcept override {
        if (filter_ != nullptr) filter_->give(values);
    }
    void leave() noexcept { filter_ = nullptr; }

  private:
    WorkerFilter* filter_;
};

WorkerFilter* WorkerFilter::current_ = nullptr;

void do_job(FiringRecord* record) noexcept {
    // Once the report is there the program may take the record away.
    const auto key = record->key;
    const bool last = record->job->call == FilterCall::finish;
    auto& filter = filters()[key];
    if (filter == nullptr) filter = std::make_unique<WorkerFilter>(*record);
    filter->work();
    if (last) filters().erase(key);
}

void forget_filter(std::uint64_t key) noexcept { filters().erase(key); }

WorkerFilter::WorkerFilter(FiringRecord& record) : record_(record), values_(std::make_shared<Values>(*this)) {}

WorkerFilter::~WorkerFilter() {
    filter_ = nullptr;
    values_->leave();
    for (Block* const block : shared_) delete block;
}

// ---- a job ----

void WorkerFilter::work() noexcept {
    const Job& job = *record_.job;
    current_ = this;
    failed_ = over_ = made_ = state_changed_ = false;
    ticks_ = 0;
    type_.clear();
    text_.clear();
    try {
        if (filter_ == nullptr) make_filter(job);
        take_in(job);
        if (made_ && job.begun) {
            discards_ = true;
            filter_->start();
            discards_ = false;
        }
        const auto begin = Clock::ticks();
        carry_out(job);
        ticks_ = Clock::ticks() - begin;
    } catch (...) {
        discards_ = false;
        say_what_was_thrown();
    }
    try {
        save_state();
    } catch (...) {
        if (!failed_) say_what_was_thrown();
    }
    try {
        if (job.call == FilterCall::finish) filter_ = nullptr;  // what it has kept goes back with this report
        clear_up();
        report();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "penstock: a filter's firing cannot be reported: %s\n", said_by(error));
        std::abort();
    }
    current_ = nullptr;
}

void WorkerFilter::make_filter(const Job& job) {
    carried::Decoder arguments({record_.arguments, record_.argument_bytes});
    auto made = record_.make(arguments);
    inlets_.clear();
    outlets_.clear();
    make_ends(*made, nullptr, inlets_, outlets_);
    for (Spread* const spread : made->spreads) spread->keep_at_once(&kept_);
    grants_.assign(outlets_.size(), {});
    filter_ = std::move(made);
    made_ = true;
    settings_version_ = 0;
    apply_settings(job);
    if (record_.state != nullptr) {
        carried::Decoder state({record_.state, record_.state_bytes});
        filter_->load_state(state);
    }
    state_.assign(record_.state, record_.state + record_.state_bytes);
}

void WorkerFilter::take_in(const Job& job) {
    const JobParts parts(job);
    for (std::uint32_t i = 0; i < job.granted; ++i) {
        const Granted& granted = parts.granted[i];
        loans_.emplace(granted.values, Loan{granted.slot, granted.capacity});
        grants_[granted.outlet].push_back(granted);
    }
    for (std::uint32_t i = 0; i < job.passed; ++i) pass_in(parts.passed[i]);
    for (auto& inlet : inlets_) inlet->open_links = parts.ended[inlet->index] == std::byte{0} ? 1 : 0;
    for (auto& outlet : outlets_) {
        outlet->branches.clear();
        if (parts.read[outlet->index] != std::byte{0}) outlet->branches.emplace_back().links.push_back(nullptr);
    }
    apply_settings(job);
}

Block* WorkerFilter::block_over(std::byte* values, std::size_t capacity) const {
    auto* const block = new Block;
    block->own.memory = values_;
    block->own.data = block->data = values;
    block->own.capacity = capacity;
    block->own.owner = block;
    block->storage = &block->own;
    return block;
}

/// A buffer that others read too has a second reader here, which never goes: so edit() makes a copy. Nobody but
/// clear_up() ends it.
void WorkerFilter::pass_in(const Passed& passed) {
    loans_.emplace(passed.values, Loan{passed.slot, passed.capacity});
    Block* block = block_over(passed.values, passed.capacity);
    block->number = passed.slot;
    if (passed.shared) {
        Block* const stand_in = block;
        stand_in->own.readers.store(2, std::memory_order_relaxed);
        shared_.push_back(stand_in);
        block = new Block;
        block->own.memory = values_;
        block->storage = &stand_in->own;
        block->data = passed.values;
        block->number = passed.slot;
    }
    passed.shape.give_to(*block);
    block->written = passed.written;
    inlets_[passed.inlet]->queue.push({block, nullptr});
}

void WorkerFilter::apply_settings(const Job& job) {
    if (job.settings_version == settings_version_) return;
    settings_version_ = job.settings_version;
    carried::Decoder from(JobParts(job).settings);
    for (AnySetting* const setting : filter_->settings) setting->set(decode_setting(from));
}

void WorkerFilter::carry_out(const Job& job) {
    switch (job.call) {
        case FilterCall::start:
            filter_->start();
            break;
        case FilterCall::fire:
            over_ = !filter_->fire();
            break;
        case FilterCall::finish:
            filter_->finish();
            break;
        case FilterCall::event: {
            carried::Decoder from(JobParts(job).event);
            Event event;
            event.name = carried::decode<std::string>(from);
            event.value = decode_setting(from);
            filter_->handle(event);
            break;
        }
    }
}

void WorkerFilter::say_what_was_thrown() noexcept {
    failed_ = true;
    type_ = name_of_current_exception();
    try {
        throw;
    } catch (const std::exception& error) {
        text_ = said_by(error);
    } catch (...) {
        text_ = "not a std::exception";
    }
}

/// What was not read stays the program's, and so do grants that were not used.
void WorkerFilter::clear_up() {
    kept_.clear();
    for (auto& inlet : inlets_)
        while (!inlet->queue.empty()) {
            Block* const block = inlet->queue.pop().block;
            if (const auto loan = loan_of(block->data, block->number); loan != loans_.end()) loans_.erase(loan);
            if (block->storage != &block->own) std::erase(shared_, block->storage->owner), delete block->storage->owner;
            delete block;
        }
    std::erase_if(shared_, [this](Block* stand_in) {
        if (stand_in->own.readers.load(std::memory_order_relaxed) != 1) return false;
        give(loan_of(stand_in->own.data, stand_in->number));
        delete stand_in;
        return true;
    });
    for (auto& grants : grants_) {
        for (const Granted& granted : grants) give(granted.values);
        grants.clear();
    }
}

void WorkerFilter::save_state() {
    if (filter_ == nullptr || !filter_->has_state()) return;
    carried::Encoder now(record_.heap, record_.heap_bytes);
    filter_->save_state(now);
    state_changed_ = now.all() != state_;
    if (state_changed_) state_ = now.all();
}

void WorkerFilter::report() {
    const auto state_bytes = state_changed_ ? state_.size() : 0;
    const auto bytes = actions_.size() * sizeof(Action) + type_.size() + text_.size() + state_bytes;
    if (bytes > record_.report_capacity) (void)ask({FiringRecord::Question::report, 0, bytes});
    if (bytes > record_.report_capacity) throw std::bad_alloc();
    std::byte* to = record_.report;
    const auto put = [&to](const void* from, std::size_t count) {
        if (count != 0) std::memcpy(to, from, count);
        to += count;
    };
    put(actions_.data(), actions_.size() * sizeof(Action));
    put(type_.data(), type_.size());
    put(text_.data(), text_.size());
    put(state_.data(), state_bytes);
    record_.actions = actions_.size();
    record_.type_bytes = type_.size();
    record_.text_bytes = text_.size();
    record_.state_out_bytes = state_bytes;
    record_.state_changed = state_changed_;
    record_.failed = failed_;
    record_.over = over_;
    record_.made = made_;
    record_.ticks = ticks_;
    actions_.clear();
    RunBoard& board = *record_.board;
    record_.done.store(record_.job->number, std::memory_order_release);
    board.announce();
}

}  // namespace penstock::streaming
