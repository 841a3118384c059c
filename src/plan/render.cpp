#include "plan/plan.h"

namespace tokamak {

std::string display_name(std::span<const PlanRequest> requests, int index) {
  const std::string& name = requests[index].name;
  return name.empty() ? "request " + std::to_string(index) : name;
}

std::string plan_line(const std::string& when, int64_t bytes, const std::string& where,
                      const std::string& what) {
  const auto padded = [](std::string text, size_t width, bool right) {
    const std::string space(text.size() < width ? width - text.size() : 0, ' ');
    return right ? space + text : text + space;
  };
  return "  " + padded(when, 16, false) + padded(std::to_string(bytes), 12, true) + " bytes  " +
         padded(where, 18, false) + " " + what + '\n';
}

std::string to_string(const Plan& plan, std::span<const PlanRequest> requests) {
  return "arena " + std::to_string(plan.arena_bytes) + " bytes + outputs " +
         std::to_string(plan.output_bytes) + " bytes; without reuse " + std::to_string(plan.naive_bytes) +
         " bytes\n" + plan_lines(plan, requests);
}

std::string plan_lines(const Plan& plan, std::span<const PlanRequest> requests) {
  std::string text;
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
    std::string what = display_name(requests, static_cast<int>(i));
    if (place.overwrites && place.overwrites->kind == PlanRequest::Operand::Kind::request)
      what += ", in place of " + display_name(requests, place.overwrites->index);
    text += plan_line("steps " + std::to_string(request.first_step) + ".." + last, request.bytes,
                      where + std::to_string(place.at), what);
  }
  return text;
}

}  // namespace tokamak
