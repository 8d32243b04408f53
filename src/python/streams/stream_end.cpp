// The program's own ends of streams. Their ports outlive filter and run, so that a late use is refused and nothing
// worse.
#include "python/ranks/rank_session.hpp"
#include "python/streams/filter_spec.hpp"
#include "python/streams/stream_run.hpp"

namespace penstock::python {
namespace {

struct EndPorts {
    const ElementRow* element;
    const char* filter;  ///< its type
    std::optional<DescribedInput> input{};
    std::optional<DescribedOutput> output{};
};

class EndFilter final : public streaming::AnyFilter {
  public:
    explicit EndFilter(std::shared_ptr<EndPorts> ports) : ports_(std::move(ports)) {
        if (ports_->input) inputs.push_back(&*ports_->input), ports_->input->owner = this;
        if (ports_->output) outputs.push_back(&*ports_->output), ports_->output->owner = this;
    }
    bool fire() override { return false; }
    void* object() noexcept override { return this; }
    std::string_view type() const noexcept override { return ports_->filter; }

  private:
    std::shared_ptr<EndPorts> ports_;
};

/// Of one filter, which has one copy.
struct EndKind final : streaming::FilterKind {
    explicit EndKind(std::shared_ptr<EndPorts> of) : ports(std::move(of)) { external = true; }
    std::unique_ptr<streaming::AnyFilter> make() const override { return std::make_unique<EndFilter>(ports); }
    std::shared_ptr<EndPorts> ports;
};

std::vector<std::size_t> extents_of(nb::handle shape) {
    std::vector<std::size_t> extents(1);
    if (!nb::try_cast(shape, extents.front()) && !nb::try_cast(shape, extents))
        throw UsageError("the shape of a buffer is a number or a tuple of numbers, not " +
                         nb::cast<std::string>(nb::repr(shape)));
    return extents;
}

class StreamEnd {
  public:
    StreamEnd(const std::string& type, bool writes)
        : ports_(
              std::make_shared<EndPorts>(&element_of_streams(type), writes ? "penstock.Writer" : "penstock.Reader")) {
        const PortDescription port{writes ? "output" : "input", ports_->element->type};
        if (writes) ports_->output.emplace(port);
        else ports_->input.emplace(port);
    }
    PythonKind kind() const { return {std::make_shared<EndKind>(ports_)}; }

    nb::object make(nb::handle shape) const { return array_over(made(extents_of(shape)), *ports_->element, true); }
    void write(nb::object values, nb::handle sequence, nb::handle time, nb::handle user) const {
        RawBuffer buffer = buffer_of(std::move(values), *ports_->element,
                                     [&](auto extents) { return made({extents.begin(), extents.end()}); });
        set_tags(buffer, sequence, time, user);
        const nb::gil_scoped_release release;
        try {
            streaming::program_write(*ports_->output, buffer.release());
        } catch (const RunEnded&) {
            if (interrupted_in_filter()) throw Interrupted{};  // which is why the run was stopped
            throw;
        }
    }
    void close() const {
        without_interpreter([&] { streaming::program_close(*ports_->output); });
    }
    nb::object read(bool wait) const {
        auto* const block = without_interpreter([&] { return streaming::program_read(*ports_->input, wait); });
        if (block != nullptr) return array_over(RawBuffer(block), *ports_->element, false);
        if (interrupted_in_filter()) throw Interrupted{};
        return nb::none();
    }

  private:
    /// Without the interpreter's lock: another thread may be in the end, running filters that need it.
    RawBuffer made(const std::vector<std::size_t>& extents) const {
        const nb::gil_scoped_release release;
        auto* const block = streaming::program_make(*ports_->output, bytes_of(extents, ports_->element->type.size));
        penstock::set_extents(*block, extents);
        return RawBuffer(block);
    }

    std::shared_ptr<EndPorts> ports_;
};

}  // namespace

void bind_stream_end(nb::module_& module) {
    final_class<StreamEnd>(module, "StreamEnd", "What penstock.Writer and penstock.Reader stand on.")
        .def(nb::init<const std::string&, bool>())
        .def("kind", &StreamEnd::kind)
        .def("make", &StreamEnd::make)
        .def("write", &StreamEnd::write, nb::arg("values"), or_none("sequence"), or_none("time"), or_none("user"))
        .def("close", &StreamEnd::close)
        .def("read", &StreamEnd::read);
}

}  // namespace penstock::python
