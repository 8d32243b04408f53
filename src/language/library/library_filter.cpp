#include "language/library/library_filter.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "language/library/library_firing.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

class LibraryFilter final : public DescribedFilter, private LibraryPorts {
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
        const auto value = language::value_of(event.value, text);
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
            throw Error("save() of class " + in_quotes(of().name) +
                        " needs another number of bytes each time it is asked: let it say the same");
        last_state_bytes_ = bytes;
        to.bytes(state.data(), state.size());
    }
    void load_state(carried::Decoder& from) override {
        std::vector<std::byte> state(from.left());
        from.bytes(state.data(), state.size());
        if (functions().load(kept(), state.data(), state.size()) != PENSTOCK_GO_ON)
            throw Error("load() of class " + in_quotes(of().name) + " does not take what its save() wrote");
    }

  private:
    const penstock_class& functions() const noexcept { return of_->functions; }
    /// What the library keeps for this filter, made when it is first needed: graphs that are only looked at make
    /// nothing.
    void* kept() {
        if (kept_ == nullptr && functions().create != nullptr) {
            kept_ = functions().create(of_->table);
            if (kept_ == nullptr)
                throw Error("create() of class " + in_quotes(of().name) +
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
            firing_.note_failure();
        }
        firing_.end(outcome, name);
        return outcome;
    }

    DescribedInput& input_at(std::size_t number) override {
        require("input", number, inputs.size());
        return input(number);
    }
    DescribedOutput& output_at(std::size_t number) override {
        require("output", number, outputs.size());
        return output(number);
    }
    const streaming::AnySetting& setting_at(std::size_t number) const override {
        require("setting", number, settings.size());
        return *settings[number];
    }
    const LibraryClass& of() const noexcept override { return *of_; }
    void require(const char* what, std::size_t number, std::size_t count) const {
        if (number >= count)
            throw UsageError("class " + in_quotes(of().name) + " uses its " + what + " number " +
                             std::to_string(number) + ", counted from 0, and has " + std::to_string(count) +
                             " of them");
    }

    const std::shared_ptr<const LibraryClass> of_;
    LibraryFiring firing_;
    void* kept_ = nullptr;
    std::size_t last_state_bytes_ = 0;
};

/// In a worker process, which finds the library by its path.
std::unique_ptr<streaming::AnyFilter> filter_in_worker(carried::Decoder& from) {
    const auto path = carried::decode<std::string>(from), name = carried::decode<std::string>(from),
               text = carried::decode<std::string>(from);
    const auto& classes = library_at(path).classes;
    const auto found =
        std::find_if(classes.begin(), classes.end(), [&](const auto& each) { return each->name == name; });
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
