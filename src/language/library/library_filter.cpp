// Filters whose firings are functions of a shared library, and what these functions are given: the buffers of the
// firing, and the functions of penstock_firing over them.
#include <exception>

#include "language/library/component_library.hpp"
#include "language/xml/text.hpp"
#include "penstock/described_filter.hpp"

namespace penstock::language {
namespace {

/// The value as the interface has it; `text` keeps its text.
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

/// As the library has it. Throws UsageError for a kind that there is not.
SettingValue value_of(const penstock_value& value) {
    switch (value.kind) {
        case PENSTOCK_BOOLEAN:
            return value.integer != 0;
        case PENSTOCK_INTEGER:
            return value.integer;
        case PENSTOCK_NUMBER:
            return value.number;
        case PENSTOCK_TEXT:
            return std::string(value.text == nullptr ? "" : value.text);
        default:
            throw UsageError("it sends an event with a value of kind " + std::to_string(value.kind) +
                             ": say PENSTOCK_BOOLEAN, PENSTOCK_INTEGER, PENSTOCK_NUMBER or PENSTOCK_TEXT");
    }
}

class LibraryFilter final : public DescribedFilter {
  public:
    explicit LibraryFilter(std::shared_ptr<const LibraryClass> of)
        : DescribedFilter(of->filter), of_(std::move(of)), firing_(*this) {}
    ~LibraryFilter() override {
        if (kept_ != nullptr) functions().destroy(kept_);
    }

    bool fire() override { return call(functions().fire, "fire") == PENSTOCK_GO_ON; }
    void start() override {
        if (functions().start != nullptr) static_cast<void>(call(functions().start, "start"));
    }
    void finish() override {
        if (functions().finish != nullptr) static_cast<void>(call(functions().finish, "finish"));
    }
    void handle(const Event& event) override {
        std::string text;
        const auto value = value_of(event.value, text);
        const auto tell = [&](void* kept, penstock_firing* firing) {
            return functions().event(kept, firing, event.name.c_str(), &value);
        };
        static_cast<void>(call(tell, "event"));
    }
    bool handles_events() const noexcept override { return functions().event != nullptr; }

    bool has_state() const noexcept override { return functions().save != nullptr; }
    void save_state(carried::Encoder& to) override {
        auto* const filter = kept();
        std::vector<std::byte> state(last_state_bytes_);
        const auto bytes = functions().save(filter, state.data(), state.size());
        const bool fits = bytes <= state.size();
        state.resize(bytes);
        if (!fits && functions().save(filter, state.data(), bytes) != bytes)
            throw Error("save() of class " + in_quotes(of_->name) +
                        " needs another number of bytes each time it is asked: let it say the same");
        last_state_bytes_ = bytes;
        to.bytes(state.data(), state.size());
    }
    void load_state(carried::Decoder& from) override {
        std::vector<std::byte> state(from.left());
        from.bytes(state.data(), state.size());
        if (functions().load(kept(), state.data(), state.size()) != PENSTOCK_GO_ON)
            throw Error("load() of class " + in_quotes(of_->name) + " does not take what its save() wrote");
    }

  private:
    const penstock_class& functions() const noexcept { return of_->functions; }
    /// What the library keeps for this filter, made when it is first needed: graphs that are only looked at make
    /// nothing.
    void* kept() {
        if (kept_ == nullptr && functions().create != nullptr) {
            kept_ = functions().create(of_->table);
            if (kept_ == nullptr)
                throw Error("create() of class " + in_quotes(of_->name) +
                            " returned nothing: it could not make a filter");
        }
        return kept_;
    }
    template <class Function>
    int call(const Function& function, const char* name) {
        int outcome = PENSTOCK_FAILED;
        try {
            outcome = function(kept(), &firing_);
        } catch (...) {  // of create(), or of a library in C++ that breaks the rule
            note_failure();
        }
        end(outcome, name);
        return outcome;
    }

