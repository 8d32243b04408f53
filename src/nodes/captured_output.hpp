// What an agent prints, line by line, so that it can be shown where the program is.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "penstock/detail/machine/owned_descriptor.hpp"

namespace penstock::nodes {

class CapturedOutput {
  public:
    /// From here on stdout and stderr of this process lead here. Throws SystemError.
    static std::shared_ptr<CapturedOutput> begin();
    ~CapturedOutput() { end(); }

    /// Who gets the lines; nobody: they go to the stderr that the process was started with.
    void send_to(std::function<void(const std::string&)> whom);
    /// Waits until what has been printed has been sent.
    void drain();
    /// What has been printed goes out, and stdout and stderr lead where they led before.
    void end() noexcept;

  private:
    CapturedOutput() = default;
    void read_all();

    OwnedDescriptor out_, error_, from_;  ///< the old ones; where what is printed is read
    std::mutex draining_, lock_;
    std::condition_variable marked_;
    std::uint64_t asked_ = 0, marks_ = 0;  ///< marks in what is printed: written by drain(), and seen
    std::function<void(const std::string&)> whom_;
    std::thread thread_;
};

}  // namespace penstock::nodes
