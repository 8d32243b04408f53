// What a function of a library's class is given: the buffers of its firing, and the functions of penstock_firing over
// them.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "language/library/component_library.hpp"
#include "penstock/described_filter.hpp"

namespace penstock::language {

/// What the firing needs of its filter.
class LibraryPorts {
  public:
    virtual DescribedInput& input_at(std::size_t number) = 0;
    virtual DescribedOutput& output_at(std::size_t number) = 0;
    virtual const streaming::AnySetting& setting_at(std::size_t number) const = 0;
    virtual const LibraryClass& of() const noexcept = 0;

  protected:
    ~LibraryPorts() = default;
};

/// Made once for each filter, and used anew by each of its functions.
class LibraryFiring : public penstock_firing {
  public:
    explicit LibraryFiring(LibraryPorts& ports);
    LibraryFiring(const LibraryFiring&) = delete;
    LibraryFiring& operator=(const LibraryFiring&) = delete;

    /// Lets all buffers go that were not written. Throws what went wrong since it was called last. `outcome`: what that
    /// function returned.
    void end(int outcome, const char* function);
    /// The exception that is handled now is thrown by end().
    void note_failure() noexcept;

  private:
    struct Held {
        Buffer<std::byte> buffer;
        ElementType element;
    };

    /// Does the work of one of the functions. What it throws is thrown by end(), and here the answer is "no".
    template <class Answer, class Work>
    static Answer answer(penstock_firing* firing, Work&& work) noexcept;
    Held& held(const penstock_buffer& buffer);
    void hold(Buffer<std::byte>&& buffer, ElementType element, penstock_buffer& shown);
    void require_dimensions(const char* port, const std::string& name, std::size_t wanted, std::size_t given) const;
    penstock_value value_of(const streaming::AnySetting& of);

    LibraryPorts& ports_;
    std::vector<Held> held_;
    /// Before this function was called: a buffer of an earlier one is not taken for one of this
    std::size_t numbers_given_ = 0;
    std::vector<std::unique_ptr<std::string>> texts_;
    std::exception_ptr failure_;
};

/// The value as the interface has it; `text` keeps its text.
penstock_value value_of(const SettingValue& value, std::string& text);

}  // namespace penstock::language
