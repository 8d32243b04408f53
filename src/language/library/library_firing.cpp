#include "language/library/library_firing.hpp"

#include <algorithm>
#include <utility>

#include "language/xml/text.hpp"

namespace penstock::language {

template <class Answer, class Work>
Answer LibraryFiring::answer(penstock_firing* firing, Work&& work) noexcept {
    auto& self = *static_cast<LibraryFiring*>(firing);
    try {
        return work(self);
    } catch (...) {
        self.note_failure();
        return Answer{};
    }
}

LibraryFiring::LibraryFiring(LibraryPorts& ports) : penstock_firing{}, ports_(ports) {
    read = [](penstock_firing* firing, std::size_t input, penstock_buffer* into) {
        return answer<int>(firing, [&](LibraryFiring& self) {
            auto& port = self.ports_.input_at(input);
            auto buffer = port.read_if_any();
            if (!buffer) return 0;
            self.require_dimensions("input", port.name(), self.ports_.of().input_dimensions[input], buffer->rank());
            self.hold(std::move(*buffer), port.element(), *into);
            return 1;
        });
    };
    waiting = [](penstock_firing* firing, std::size_t input) {
        return answer<std::size_t>(firing, [&](LibraryFiring& self) { return self.ports_.input_at(input).waiting(); });
    };
    ended = [](penstock_firing* firing, std::size_t input) {
        return answer<int>(firing, [&](LibraryFiring& self) { return self.ports_.input_at(input).ended() ? 1 : 0; });
    };
    edit = [](penstock_firing* firing, penstock_buffer* buffer) {
        return answer<void*>(firing, [&](LibraryFiring& self) -> void* {
            auto* const values = self.held(*buffer).buffer.edit().data();
            buffer->values = values;
            return values;
        });
    };
    make = [](penstock_firing* firing, std::size_t output, std::size_t dimensions, const std::size_t* extents,
              penstock_buffer* into) {
        return answer<void*>(firing, [&](LibraryFiring& self) -> void* {
            auto& port = self.ports_.output_at(output);
            self.require_dimensions("output", port.name(), self.ports_.of().output_dimensions[output], dimensions);
            auto buffer = port.make({extents, dimensions});
            auto* const values = buffer.edit().data();
            self.hold(std::move(buffer), port.element(), *into);
            return values;
        });
    };
    set_tags = [](penstock_firing* firing, penstock_buffer* buffer, const penstock_tags* tags) {
        return answer<int>(firing, [&](LibraryFiring& self) {
            self.held(*buffer).buffer.edit_tags() = {tags->sequence, tags->time, {tags->user[0], tags->user[1]}};
            buffer->tags = *tags;
            return 1;
        });
    };
    write = [](penstock_firing* firing, std::size_t output, penstock_buffer* buffer) {
        return answer<int>(firing, [&](LibraryFiring& self) {
            auto& port = self.ports_.output_at(output);
            auto& held = self.held(*buffer);
            if (held.element != port.element())
                throw UsageError("it writes a buffer of " + std::string(held.element.name) + " to output " +
                                 in_quotes(port.name()) + ", which is of " + std::string(port.element().name));
            self.require_dimensions("output", port.name(), self.ports_.of().output_dimensions[output],
                                    held.buffer.rank());
            port.write(std::move(held.buffer));
            buffer->values = nullptr;
            buffer->count = 0;
            return 1;
        });
    };
    close = [](penstock_firing* firing, std::size_t output) {
        static_cast<void>(
            answer<int>(firing, [&](LibraryFiring& self) { return self.ports_.output_at(output).close(), 1; }));
    };
    connected = [](penstock_firing* firing, std::size_t output) {
        return answer<int>(firing,
                           [&](LibraryFiring& self) { return self.ports_.output_at(output).connected() ? 1 : 0; });
    };
    setting = [](penstock_firing* firing, std::size_t number) {
        return answer<penstock_value>(
            firing, [&](LibraryFiring& self) { return self.value_of(self.ports_.setting_at(number)); });
    };
    fail = [](penstock_firing* firing, const char* message) {
        const auto give_up = [&](LibraryFiring&) -> int {
            throw Error(message == nullptr ? "it failed, and did not say why" : message);
        };
        static_cast<void>(answer<int>(firing, give_up));
        return static_cast<int>(PENSTOCK_FAILED);
    };
}

void LibraryFiring::end(int outcome, const char* function) {
    numbers_given_ += held_.size();
    held_.clear();
    texts_.clear();
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
    const bool may_end = std::string_view(function) == "fire";
    if (outcome == PENSTOCK_GO_ON || (may_end && outcome == PENSTOCK_ENDED)) return;
    const auto who = std::string(function) + "() of class " + in_quotes(ports_.of().name);
    if (outcome == PENSTOCK_FAILED) throw Error(who + " failed, and did not say why: let it call fail()");
    throw Error(who + " returned " + std::to_string(outcome) + ": let it return PENSTOCK_GO_ON, " +
                (may_end ? "PENSTOCK_ENDED " : "") + "or PENSTOCK_FAILED");
}

/// The first one is why; what follows comes of it.
void LibraryFiring::note_failure() noexcept {
    if (failure_ == nullptr) failure_ = std::current_exception();
}

LibraryFiring::Held& LibraryFiring::held(const penstock_buffer& buffer) {
    const auto number = buffer.number - numbers_given_;  // from 1
    if (number == 0 || number > held_.size())
        throw UsageError("it uses a buffer that this firing neither read nor made");
    return held_[number - 1];
}

void LibraryFiring::hold(Buffer<std::byte>&& buffer, ElementType element, penstock_buffer& shown) {
    shown = {};
    shown.values = buffer.span().data();
    shown.count = buffer.size() / element.size;
    shown.dimensions = buffer.rank();
    for (std::size_t d = 0; d < shown.dimensions; ++d) shown.extents[d] = buffer.extent(d);
    const auto& tags = buffer.tags();
    shown.tags = {tags.sequence, tags.time, {tags.user[0], tags.user[1]}};
    held_.push_back({std::move(buffer), element});
    shown.number = numbers_given_ + held_.size();
}

void LibraryFiring::require_dimensions(const char* port, const std::string& name, std::size_t wanted,
                                       std::size_t given) const {
    if (wanted != 0 && wanted != given)
        throw UsageError(std::string(port) + " " + in_quotes(name) + " of class " + in_quotes(ports_.of().name) +
                         " has buffers of " + std::to_string(wanted) + (wanted == 1 ? " dimension" : " dimensions") +
                         ", and this one has " + std::to_string(given));
}

penstock_value LibraryFiring::value_of(const streaming::AnySetting& of) {
    return language::value_of(of.value(), *texts_.emplace_back(std::make_unique<std::string>()));
}

penstock_value value_of(const SettingValue& value, std::string& text) {
    penstock_value made{};
    made.kind = static_cast<int>(value.index());
    static_assert(PENSTOCK_BOOLEAN == 0 && PENSTOCK_INTEGER == 1 && PENSTOCK_NUMBER == 2 && PENSTOCK_TEXT == 3,
                  "the alternatives of SettingValue");
    if (const auto* const truth = std::get_if<bool>(&value)) made.integer = *truth ? 1 : 0;
    if (const auto* const integer = std::get_if<std::int64_t>(&value))
        made.integer = *integer, made.number = static_cast<double>(*integer);
    if (const auto* const number = std::get_if<double>(&value)) made.number = *number;
    if (const auto* const words = std::get_if<std::string>(&value)) text = *words, made.text = text.c_str();
    return made;
}

}  // namespace penstock::language
