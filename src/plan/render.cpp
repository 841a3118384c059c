#include "plan/plan.h"

namespace tokamak {

std::string display_name(std::span<const PlanRequest> requests, int index) {
  const std::string& name = requests[index].name;
  return name.empty() ? "request " + std::to_string(index) : name;
}

std::string to_string(const Plan& plan, std::span<const PlanRequest> requests) {
  const auto padded = [](std::string text, size_t width, bool right) {
    const std::string space(text.size() < width ? width - text.size() : 0, ' ');
    return right ? space + text : text + space;
  };
  std::string text = "arena " + std::to_string(plan.arena_bytes) + " bytes + outputs " +
                     std::to_string(plan.output_bytes) + " bytes; without reuse " +
                     std::to_string(plan.naive_bytes) + " bytes\n";
  for (size_t i = 0; i < requests.size(); ++i) {
    const PlanRequest& request = requests[i];
    const Placement& place = plan.placements[i];
    std::string where;
    switch (place.kind) {
      case Placement::Kind::arena:
        where = "arena + ";
        break;
      case Placement::Kind::output:
        where = "output ";
        break;
      case Placement::Kind::donated:
        where = "input ";
        break;
    }
    const std::string last = request.output ? "end" : std::to_string(request.last_step);
    text += "  " + padded("steps " + std::to_string(request.first_step) + ".." + last, 16, false) +
            padded(std::to_string(request.bytes), 12, true) + " bytes  " +
            padded(where + std::to_string(place.at), 18, false) + " " +
            display_name(requests, static_cast<int>(i));
    if (place.overwrites && place.overwrites->kind == PlanRequest::Operand::Kind::request) {
      text += ", in place of " + display_name(requests, place.overwrites->index);
    }
    text += '\n';
  }
  return text;
}

}  // namespace tokamak
