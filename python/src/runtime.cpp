#include "numpy_api.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "cache/disk_cache.h"
#include "codegen/llvm_version.h"
#include "location.h"
#include "reports.h"
#include "runtime/machine.h"
#include "runtime/profile_writer.h"
#include "runtime/profiler.h"
#include "runtime/roofline.h"
#include "support/checks.h"
#include "support/cpu.h"
#include "support/log.h"
#include "tokamak/memory.h"

namespace nb = nanobind;

namespace tokamak::python {
namespace {

nb::dict memory_stats_dict() {
  const MemoryUse use = memory_stats();
  nb::dict dict;
  dict["in_use"] = use.in_use;
  dict["cached"] = use.cached;
  dict["peak"] = use.peak;
  dict["cache_limit"] = use.cache_limit;
  dict["hits"] = use.hits;
  dict["misses"] = use.misses;
  return dict;
}

/// What code is made for, and what of the machine this process may use.
nb::dict machine_dict() {
  const Cpu& cpu = current_cpu();
  const MemoryLimits memory = memory_limits();
  nb::dict dict;
  dict["cpu"] = cpu.name;
  dict["vector_bytes"] = cpu.vector_bytes;
  dict["tiles"] = cpu.amx_bf16 && may_use_tiles();
  dict["l1_bytes"] = cpu.l1_bytes;
  dict["l2_bytes"] = cpu.l2_bytes;
  dict["l3_bytes"] = cpu.l3_bytes;
  dict["usable_cpus"] = usable_cpus();
  dict["memory_total"] = memory.total;
  dict["memory_available"] = memory.available;
  dict["llvm"] = nb::str(llvm_version().data(), llvm_version().size());
  return dict;
}

/// Sends the log to `handler(channel, message)`, which must not call back into a function that logs.
void set_log_handler(const nb::object& handler) {
  nb::object* kept = new nb::object(handler);  // leaked on purpose: the sink may outlive the interpreter
  logging::set_sink([kept](logging::Channel channel, std::string_view message) {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire gil;
    try {
      const std::string_view name = logging::to_string(channel);
      (*kept)(nb::str(name.data(), name.size()), nb::str(message.data(), message.size()));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("the log handler of tokamak");
    }
  });
}

void bind_profiler(nb::module_& module) {
  nb::class_<ProfileEvent>(module, "ProfileEvent",
                           "Something that took time: a kernel, a call, a compilation, an allocation.")
      .def(
          "__init__",
          [](ProfileEvent* event, std::string name, const std::string& category, int thread, int64_t start_ns,
             int64_t end_ns, int64_t bytes_read, int64_t bytes_written, double flops) {
            new (event) ProfileEvent{std::move(name), category_named(category),
                                     thread,          start_ns,
                                     end_ns,          bytes_read,
                                     bytes_written,   flops};
          },
          nb::arg("name"), nb::arg("category"), nb::arg("thread"), nb::arg("start_ns"), nb::arg("end_ns"),
          nb::arg("bytes_read"), nb::arg("bytes_written"), nb::arg("flops"))
      .def_ro("name", &ProfileEvent::name)
      .def_prop_ro("category",
                   [](const ProfileEvent& event) { return std::string(to_string(event.category)); })
      .def_ro("thread", &ProfileEvent::thread)
      .def_ro("start_ns", &ProfileEvent::start_ns)
      .def_ro("end_ns", &ProfileEvent::end_ns)
      .def_ro("bytes_read", &ProfileEvent::bytes_read)
      .def_ro("bytes_written", &ProfileEvent::bytes_written)
      .def_ro("flops", &ProfileEvent::flops);

  nb::class_<Profile>(module, "Profile")
      .def(
          "__init__",
          [](Profile* profile, std::vector<ProfileEvent> events, std::vector<std::string> threads,
             int64_t duration_ns, int64_t dropped) {
            new (profile) Profile{std::move(events), std::move(threads), duration_ns, dropped};
          },
          nb::arg("events"), nb::arg("threads"), nb::arg("duration_ns"), nb::arg("dropped"))
      .def_ro("events", &Profile::events)
      .def_ro("threads", &Profile::threads)
      .def_ro("duration_ns", &Profile::duration_ns)
      .def_ro("dropped", &Profile::dropped)
      .def("to_chrome_trace", &Profile::to_chrome_trace);

  nb::class_<ProfileSession>(module, "ProfileSession")
      .def(
          "__init__",
          [](ProfileSession* session, bool aside) {
            new (session) ProfileSession(aside ? ProfileSession::Kind::aside : ProfileSession::Kind::open);
          },
          nb::arg("aside") = false)
      .def("finish", &ProfileSession::finish, nb::call_guard<nb::gil_scoped_release>());

  nb::class_<ProfileWriter>(module, "ProfileWriter")
      .def(
          "__init__",
          [](ProfileWriter* writer, const ProfileSession& session, const nb::bytes& path) {
            new (writer) ProfileWriter(session, std::string(path.c_str(), path.size()));
          },
          nb::arg("session"), nb::arg("path"), nb::keep_alive<1, 2>())
      .def("close", &ProfileWriter::close, nb::call_guard<nb::gil_scoped_release>())
      .def("close_after_failure", &ProfileWriter::close_after_failure,
           nb::call_guard<nb::gil_scoped_release>());

  module.def("profiling", [] { return profiler::enabled(); });
  module.def("profile_clock_ns", &profiler::now_ns);
  module.def("record_compiling", [](const std::string& name, int64_t start_ns) {
    profiler::record(
        name, {.category = ProfileCategory::compile, .start_ns = start_ns, .end_ns = profiler::now_ns()});
  });
}

void bind_roofline(nb::module_& module) {
  nb::class_<Roofline::Level>(module, "RooflineLevel")
      .def_ro("name", &Roofline::Level::name)
      .def_ro("bytes", &Roofline::Level::bytes)
      .def_ro("bytes_per_second", &Roofline::Level::bytes_per_second);

  nb::class_<Roofline>(module, "Roofline")
      .def_ro("threads", &Roofline::threads)
      .def_ro("f32_flops", &Roofline::f32_flops)
      .def_ro("f64_flops", &Roofline::f64_flops)
      .def_ro("levels", &Roofline::levels);

  module.def("measure_roofline", measure_roofline, nb::arg("again") = false,
             nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_runtime(nb::module_& module) {
  bind_profiler(module);
  bind_roofline(module);
  module.def("memory_stats", memory_stats_dict);
  module.def("machine", machine_dict);
  module.def("trim_memory", [] {
    nb::gil_scoped_release release;
    return trim_memory();
  });
  module.def("num_threads", &num_threads);
  module.def("set_num_threads", [](int count) {
    nb::gil_scoped_release release;
    set_num_threads(count);
  });
  module.def("log_channels", &logging::channels);
  module.def("checks", [] { return to_string(current_checks()); });
  module.def("set_checks", [](const std::string& names) { set_checks(names); });
  module.def(
      "finish_disk_cache",
      [] {
        DiskCache::finish();
        DiskCache::log_notes();
      },
      nb::call_guard<nb::gil_scoped_release>());
  module.def("set_log_channels", [](const std::string& names) { logging::set_channels(names); });
  module.def("set_log_handler", set_log_handler);
  module.def("set_library_folders", &set_library_folders);
  module.def("user_line", [] {
    const SourceLocation where = user_python_line();
    return nb::make_tuple(where.file, where.line, where.function);
  });
}

}  // namespace tokamak::python
