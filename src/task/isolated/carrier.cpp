#include "penstock/detail/task/carrier.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "penstock/detail/task/chain_image.hpp"
#include "penstock/detail/task/entry.hpp"
#include "penstock/isolation.hpp"
#include "task/backend/backend.hpp"
#include "task/isolated/strided_copy.hpp"

namespace penstock::isolated {
namespace {

template <bool in>
void copy(const StagedPiece& piece) noexcept {
    if (piece.rank != 0) {
        auto* at = piece.copy;
        copy_strided<in>(piece.user, piece.element, {piece.extents.data(), piece.rank},
                         {piece.strides.data(), piece.rank}, at);
    } else if constexpr (in) {
        std::memcpy(piece.copy, piece.user, piece.bytes);
    } else {
        std::memcpy(piece.user, piece.copy, piece.bytes);
    }
}

}  // namespace

StagedTask::~StagedTask() {
    for (const auto& piece : pieces) backend->give_block(piece.copy, piece.bytes);
    if (counts)
        for (Shared* const one : held) one->end_elsewhere();
}

void StagedTask::write_back() const noexcept {
    for (const auto& piece : pieces)
        if (piece.back) copy<false>(piece);
}

StagedTask& Carrier::staged() {
    if (staged_ == nullptr) staged_ = std::make_unique<StagedTask>(side_.backend);
    return *staged_;
}

const std::shared_ptr<SharedHeap>& Carrier::heap() const noexcept { return side_.backend.heap(); }

void Carrier::hold(Shared& used) { staged().held.push_back(&used); }

void Carrier::hold_chain(chain::Image& image) {
    hold(image);
    staged().chain = &image;
}

Carrier Carrier::for_step(std::uint32_t entry) const { return {side_, entry, entry_of(entry).name}; }

std::byte* Carrier::copy_in(StagedPiece& piece, bool filled) {
    staged();
    staged_->pieces.reserve(staged_->pieces.size() + 1);
    piece.copy = side_.backend.take_block(piece.bytes);
    staged_->pieces.push_back(piece);
    if (filled) copy<true>(piece);
    return piece.copy;
}

std::byte* Carrier::bring_rows(Access access, std::byte* base, std::size_t rows, std::size_t row_bytes,
                               std::ptrdiff_t pitch) {
    if (rows == 0 || row_bytes == 0) return base;
    const auto first = reinterpret_cast<std::uintptr_t>(base);
    const auto last = reinterpret_cast<std::uintptr_t>(base + static_cast<std::ptrdiff_t>(rows - 1) * pitch);
    if (side_.inside(std::min(first, last), std::max(first, last) + row_bytes)) return base;
    StagedPiece piece;
    piece.user = base;
    piece.bytes = rows * row_bytes;
    piece.back = access != Access::in;
    if (rows > 1 && pitch != static_cast<std::ptrdiff_t>(row_bytes)) {
        piece.rank = 2;
        piece.extents = {rows, row_bytes};
        piece.strides = {pitch, 1};
    }
    return copy_in(piece, access != Access::out);
}

void Carrier::refuse(int argument, const std::string& why) const {
    throw CannotCarryOver(std::string(task_), argument, why);
}

void Carrier::refuse_box() const {
    refuse(0,
           "its arguments do not fit a descriptor byte by byte (owned values, boxed closures, more than 192 bytes of "
           "scalars); put them into an array of machine.array, or use thread targets");
}

void Carrier::refuse_what_stays(int argument) const {
    refuse(
        argument,
        "what it holds lies in the program's own memory; put it into an array of machine.array, or use thread targets");
}

void Carrier::refuse_literal(int argument) const {
    refuse(argument,
           "a chain's step has memory outside the shared heap here, which is copied to no worker; make "
           "it a parameter of the "
           "chain, resident data, or an array of machine.array");
}

void Carrier::refuse_elements(int argument) const {
    refuse(
        argument,
        "has elements that cannot be copied byte by byte, such as strings: another process cannot use what they own. "
        "Give it plain numbers or structs, or call it on a machine whose targets are threads");
}

void Carrier::refuse_call(std::uint32_t entry) const {
    if (side_.lost.load()) throw WorkersLost("this machine has lost its workers; make a new one");
    refuse(0, "procedure " + std::to_string(entry) +
                  " came with a library that was loaded after launch(); name it by "
                  "library and symbol: plugin<...>(\"library.so\", \"symbol\")");
}

void Carrier::check_function(const void* function, int argument) const {
    Dl_info info;
    // A function that no library holds was made while the program ran.
    if (function == nullptr) return;
    const bool known = dladdr(function, &info) != 0 && info.dli_fbase != nullptr;
    if (known && side_.backend.has_image(reinterpret_cast<std::uintptr_t>(info.dli_fbase))) return;
    refuse(
        argument,
        "this function lies in a library that was loaded after launch(), or was made at run time; name it by library "
        "and symbol, plugin<...>(\"library.so\", \"symbol\"), or carry its code, machine_code<...>(bytes)");
}

void Carrier::check_pointer(const void* pointer, int argument) const {
    const auto at = reinterpret_cast<std::uintptr_t>(pointer);
    if (pointer == nullptr || side_.inside(at, at)) return;
    refuse(argument,
           "a bare pointer outside the shared heap means nothing in another process; tag the argument with in, out or "
           "inout, or point into an array of machine.array");
}

}  // namespace penstock::isolated
