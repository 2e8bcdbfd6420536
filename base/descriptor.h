// A file descriptor that is closed with its owner. Only base/'s sources for Linux include this.
#pragma once

#include <unistd.h>

#include <utility>

namespace weir {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}  // -1: none
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace weir
