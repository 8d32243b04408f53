#include "stream/isolated/worker_filter.hpp"

#include <cxxabi.h>

#include <cstdlib>

#include "machine/said_by.hpp"
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
    std::span<const Passed> passed;
    std::span<const Granted> granted;
    const std::byte *ended, *read;
    std::span<const std::byte> settings, event;

    explicit JobParts(const CallRecord& job)
        : passed(reinterpret_cast<const Passed*>(&job + 1), job.passed),
          granted(reinterpret_cast<const Granted*>(passed.data() + passed.size()), job.granted),
          ended(reinterpret_cast<const std::byte*>(granted.data() + granted.size())), read(ended + job.inlets),
          settings(read + job.outlets, job.settings_bytes), event(settings.data() + settings.size(), job.event_bytes) {}
};

}  // namespace

/// What a filter's blocks have instead of malloc. Outlives the filter where a buffer does.
class WorkerFilter::Values final : public BlockMemory {
  public:
    explicit Values(WorkerFilter& filter) noexcept : filter_(&filter) {}
    std::byte* take(std::size_t& bytes) override {
        if (filter_ == nullptr) throw std::bad_alloc();
        const auto loan = filter_->borrow({FiringRecord::Question::own_values, 0, bytes});
        bytes = loan.capacity;
        return loan.values;
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
    const CallRecord& job = *record_.job;
    current_ = this;
    found_ = {};
    type_.clear();
    text_.clear();
    try {
        if (filter_ == nullptr) make_filter(job);
        take_in(job);
        if (found_.made && job.begun) {
            discards_ = true;
            filter_->start();
            discards_ = false;
        }
        Event event;
        if (job.call == FilterCall::event) {
            carried::Decoder from(JobParts(job).event);
            event.name = carried::decode<std::string>(from);
            event.value = decode_setting(from);
        }
        const auto begin = Clock::ticks();
        found_.over = !call(*filter_, job.call, &event);
        jobs_.run();
        found_.ticks = Clock::ticks() - begin;
    } catch (...) {
        discards_ = false;
        say_what_was_thrown();
    }
    try {
        save_state();
    } catch (...) {
        if (!found_.failed) say_what_was_thrown();
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

void WorkerFilter::make_filter(const CallRecord& job) {
    carried::Decoder arguments(record_.arguments);
    auto made = record_.make(arguments);
    inlets_.clear();
    outlets_.clear();
    make_ends(*made, nullptr, inlets_, outlets_);
    for (auto& outlet : outlets_) outlet->cuts = record_.cuts;
    for (Spread* const spread : made->spreads) spread->run_here(&jobs_);
    grants_.assign(outlets_.size(), {});
    filter_ = std::move(made);
    found_.made = true;
    settings_version_ = 0;
    apply_settings(job);
    if (record_.state.data() != nullptr) {
        carried::Decoder state(record_.state);
        filter_->load_state(state);
    }
    state_.assign(record_.state.begin(), record_.state.end());
}

void WorkerFilter::take_in(const CallRecord& job) {
    const JobParts parts(job);
    for (const auto& [memory, outlet] : parts.granted) {
        loans_.emplace(memory.values, memory);
        grants_[outlet].push_back(memory);
    }
    for (const Passed& passed : parts.passed) pass_in(passed);
    for (auto& inlet : inlets_) inlet->open_links = parts.ended[inlet->index] == std::byte{0} ? 1 : 0;
    for (auto& outlet : outlets_) {
        outlet->branches.clear();
        if (parts.read[outlet->index] != std::byte{0}) outlet->branches.emplace_back().links.push_back(nullptr);
    }
    apply_settings(job);
}

Block* WorkerFilter::block_over(const Loan& loan) const {
    auto* const block = new Block;
    block->own.memory = values_;
    block->own.data = block->data = loan.values;
    block->own.capacity = loan.capacity;
    block->own.owner = block;
    block->storage = &block->own;
    return block;
}

/// A buffer that others read too has a second reader here, which never goes: so edit() makes a copy. Nobody but
/// clear_up() ends it.
void WorkerFilter::pass_in(const Passed& passed) {
    loans_.emplace(passed.memory.values, passed.memory);
    Block* block = block_over(passed.memory);
    block->number = passed.memory.slot;
    if (passed.shared) {
        Block* const stand_in = block;
        stand_in->own.readers.store(2, std::memory_order_relaxed);
        shared_.push_back(stand_in);
        block = new Block;
        block->own.memory = values_;
        block->storage = &stand_in->own;
        block->data = passed.memory.values;
        block->number = passed.memory.slot;
    }
    passed.shape.give_to(*block);
    block->written = passed.written;
    inlets_[passed.inlet]->queue.push({block, nullptr});
}

void WorkerFilter::apply_settings(const CallRecord& job) {
    if (job.settings_version == settings_version_) return;
    settings_version_ = job.settings_version;
    carried::Decoder from(JobParts(job).settings);
    for (AnySetting* const setting : filter_->settings) setting->set(decode_setting(from));
}

void WorkerFilter::say_what_was_thrown() noexcept {
    found_.failed = true;
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
    jobs_.clear();
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
        for (const Loan& unused : grants) give(unused.values);
        grants.clear();
    }
}

void WorkerFilter::save_state() {
    if (filter_ == nullptr || !filter_->has_state()) return;
    carried::Encoder now(record_.heap.data(), record_.heap.size());
    filter_->save_state(now);
    found_.state_changed = now.all() != state_;
    if (found_.state_changed) state_ = now.all();
}

void WorkerFilter::report() {
    report_.clear();
    carried::encode(report_, found_);
    carried::encode(report_, actions_);
    carried::encode(report_, events_.all());
    carried::encode(report_, type_);
    carried::encode(report_, text_);
    if (found_.state_changed) carried::encode(report_, state_);
    const auto bytes = report_.all().size();
    if (bytes > record_.report.size()) (void)ask({FiringRecord::Question::report, 0, bytes});
    if (bytes > record_.report.size()) throw std::bad_alloc();
    std::ranges::copy(report_.all(), record_.report.begin());
    actions_.clear();
    events_.clear();
    RunBoard& board = *record_.board;
    record_.done.store(record_.job->number, std::memory_order_release);
    board.announce();
}

}  // namespace penstock::streaming
