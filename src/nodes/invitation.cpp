#include "nodes/invitation.hpp"

#include <sstream>

#include "penstock/error.hpp"

namespace penstock::nodes {

std::string Invitation::text() const {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << "penstock1 " << program.text() << ' ' << secret.text() << ' ' << run << ' ' << site << ' ' << generation
         << ' ' << encrypted << ' ' << patience.count() << ' ' << targets << ' ' << static_cast<int>(isolation) << ' '
         << pinned << ' ' << name;
    return text.str();
}

Invitation Invitation::of_text(const std::string& text) {
    std::istringstream from(text);
    from.imbue(std::locale::classic());
    Invitation made;
    std::string version, address, secret;
    std::int64_t patience = 0;
    int isolation = 0;
    from >> version >> address >> secret >> made.run >> made.site >> made.generation >> made.encrypted >> patience >>
        made.targets >> isolation >> made.pinned >> made.name;
    if (!from || version != "penstock1" || made.site == 0 || patience <= 0 || made.targets < -1)
        throw UsageError("this is no invitation to a cluster: give the whole line that the program has printed");
    made.program = wire::Address::of_text(address);
    made.secret = wire::Secret::of_text(secret);
    made.patience = std::chrono::milliseconds(patience);
    made.isolation = static_cast<Isolation>(isolation != 0);
    return made;
}

}  // namespace penstock::nodes
