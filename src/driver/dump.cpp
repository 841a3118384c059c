#include "driver/dump.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "ir/text.h"
#include "support/log.h"

namespace tokamak {
namespace {

namespace fs = std::filesystem;

constexpr PrintOptions kFormat{.types = true, .locations = true, .max_constant_elements = 16};

/// The program that is compiled must not suffer from what is wrong with the folder.
void report_once(const std::string& problem) {
  static std::atomic<bool> reported = false;
  if (!reported.exchange(true)) std::fprintf(stderr, "tokamak: TOKAMAK_DUMP_DIR: %s\n", problem.c_str());
}

/// Characters that are safe in names of files and in links.
std::string as_file_name(std::string_view text) {
  constexpr size_t kMost = 60;
  std::string name(text.substr(0, kMost));
  for (char& c : name) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!is_plain) c = '_';
  }
  return name;
}

std::string as_html(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == '<') {
      html += "&lt;";
    } else if (c == '&') {
      html += "&amp;";
    } else {
      html += c;
    }
  }
  return html;
}

std::string numbered(size_t number, size_t digits) {
  std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

std::string page_head(const std::string& title) {
  return "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
         title +
         "</title>\n<style>:root{color-scheme:light dark}body{font:15px system-ui,sans-serif;margin:1.5em "
         "auto;"
         "max-width:70em;padding:0 "
         "1em}pre{overflow-x:auto;font-size:13px}summary{cursor:pointer;padding:.2em;"
         "overflow-wrap:anywhere}"
         "</style>\n<h1>" +
         title + "</h1>\n";
}

bool write_file(const fs::path& path, const std::string& text, std::ios::openmode mode = std::ios::trunc) {
  std::ofstream file(path, std::ios::binary | std::ios::out | mode);
  file << text;
  file.flush();
  if (!file) report_once("cannot write " + path.string());
  return static_cast<bool>(file);
}

size_t highest_number(const fs::path& root) {
  size_t highest = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    highest = std::max<size_t>(highest, std::strtoul(entry.path().filename().c_str(), nullptr, 10));
  }
  return highest;
}

/// A folder that nobody else has, also when several processes write to the same root. Empty when there is
/// none.
fs::path new_folder(const fs::path& root, const std::string& name) {
  std::error_code error;
  fs::create_directories(root, error);
  static std::atomic<size_t> next = highest_number(root) + 1;
  while (!error) {
    const fs::path folder = root / (numbered(next.fetch_add(1), 3) + "-" + name);
    if (fs::create_directory(folder, error)) return folder;
  }
  report_once("cannot make a folder in " + root.string() + ": " + error.message());
  return {};
}

const char* root_folder() {
  static const char* const root = std::getenv("TOKAMAK_DUMP_DIR");
  return root;
}

}  // namespace

bool ProgramDump::is_wanted() {
  const char* const root = root_folder();
  return root != nullptr && *root != '\0' && !logging::is_silent();
}

std::unique_ptr<ProgramDump> ProgramDump::begin(const Graph& traced) {
  if (!is_wanted()) return nullptr;
  const char* const root = root_folder();
  const fs::path folder = new_folder(root, as_file_name(traced.name()));
  if (folder.empty()) return nullptr;
  return std::unique_ptr<ProgramDump>(new ProgramDump(root, folder, traced));
}

ProgramDump::ProgramDump(fs::path root, fs::path folder, const Graph& traced)
    : root_(std::move(root)), folder_(std::move(folder)), function_(traced.name()), names_(traced) {
  add_text("traced", print(traced, kFormat));
}

void ProgramDump::add(std::string name, std::string text) {
  write_file(folder_ / name, text);
  files_.push_back({std::move(name), std::move(text)});
}

void ProgramDump::add_graph(std::string_view stage, const Graph& graph) {
  const std::vector<std::string> names = names_.of(graph);
  PrintOptions format = kFormat;
  format.names = &names;
  add_text(stage, print(graph, format));
}

void ProgramDump::add_text(std::string_view stage, std::string text) {
  if (text == last_graph_) return;
  last_graph_ = text;
  add(numbered(graphs_++, 2) + "-" + std::string(stage) + ".tok", std::move(text));
}

void ProgramDump::after_pass(std::string_view pass, const Graph& graph) { add_graph(pass, graph); }

void ProgramDump::add_kernel(size_t number, const KernelReport& kernel) {
  const std::string folder = "kernel-" + std::to_string(number) + "-" + as_file_name(kernel.name);
  std::error_code error;
  fs::create_directory(folder_ / folder, error);
  if (error) return report_once("cannot make " + (folder_ / folder).string() + ": " + error.message());
  add(folder + "/graph.tok", kernel.graph);
  add(folder + "/schedule.txt", kernel.schedule);
  add(folder + "/loops.txt", kernel.loops);
  add(folder + "/kernel.ll", kernel.llvm());
  add(folder + "/kernel.s", kernel.assembly());
}

void ProgramDump::finish(const Explanation& explanation) {
  add("summary.txt", explanation.to_string());
  std::string steps;
  for (const std::string& step : explanation.steps()) steps += step + "\n";
  add("steps.txt", steps);
  add("memory.txt", explanation.memory().plan);
  for (size_t i = 0; i < explanation.kernels().size(); ++i) add_kernel(i, explanation.kernels()[i]);
  write_file(folder_ / "index.html", page());

  std::string line;
  std::error_code error;
  if (!fs::exists(root_ / "index.html", error)) line = page_head("Compiled programs");
  const std::string folder = folder_.filename().string();
  line += "<p><a href=\"" + folder + "/index.html\">" + folder + "</a> " + as_html(function_) + ": " +
          std::to_string(explanation.kernels().size()) +
          (explanation.kernels().size() == 1 ? " kernel" : " kernels") + "</p>\n";
  write_file(root_ / "index.html", line, std::ios::app);
}

std::string ProgramDump::page() const {
  std::string html = page_head(as_html(function_)) + "<p><a href=\"../index.html\">all programs</a></p>\n";
  for (const File& file : files_) {
    html += "<details" + std::string(file.name == "summary.txt" ? " open" : "") + "><summary>" + file.name +
            "</summary>\n<pre>" + as_html(file.text) + "</pre>\n<p><a href=\"" + file.name +
            "\">as a file</a></p></details>\n";
  }
  return html;
}

}  // namespace tokamak