    DescribedInput& input_at(std::size_t number) {
        require("input", number, inputs.size());
        return input(number);
    }
    DescribedOutput& output_at(std::size_t number) {
        require("output", number, outputs.size());
        return output(number);
    }
    void require(const char* what, std::size_t number, std::size_t count) const {
        if (number >= count)
            throw UsageError("class " + in_quotes(of_->name) + " uses its " + what + " number " +
                             std::to_string(number) + ", counted from 0, and has " + std::to_string(count) +
                             " of them");
    }
    void require_dimensions(const char* port, const std::string& name, std::size_t wanted, std::size_t given) const {
        if (wanted != 0 && wanted != given)
            throw UsageError(std::string(port) + " " + in_quotes(name) + " of class " + in_quotes(of_->name) +
                             " has buffers of " + std::to_string(wanted) +
                             (wanted == 1 ? " dimension" : " dimensions") + ", and this one has " +
                             std::to_string(given));
    }

    /// Lets all buffers go that were not written. Throws what went wrong since it was called last. `outcome`: what that
    /// function returned.
    void end(int outcome, const char* function);
    /// The exception that is handled now is thrown by end(). The first one is why; what follows comes of it.
    void note_failure() noexcept {
        if (failure_ == nullptr) failure_ = std::current_exception();
    }

    struct Held {
        Buffer<std::byte> buffer;
        ElementType element;
    };
    Held& held(const penstock_buffer& buffer);
    void hold(Buffer<std::byte>&& buffer, ElementType element, penstock_buffer& shown);

    /// What the library's functions are given. Made once for each filter, and used anew by each of them.
    struct Firing : penstock_firing {
        explicit Firing(LibraryFilter& of);
        LibraryFilter& filter;
    };
    /// One of the functions, by its work. What that throws is thrown by end(), and here the answer is "no".
    template <class Work>
    static auto function(Work) {
        return [](penstock_firing* firing, auto... given) {
            auto& self = static_cast<Firing*>(firing)->filter;
            try {
                return Work()(self, given...);
            } catch (...) {
                self.note_failure();
                return decltype(Work()(self, given...))();
            }
        };
    }

