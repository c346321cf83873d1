#include "devargs.hpp"

#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>

#include <rte_kvargs.h>

#include "log.hpp"
#include "sizing/ewma.hpp"
#include "virtq/split_layout.hpp"

namespace fit {
namespace {

struct Number {
    bool ok;
    uint32_t value;
};

Number parse_number(std::string_view text, uint32_t least, uint32_t most)
{
    uint32_t value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
    return {whole && value >= least && value <= most, value};
}

// A setter returns 0, or a negative errno with `why` saying what is accepted.
using Setter = int (*)(Devargs& out, const char* value, const char*& why);

int set_path(Devargs& out, const char* value, const char*& why)
{
    const size_t length = std::strlen(value);
    if (length >= Devargs::kPathBytes) {
        why =
            "longer than the 107 bytes of a socket address; use a shorter path or a symbolic link";
        return -ENAMETOOLONG;
    }
    std::memcpy(out.path, value, length + 1);
    return 0;
}

int set_mac(Devargs& out, const char* value, const char*& why)
{
    why = "not a unicast MAC address; write for example 02:00:00:00:00:01";
    out.has_mac = true;
    return rte_ether_unformat_addr(value, &out.mac) == 0 &&
                   rte_is_valid_assigned_ether_addr(&out.mac)
               ? 0
               : -EINVAL;
}

int set_mrg_rxbuf(Devargs& out, const char* value, const char*& why)
{
    why = "neither 0 nor 1";
    const Number n = parse_number(value, 0, 1);
    out.mrg_rxbuf = n.value == 1;
    return n.ok ? 0 : -EINVAL;
}

int set_queue_size(Devargs& out, const char* value, const char*& why)
{
    why = "not a power of two from 2 to 32768; use for example 256";
    const Number n = parse_number(value, 2, SplitLayout::kMaxSize);
    out.queue_size = static_cast<uint16_t>(n.value);
    return n.ok && SplitLayout::valid_size(n.value) ? 0 : -EINVAL;
}

int set_ewma_weight(Devargs& out, const char* value, const char*& why)
{
    why = "not a power of two from 1 to 1024; use for example 64";
    const Number n = parse_number(value, 1, 1024);
    out.ewma_weight = n.value;
    return n.ok && Ewma::valid_weight(n.value) ? 0 : -EINVAL;
}

int set_min_segment(Devargs& out, const char* value, const char*& why)
{
    why = "not a number of bytes from 1 to 65535; use for example 1518";
    const Number n = parse_number(value, 1, 65535);
    out.min_segment = n.value;
    return n.ok ? 0 : -EINVAL;
}

struct Key {
    const char* name;
    Setter set;
};

constexpr Key kKeys[] = {
    {"path", set_path},
    {"mac", set_mac},
    {"mrg_rxbuf", set_mrg_rxbuf},
    {"queue_size", set_queue_size},
    {"ewma_weight", set_ewma_weight},
    {"min_segment", set_min_segment},
};

const Key* find_key(std::string_view name)
{
    for (const Key& key : kKeys) {
        if (name == key.name)
            return &key;
    }
    return nullptr;
}

int apply(const char* name, const rte_kvargs& args, unsigned index, Devargs& out)
{
    const rte_kvargs_pair& pair = args.pairs[index];
    const Key* key = find_key(pair.key);
    if (key == nullptr) {
        log_line(RTE_LOG_ERR, log_driver, name, "devarg %s: unknown; known are %s", pair.key,
                 kDevargsHelp);
        return -EINVAL;
    }
    for (unsigned i = 0; i < index; ++i) {
        if (std::strcmp(args.pairs[i].key, pair.key) == 0) {
            log_line(RTE_LOG_ERR, log_driver, name, "devarg %s=%s: given twice; keep one", pair.key,
                     pair.value == nullptr ? "" : pair.value);
            return -EINVAL;
        }
    }
    if (pair.value == nullptr || pair.value[0] == '\0') {
        log_line(RTE_LOG_ERR, log_driver, name, "devarg %s: empty; write %s=<value>, known are %s",
                 pair.key, pair.key, kDevargsHelp);
        return -EINVAL;
    }
    const char* why = "";
    const int rc = key->set(out, pair.value, why);
    if (rc != 0)
        log_line(RTE_LOG_ERR, log_driver, name, "devarg %s=%s: %s", pair.key, pair.value, why);
    return rc;
}

} // namespace

int parse_devargs(const char* name, const char* text, Devargs& out)
{
    // The keys are checked here and not by kvargs, which does not say which one it refuses.
    rte_kvargs* args = rte_kvargs_parse(text == nullptr ? "" : text, nullptr);
    if (args == nullptr) {
        log_line(RTE_LOG_ERR, log_driver, name,
                 "devargs \"%s\": not a list of key=value; known are %s", text, kDevargsHelp);
        return -EINVAL;
    }
    int rc = 0;
    for (unsigned i = 0; i < args->count && rc == 0; ++i)
        rc = apply(name, *args, i, out);
    rte_kvargs_free(args);
    if (rc == 0 && out.path[0] == '\0') {
        log_line(RTE_LOG_ERR, log_driver, name,
                 "devarg path: missing; name the socket of the back end, for example "
                 "path=/run/vhost.sock");
        rc = -EINVAL;
    }
    return rc;
}

} // namespace fit
