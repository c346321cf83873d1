#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <rte_log.h>

namespace fit {

// Everything logged while it lives.
class LogCapture {
  public:
    LogCapture() : stream_(open_memstream(&text_, &size_)) { rte_openlog_stream(stream_); }
    LogCapture(const LogCapture&) = delete;
    LogCapture& operator=(const LogCapture&) = delete;
    ~LogCapture()
    {
        rte_openlog_stream(nullptr);
        std::fclose(stream_);
        std::free(text_);
    }
    std::string text()
    {
        std::fflush(stream_);
        return {text_, size_};
    }

  private:
    char* text_ = nullptr;
    size_t size_ = 0;
    FILE* stream_;
};

} // namespace fit
