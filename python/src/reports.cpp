#include "reports.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tokamak/explanation.h"

namespace nb = nanobind;

namespace tokamak::python {
namespace {

void bind_location(nb::module_& module) {
  nb::class_<SourceLocation>(module, "SourceLocation")
      .def_ro("file", &SourceLocation::file)
      .def_ro("line", &SourceLocation::line)
      .def_ro("function", &SourceLocation::function)
      .def("__str__", [](const SourceLocation& where) { return to_string(where); })
      .def("__repr__", [](const SourceLocation& where) { return to_string(where); });
}

void bind_kernel(nb::module_& module) {
  nb::class_<KernelReport>(module, "KernelReport")
      .def_ro("name", &KernelReport::name)
      .def_ro("ops", &KernelReport::ops)
      .def_ro("graph", &KernelReport::graph)
      .def_ro("loops", &KernelReport::loops)
      .def_ro("schedule", &KernelReport::schedule)
      .def_ro("bytes_read", &KernelReport::bytes_read)
      .def_ro("bytes_written", &KernelReport::bytes_written)
      .def_ro("flops", &KernelReport::flops)
      .def_ro("lines", &KernelReport::lines)
      .def_prop_ro("llvm", &KernelReport::llvm)
      .def_prop_ro("asm", &KernelReport::assembly)
      .def("__repr__", [](const KernelReport& kernel) {
        std::string ops;
        for (const std::string& op : kernel.ops) ops += (ops.empty() ? "" : ", ") + op;
        return "<kernel " + kernel.name + ": " + ops + ">";
      });
}

void bind_parts(nb::module_& module) {
  nb::class_<MemoryReport>(module, "MemoryReport")
      .def_ro("peak_bytes", &MemoryReport::peak_bytes)
      .def_ro("naive_bytes", &MemoryReport::naive_bytes)
      .def_ro("arena_bytes", &MemoryReport::arena_bytes)
      .def_ro("output_bytes", &MemoryReport::output_bytes)
      .def_ro("plan", &MemoryReport::plan)
      .def("__str__", [](const MemoryReport& memory) { return memory.plan; });

  nb::class_<RefusedFusion>(module, "RefusedFusion")
      .def_ro("producer", &RefusedFusion::producer)
      .def_ro("consumer", &RefusedFusion::consumer)
      .def_ro("reason", &RefusedFusion::reason)
      .def("__repr__", [](const RefusedFusion& refused) {
        return "<" + refused.producer + " not into " + refused.consumer + ": " + refused.reason + ">";
      });

  nb::class_<StageTime>(module, "StageTime")
      .def_ro("stage", &StageTime::stage)
      .def_ro("milliseconds", &StageTime::milliseconds)
      .def("__repr__", [](const StageTime& time) {
        return "<" + time.stage + ": " + std::to_string(time.milliseconds) + " ms>";
      });
}

}  // namespace

void bind_reports(nb::module_& module) {
  bind_location(module);
  bind_kernel(module);
  bind_parts(module);
  nb::class_<Explanation>(module, "Explanation")
      .def_prop_ro("kernels", &Explanation::kernels)
      .def_prop_ro("graph", &Explanation::graph)
      .def_prop_ro("optimized", &Explanation::optimized)
      .def_prop_ro("memory", &Explanation::memory)
      .def_prop_ro("refused", &Explanation::refused)
      .def_prop_ro("times", &Explanation::times)
      .def_prop_ro("steps", &Explanation::steps)
      .def("__str__", &Explanation::to_string)
      .def("__repr__", &Explanation::to_string);
}

}  // namespace tokamak::python
