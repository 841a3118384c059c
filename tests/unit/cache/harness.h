#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tokamak {

constexpr uid_t kNobody = 65534;

/// A folder that is gone after the test.
class TemporaryFolder : public ::testing::Test {
 protected:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tokamak-cache-XXXXXX").string();
    base_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(base_, ignored);
  }

  /// Where the cache is to be; not there yet.
  std::string path() const { return base_ + "/cache"; }
  const std::string& base() const { return base_; }

  std::string file(const std::string& name) const { return path() + "/" + name; }
  static std::string content_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& file, const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
  }
  static mode_t mode_of(const std::string& file) {
    struct stat status {};
    return lstat(file.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }

 private:
  std::string base_;
};

}  // namespace tokamak
