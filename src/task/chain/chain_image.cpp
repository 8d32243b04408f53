// A chain's image: local blocks laid out, the run, and the copy that worker processes see.
#include "penstock/detail/task/chain_image.hpp"

#include <numeric>

#include "machine/pages.hpp"

namespace penstock::chain {

Image::Image(const Description& description)
    : name_(description.name_), steps_(description.steps_), patches_(description.patches_) {
    const auto offsets = lay_out(description.locals_, local_bytes_);
    for (std::size_t i = 0; i < offsets.size(); ++i) blocks_.emplace_back(offsets[i], description.locals_[i].bytes);
    for (auto& patch : patches_)
        if (patch.kind == Patch::Kind::local) patch.offset += offsets[patch.index];
    for (const auto& place : description.residents_) {
        auto held =
            std::find_if(versions_.begin(), versions_.end(), [&](const auto& one) { return one.first == place.state; });
        if (held == versions_.end()) held = versions_.emplace(held, place.state, place.state->current());
        packing::Codec<resident::Argument<Access::in, std::byte>>::store(
            reinterpret_cast<std::byte*>(&steps_[place.step].packed) + place.to, {held->second.get(), false});
        residents_.push_back({held->second.get(), place.step, place.to});
    }
    program_ = {steps_.data(), patches_.data(), steps_.size(), local_bytes_, name_.data(), name_.size(), this};
}

bool Image::begin() noexcept {
    for (std::size_t i = 0; i < versions_.size(); ++i) {
        if (versions_[i].first->begin(*versions_[i].second)) continue;
        while (i-- > 0) versions_[i].second->uses.give_up();
        return false;
    }
    uses.begin();
    return true;
}

/// The largest first, each at the lowest place where it meets no block that lives at the same time.
std::vector<std::size_t> Image::lay_out(const std::vector<Description::Local>& locals, std::size_t& total) {
    std::vector<std::size_t> order(locals.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return locals[a].bytes > locals[b].bytes; });
    struct Laid {
        std::size_t begin, end, local;
    };
    std::vector<Laid> laid;  // by their beginnings
    std::vector<std::size_t> offsets(locals.size(), 0);
    for (const auto number : order) {
        const auto& local = locals[number];
        if (local.first > local.last) continue;  // used by no step
        const auto bytes = pages::rounded_up(local.bytes, LocalStore::alignment);
        std::size_t begin = 0;
        for (const auto& other : laid) {
            const auto& theirs = locals[other.local];
            if (theirs.last < local.first || local.last < theirs.first) continue;
            if (begin + bytes <= other.begin) break;
            begin = std::max(begin, other.end);
        }
        offsets[number] = begin;
        const auto after =
            std::find_if(laid.begin(), laid.end(), [&](const Laid& other) { return other.begin > begin; });
        laid.insert(after, {begin, begin + bytes, number});
        total = std::max(total, begin + bytes);
    }
    return offsets;
}

void Program::run(LocalStore& store, const std::byte* values) const {
    const LocalStore::Mark mark(store);
    const std::byte* const local = local_bytes == 0 ? nullptr : store.allocate(local_bytes);
    auto* const note = store.step_note();
    const Step* step = steps;
    const Step* const end = step + count;
    try {
        for (; step != end; ++step) {
            if (note != nullptr) note->store(static_cast<std::uint32_t>(step - steps) + 1, std::memory_order_relaxed);
            if (step->patches != 0) {
                run_patched(*step, store, local, values);
            } else {
                // Trampolines only read what is packed.
                auto& packed = const_cast<Packed&>(step->packed);
                entry_of(step->entry).run({packed.line, packed.extension.bytes, false}, store);
            }
        }
    } catch (...) {
        throw_step_failed(static_cast<std::size_t>(step - steps) + 1);  // the note stands until the failure is told
    }
    if (note != nullptr) note->store(0, std::memory_order_relaxed);
}