    const std::shared_ptr<const LibraryClass> of_;
    Firing firing_;
    std::vector<Held> held_;
    /// Before this function was called: a buffer of an earlier one is not taken for one of this
    std::size_t numbers_given_ = 0;
    std::vector<std::unique_ptr<std::string>> texts_;
    std::exception_ptr failure_;
    void* kept_ = nullptr;
    std::size_t last_state_bytes_ = 0;
};

LibraryFilter::Firing::Firing(LibraryFilter& of) : penstock_firing{}, filter(of) {
    read = function([](LibraryFilter& self, std::size_t input, penstock_buffer* into) {
        auto& port = self.input_at(input);
        auto buffer = port.read_if_any();
        if (!buffer) return 0;
        self.require_dimensions("input", port.name(), self.of_->input_dimensions[input], buffer->rank());
        self.hold(std::move(*buffer), port.element(), *into);
        return 1;
    });
    waiting = function([](LibraryFilter& self, std::size_t input) { return self.input_at(input).waiting(); });
    ended = function([](LibraryFilter& self, std::size_t input) { return self.input_at(input).ended() ? 1 : 0; });
    edit = function([](LibraryFilter& self, penstock_buffer* buffer) -> void* {
        auto* const values = self.held(*buffer).buffer.edit().data();
        buffer->values = values;
        return values;
    });
    make = function([](LibraryFilter& self, std::size_t output, std::size_t dimensions, const std::size_t* extents,
                       penstock_buffer* into) -> void* {
        auto& port = self.output_at(output);
        self.require_dimensions("output", port.name(), self.of_->output_dimensions[output], dimensions);
        auto buffer = port.make({extents, dimensions});
        auto* const values = buffer.edit().data();
        self.hold(std::move(buffer), port.element(), *into);
        return values;
    });
    set_tags = function([](LibraryFilter& self, penstock_buffer* buffer, const penstock_tags* tags) {
        self.held(*buffer).buffer.edit_tags() = {tags->sequence, tags->time, {tags->user[0], tags->user[1]}};
        buffer->tags = *tags;
        return 1;
    });
    write = function([](LibraryFilter& self, std::size_t output, penstock_buffer* buffer) {
        auto& port = self.output_at(output);
        auto& held = self.held(*buffer);
        if (held.element != port.element())
            throw UsageError("it writes a buffer of " + std::string(held.element.name) + " to output " +
                             in_quotes(port.name()) + ", which is of " + std::string(port.element().name));
        self.require_dimensions("output", port.name(), self.of_->output_dimensions[output], held.buffer.rank());
        port.write(std::move(held.buffer));
        buffer->values = nullptr;
        buffer->count = 0;
        return 1;
    });
    close = function([](LibraryFilter& self, std::size_t output) { self.output_at(output).close(); });
    connected =
        function([](LibraryFilter& self, std::size_t output) { return self.output_at(output).connected() ? 1 : 0; });
    setting = function([](LibraryFilter& self, std::size_t number) {
        self.require("setting", number, self.settings.size());
        return value_of(self.settings[number]->value(), *self.texts_.emplace_back(std::make_unique<std::string>()));
    });
    send = function([](LibraryFilter& self, std::size_t output, const penstock_value* value) {
        self.require("event output", output, self.event_outputs.size());
        self.send_event(output, value_of(*value));
        return 1;
    });
    fail = function([](LibraryFilter& self, const char* message) {
        const Error given(message == nullptr ? "it failed, and did not say why" : message);
        if (self.failure_ == nullptr) self.failure_ = std::make_exception_ptr(given);
        return static_cast<int>(PENSTOCK_FAILED);
    });
}

void LibraryFilter::end(int outcome, const char* function) {
    numbers_given_ += held_.size();
    held_.clear();
    texts_.clear();
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
    const bool may_end = std::string_view(function) == "fire";
    if (outcome == PENSTOCK_GO_ON || (may_end && outcome == PENSTOCK_ENDED)) return;
    const auto who = std::string(function) + "() of class " + in_quotes(of_->name);
    if (outcome == PENSTOCK_FAILED) throw Error(who + " failed, and did not say why: let it call fail()");
    throw Error(who + " returned " + std::to_string(outcome) + ": let it return PENSTOCK_GO_ON, " +
                (may_end ? "PENSTOCK_ENDED " : "") + "or PENSTOCK_FAILED");
}

LibraryFilter::Held& LibraryFilter::held(const penstock_buffer& buffer) {
    const auto number = buffer.number - numbers_given_;  // from 1
    if (number == 0 || number > held_.size())
        throw UsageError("it uses a buffer that this firing neither read nor made");
    return held_[number - 1];
}

void LibraryFilter::hold(Buffer<std::byte>&& buffer, ElementType element, penstock_buffer& shown) {
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

/// In a worker process, which finds the library by its path.
std::unique_ptr<streaming::AnyFilter> filter_in_worker(carried::Decoder& from) {
    const auto path = carried::decode<std::string>(from), name = carried::decode<std::string>(from),
               text = carried::decode<std::string>(from);
    const auto& classes = library_at(path).classes;
    const auto found = std::ranges::find(classes, name, &LibraryClass::name);
    if (found == classes.end() || text_of(**found) != text)
        throw LibraryRefused(path, LibraryRefused::Reason::bad_description,
                             "its class " + in_quotes(name) +
                                 " is another one than when the program loaded it: start the program again");
    return std::make_unique<LibraryFilter>(*found);
}

struct LibraryKind final : streaming::FilterKind {
    explicit LibraryKind(std::shared_ptr<const LibraryClass> given) : of(std::move(given)) {
        may_be_copied = of->filter.may_be_copied;
        on_any_input = of->filter.on_any_input;
    }
    std::unique_ptr<streaming::AnyFilter> make() const override { return std::make_unique<LibraryFilter>(of); }
    Maker write_down(carried::Encoder& to) const override {
        carried::encode(to, of->path);
        carried::encode(to, of->name);
        carried::encode(to, text_of(*of));
        return &filter_in_worker;
    }
    const std::shared_ptr<const LibraryClass> of;
};

}  // namespace

std::shared_ptr<const streaming::FilterKind> library_kind(std::shared_ptr<const LibraryClass> of) {
    return std::make_shared<LibraryKind>(std::move(of));
}

}  // namespace penstock::language
