// Filters whose firing is one call of a compiled function, without the interpreter's lock: inputs, outputs, settings,
// in this order.
#include "python/calls/body.hpp"
#include "python/streams/filter_spec.hpp"

namespace penstock::python {
namespace {

/// A setting as the word in which a parameter of this type is passed. Throws ArgumentError.
std::uint64_t word_of(const SettingValue& value, const Element& element, const std::string& body, int number) {
    const auto refuse = [&](const char* what) {
        throw ArgumentError(body, number, std::string("is a setting that ") + what);
    };
    if (element.kind == ElementKind::floating) {
        double given = 0;
        if (const auto* const integer = std::get_if<std::int64_t>(&value)) given = static_cast<double>(*integer);
        else if (const auto* const floating = std::get_if<double>(&value)) given = *floating;
        else refuse("is no number, but the body takes one");
        return element.bytes == sizeof(double) ? std::bit_cast<std::uint64_t>(given)
                                               : std::bit_cast<std::uint32_t>(static_cast<float>(given));
    }
    if (const auto* const truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
    const auto* const integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr) refuse("is no whole number, but the body takes one");
    const int bits = element.bytes * 8;
    const bool is_signed = element.kind == ElementKind::integer;
    if (element.kind == ElementKind::boolean && *integer != 0 && *integer != 1)
        refuse("does not fit the type that the body takes");
    if (!is_signed && *integer < 0) refuse("is negative, but the body takes a number without a sign");
    if (bits < 64 &&
        (is_signed ? (*integer >> (bits - 1) != 0 && *integer >> (bits - 1) != -1) : *integer >> bits != 0))
        refuse("does not fit the type that the body takes");
    return static_cast<std::uint64_t>(*integer);
}

class BodyFilter final : public SpecFilter {
  public:
    /// `plan`: the body's, for these ports and settings.
    BodyFilter(std::shared_ptr<const FilterSpec> given, HeldObject body, const CallPlan* plan)
        : SpecFilter(std::move(given)), body_(std::move(body)), plan_(*plan), words_(plan->counts().total() + 1) {
        words_[0] = nb::inst_ptr<Body>(*body_)->address();
    }

    bool fire() override {
        Firing firing = begin();
        if (spec().in_place)
            for (std::size_t i = 0; i < inputs.size(); ++i)
                firing.results.emplace_back(i, std::move(firing.inputs[i].front()));
        else
            for (std::size_t o = 0; o < outputs.size(); ++o) firing.results.emplace_back(o, make(o, firing));
        const auto& slots = plan_.slots();
        std::size_t next = 0;
        if (!spec().in_place)
            for (auto& buffers : firing.inputs) place(slots[next++], buffers.front(), buffers.front().span().data());
        for (auto& [o, buffer] : firing.results) {
            const auto* const values = buffer.edit().data();
            place(slots[next++], buffer, values);
        }
        for (std::size_t i = 0; i < settings.size(); ++i, ++next)
            words_[slots[next].words[0]] =
                word_of(setting(i), slots[next].element, plan_.name(), static_cast<int>(next) + 1);
        plan_.run(words_.data());
        write(firing);
        return true;
    }

  private:
    /// Rows are rows, and all that is in one are its columns.
    void place(const Slot& slot, const RawBuffer& buffer, const std::byte* values) {
        std::size_t count = 1;
        for (std::size_t d = 0; d < buffer.rank(); ++d) count *= buffer.extent(d);
        words_[slot.words[0]] = reinterpret_cast<std::uint64_t>(values);
        if (slot.form == Slot::Form::contiguous) {
            words_[slot.words[1]] = count;
            return;
        }
        const std::size_t rows = buffer.rank() == 1 ? 1 : buffer.extent(0);
        words_[slot.words[1]] = rows;
        words_[slot.words[2]] = words_[slot.words[3]] = rows == 0 ? 0 : count / rows;
    }

    HeldObject body_;
    const CallPlan& plan_;
    std::vector<std::uint64_t> words_;
};

}  // namespace

std::shared_ptr<streaming::FilterKind> body_kind(std::shared_ptr<const FilterSpec> spec, nb::object body) {
    std::vector<ArgumentKind> kinds(spec->inputs.size(), spec->in_place ? ArgumentKind::inout : ArgumentKind::in);
    auto elements = spec->inputs;
    if (!spec->in_place) {
        kinds.resize(kinds.size() + spec->outputs.size(), ArgumentKind::out);
        elements.insert(elements.end(), spec->outputs.begin(), spec->outputs.end());
    }
    const auto& settings = spec->description.settings;
    kinds.resize(kinds.size() + settings.size(), ArgumentKind::scalar);
    const CallPlan& plan = nb::inst_ptr<Body>(body)->procedure().plan(kinds);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const Slot& slot = plan.slots()[i];
        const int number = static_cast<int>(i) + 1;
        if (i >= elements.size())
            static_cast<void>(word_of(settings[i - elements.size()].value, slot.element, plan.name(), number));
        else if (slot.element.kind != ElementKind::other && slot.element != elements[i]->element)
            throw ArgumentError(plan.name(), number,
                                "is a port of " + std::string(elements[i]->name) + ", but the body takes " +
                                    std::string(name_of(slot.element)));
    }
    return std::make_shared<SpecKind<BodyFilter, HeldObject, const CallPlan*>>(std::move(spec), hold(std::move(body)),
                                                                               &plan);
}

}  // namespace penstock::python