void Program::run_patched(const Step& step, LocalStore& store, const std::byte* local, const std::byte* values) const {
    Packed packed;
    std::memcpy(packed.line, step.packed.line, sizeof packed.line);
    if (step.extended) packed.extension = step.packed.extension;
    auto* const bytes = reinterpret_cast<std::byte*>(&packed);
    const Patch* const first = patches + step.first_patch;
    for (const Patch* patch = first; patch != first + step.patches; ++patch) {
        std::byte* const to = bytes + patch->to;
        const std::byte* const from = values + patch->from;
        switch (patch->kind) {
            case Patch::Kind::local:
                packing::store_address(to, local + patch->offset);
                break;
            case Patch::Kind::span:
                std::memcpy(to + packing::address_bytes, from + sizeof(void*), 4);
                [[fallthrough]];
            case Patch::Kind::part: {
                const std::byte* address = nullptr;
                std::memcpy(&address, from, sizeof address);
                packing::store_address(to, address + patch->offset);
                break;
            }
            case Patch::Kind::bytes:
                std::memcpy(to, from, patch->count);
                break;
        }
    }
    entry_of(step.entry).run({packed.line, packed.extension.bytes, false}, store);
}

std::string Program::step_name(std::size_t step) const {
    return std::string(entry_of(steps[step - 1].entry).name) + " (step " + std::to_string(step) + " of " +
           std::to_string(count) + " of " + (name_length == 0 ? "a chain" : "chain " + std::string(name, name_length)) +
           ")";
}

void Program::throw_step_failed(std::size_t step) const { throw StepFailed{step_name(step), std::current_exception()}; }

void Image::refuse_local_store(std::size_t bytes) const {
    std::string text;
    for (std::size_t i = 0; i < blocks_.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(blocks_[i].second);
    throw UsageError((name_.empty() ? "a chain" : "chain " + name_) + " needs " + std::to_string(local_bytes_) +
                     " bytes of local memory at once (its blocks have " + text + "), but the local store holds " +
                     std::to_string(bytes) + "; make the pieces smaller, or raise MachineOptions::local_store");
}

// ---- for worker processes ----

Image::~Image() {
    for (const auto& copy : copies_) copy.heap->release(copy.program);
}

const Program& Image::share(isolated::Carrier& carrier) {
    const std::lock_guard lock(mutex_);
    const auto heap = carrier.heap();
    const auto made = std::find_if(copies_.begin(), copies_.end(), [&](const Copy& copy) { return copy.heap == heap; });
    if (made != copies_.end()) return *made->program;
    for (const auto& step : steps_) {
        const auto its = carrier.for_step(step.entry);
        if (step.check_carried == nullptr) its.refuse_what_stays(0);
        step.check_carried(step.packed, its);
    }
    copies_.reserve(copies_.size() + 1);
    std::vector<resident::SharedVersion*> versions;
    for (const auto& place : residents_) versions.push_back(&place.version->share(heap));
    const auto rounded = [](std::size_t bytes) { return pages::rounded_up(bytes, SharedHeap::alignment); };
    const auto steps_at = rounded(sizeof(Program));
    const auto patches_at = steps_at + rounded(steps_.size() * sizeof(Step));
    const auto name_at = patches_at + rounded(patches_.size() * sizeof(Patch));
    std::byte* const block = heap->allocate(name_at + name_.size() + 1);
    auto* const program = new (block) Program(program_);
    auto* const steps = reinterpret_cast<Step*>(block + steps_at);
    std::uninitialized_copy(steps_.begin(), steps_.end(), steps);
    for (std::size_t i = 0; i < residents_.size(); ++i)
        packing::Codec<resident::Argument<Access::in, std::byte>>::store(
            reinterpret_cast<std::byte*>(&steps[residents_[i].step].packed) + residents_[i].to,
            {nullptr, false, versions[i]});
    auto* const patches = reinterpret_cast<Patch*>(block + patches_at);
    std::uninitialized_copy(patches_.begin(), patches_.end(), patches);
    auto* const name = reinterpret_cast<char*>(block + name_at);
    std::copy(name_.begin(), name_.end(), name);
    program->steps = steps;
    program->patches = patches;
    program->name = name;
    program->image = nullptr;
    copies_.push_back({heap, program});
    return *program;
}

}  // namespace penstock::chain
