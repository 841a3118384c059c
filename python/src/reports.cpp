#include "reports.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "driver/prediction.h"
#include "driver/report_json.h"
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

std::string place_name(BufferReport::Place place) {
  switch (place) {
    case BufferReport::Place::arena:
      return "arena";
    case BufferReport::Place::output:
      return "output";
    case BufferReport::Place::argument:
      return "argument";
    case BufferReport::Place::scratch:
      return "scratch";
  }
  return "";
}

void bind_operation(nb::module_& module) {
  nb::class_<OperationReport>(module, "OperationReport")
      .def_ro("name", &OperationReport::name)
      .def_ro("op", &OperationReport::op)
      .def_ro("text", &OperationReport::text)
      .def_prop_ro("type", [](const OperationReport& report) { return to_string(report.type); })
      .def_prop_ro("bytes", [](const OperationReport& report) { return report.type.bytes(); })
      .def_ro("inputs", &OperationReport::inputs)
      .def_ro("line", &OperationReport::line)
      .def_ro("is_view", &OperationReport::is_view)
      .def_ro("is_output", &OperationReport::is_output)
      .def_ro("is_dead", &OperationReport::is_dead)
      .def_ro("is_written", &OperationReport::is_written)
      .def_ro("kernels", &OperationReport::kernels)
      .def_prop_ro("becomes",
                   [](const OperationReport& report) {
                     return report.becomes < 0 ? std::nullopt : std::optional(report.becomes);
                   })
      .def_prop_ro("done_by",
                   [](const OperationReport& report) {
                     return report.done_by < 0 ? std::nullopt : std::optional(report.done_by);
                   })
      .def("__repr__", [](const OperationReport& report) {
        return "<" + report.name + " = " + report.text + " : " + to_string(report.type) + ">";
      });

  nb::class_<PassReport>(module, "PassReport")
      .def_ro("name", &PassReport::name)
      .def_ro("summary", &PassReport::summary)
      .def_ro("round", &PassReport::round)
      .def_ro("milliseconds", &PassReport::milliseconds)
      .def_ro("operations_before", &PassReport::operations_before)
      .def_ro("operations_after", &PassReport::operations_after)
      .def_ro("changed", &PassReport::changed)
      .def_ro("graph", &PassReport::graph)
      .def("__repr__", [](const PassReport& report) {
        return "<" + report.name + (report.changed ? ">" : ", changed nothing>");
      });
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
      .def_ro("operations", &KernelReport::operations)
      .def_ro("reads", &KernelReport::reads)
      .def_ro("writes", &KernelReport::writes)
      .def_prop_ro("dtype", [](const KernelReport& kernel) { return std::string(name_of(kernel.dtype)); })
      .def_ro("work", &KernelReport::work)
      .def_ro("predicted_ns", &KernelReport::predicted_ns)
      .def_ro("tasks", &KernelReport::tasks)
      .def_ro("step", &KernelReport::step)
      .def_ro("has_code", &KernelReport::has_code)
      .def_ro("from_disk_cache", &KernelReport::from_disk_cache)
      .def_prop_ro("llvm", &KernelReport::llvm, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("asm", &KernelReport::assembly, nb::call_guard<nb::gil_scoped_release>())
      .def("__repr__", [](const KernelReport& kernel) {
        std::string ops;
        for (const std::string& op : kernel.ops) ops += (ops.empty() ? "" : ", ") + op;
        return "<kernel " + kernel.name + ": " + ops + ">";
      });
}

void bind_memory(nb::module_& module) {
  nb::class_<BufferReport>(module, "BufferReport")
      .def_ro("name", &BufferReport::name)
      .def_ro("bytes", &BufferReport::bytes)
      .def_ro("first_kernel", &BufferReport::first_kernel)
      .def_ro("last_kernel", &BufferReport::last_kernel)
      .def_prop_ro("place", [](const BufferReport& report) { return place_name(report.place); })
      .def_ro("at", &BufferReport::at)
      .def_prop_ro("in_place_of",
                   [](const BufferReport& report) {
                     return report.in_place_of < 0 ? std::optional<int>() : report.in_place_of;
                   })
      .def("__repr__", [](const BufferReport& report) {
        return "<" + report.name + ": " + std::to_string(report.bytes) + " bytes, " +
               place_name(report.place) + " " + std::to_string(report.at) + ">";
      });

  nb::class_<MemoryReport>(module, "MemoryReport")
      .def_ro("peak_bytes", &MemoryReport::peak_bytes)
      .def_ro("naive_bytes", &MemoryReport::naive_bytes)
      .def_ro("arena_bytes", &MemoryReport::arena_bytes)
      .def_ro("output_bytes", &MemoryReport::output_bytes)
      .def_ro("scratch_bytes", &MemoryReport::scratch_bytes)
      .def_ro("plan", &MemoryReport::plan)
      .def_ro("buffers", &MemoryReport::buffers)
      .def("__str__", [](const MemoryReport& memory) { return memory.plan; });

  nb::class_<LayoutReport>(module, "LayoutReport")
      .def_ro("value", &LayoutReport::value)
      .def_prop_ro(
          "kernel",
          [](const LayoutReport& report) { return report.kernel < 0 ? std::optional<int>() : report.kernel; })
      .def_ro("decision", &LayoutReport::decision)
      .def_ro("bytes_copied", &LayoutReport::bytes_copied)
      .def("__repr__",
           [](const LayoutReport& report) { return "<" + report.value + ": " + report.decision + ">"; });
}

void bind_parts(nb::module_& module) {
  nb::class_<RefusedFusion>(module, "RefusedFusion")
      .def_ro("producer", &RefusedFusion::producer)
      .def_ro("consumer", &RefusedFusion::consumer)
      .def_ro("reason", &RefusedFusion::reason)
      .def_ro("times", &RefusedFusion::times)
      .def_ro("producer_operation", &RefusedFusion::producer_operation)
      .def_ro("consumer_operation", &RefusedFusion::consumer_operation)
      .def_ro("line", &RefusedFusion::line)
      .def("__str__", [](const RefusedFusion& refused) { return to_string(refused); })
      .def("__repr__",
           [](const RefusedFusion& refused) { return "<not fused: " + to_string(refused) + ">"; });

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
  bind_operation(module);
  bind_kernel(module);
  bind_memory(module);
  bind_parts(module);
  module.def("predicted_seconds", predicted_seconds, nb::arg("kernel"), nb::arg("roofline"));
  nb::class_<Explanation>(module, "Explanation")
      .def_prop_ro("kernels", &Explanation::kernels)
      .def_prop_ro("graph", &Explanation::graph)
      .def_prop_ro("optimized", &Explanation::optimized)
      .def_prop_ro("traced", &Explanation::traced)
      .def_prop_ro("operations", &Explanation::operations)
      .def_prop_ro("passes", &Explanation::passes)
      .def_prop_ro("memory", &Explanation::memory)
      .def_prop_ro("layouts", &Explanation::layouts)
      .def_prop_ro("refused", &Explanation::refused)
      .def_prop_ro("times", &Explanation::times)
      .def_prop_ro("steps", &Explanation::steps)
      .def_prop_ro("computed", &Explanation::computed)
      .def_prop_ro("dead", &Explanation::dead)
      .def_prop_ro("running", &Explanation::running)
      .def_prop_ro("purpose", &Explanation::purpose)
      .def_prop_ro("headline", &Explanation::headline)
      .def(
          "to_json",
          [](const Explanation& explanation, const std::string& function,
             const std::vector<std::string>& shown) {
            return explanation_json(function, explanation, shown);
          },
          nb::arg("function"), nb::arg("shown"), nb::call_guard<nb::gil_scoped_release>())
      .def("__str__", &Explanation::to_string)
      .def("__repr__", &Explanation::to_string);
}

}  // namespace tokamak::python
