// What an agent prints, line by line, so that it can be shown where the program is.
#pragma once

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
    /// What has been printed goes out, and stdout and stderr lead where they led before.
    void end() noexcept;

  private:
    CapturedOutput() = default;
    void read_all();

    OwnedDescriptor out_, error_, from_;  ///< the old ones; where what is printed is read
    std::mutex lock_;
    std::function<void(const std::string&)> whom_;
    std::thread thread_;
};

}  // namespace penstock::nodes
