// What the user may write behind --vdev=net_virtio_fit0, and what he reads when it is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "devargs.hpp"
#include "log.hpp"
#include "log_capture.hpp"

namespace fit {
namespace {

struct Outcome {
    int rc;
    Devargs args;
    std::string log;
};

Outcome parse(const char* text)
{
    LogCapture log;
    Outcome outcome{};
    outcome.args = Devargs{};
    outcome.rc = parse_devargs("net_virtio_fit0", text, outcome.args);
    outcome.log = log.text();
    return outcome;
}

Outcome parse(const std::string& text)
{
    return parse(text.c_str());
}

std::string mac_of(const Devargs& args)
{
    char text[RTE_ETHER_ADDR_FMT_SIZE];
    rte_ether_format_addr(text, sizeof(text), &args.mac);
    return text;
}

TEST(Devargs, path_alone_leaves_every_default)
{
    const Outcome o = parse("path=/run/vhost.sock");
    EXPECT_EQ(o.rc, 0);
    EXPECT_EQ(o.log, "");
    EXPECT_STREQ(o.args.path, "/run/vhost.sock");
    EXPECT_FALSE(o.args.has_mac);
    EXPECT_EQ(mac_of(o.args), "00:00:00:00:00:00");
    EXPECT_TRUE(o.args.mrg_rxbuf);
    EXPECT_EQ(o.args.queue_size, 256);
    EXPECT_EQ(o.args.ewma_weight, 64U);
    EXPECT_EQ(o.args.min_segment, 1518U);
}

TEST(Devargs, all_keys_in_any_order)
{
    for (const char* text :
         {"path=/s,mac=02:00:00:00:00:ab,mrg_rxbuf=0,queue_size=1024,ewma_weight=8,min_segment=300",
          "min_segment=300,ewma_weight=8,queue_size=1024,mrg_rxbuf=0,mac=02:00:00:00:00:AB,"
          "path=/s"}) {
        const Outcome o = parse(text);
        EXPECT_EQ(o.rc, 0);
        EXPECT_EQ(o.log, "");
        EXPECT_STREQ(o.args.path, "/s");
        EXPECT_TRUE(o.args.has_mac);
        EXPECT_EQ(mac_of(o.args), "02:00:00:00:00:AB");
        EXPECT_FALSE(o.args.mrg_rxbuf);
        EXPECT_EQ(o.args.queue_size, 1024);
        EXPECT_EQ(o.args.ewma_weight, 8U);
        EXPECT_EQ(o.args.min_segment, 300U);
    }
}

TEST(Devargs, ends_of_all_ranges_are_accepted)
{
    for (uint32_t n = 2; n <= 32768; n *= 2) {
        const Outcome o = parse("path=/s,queue_size=" + std::to_string(n));
        EXPECT_EQ(o.rc, 0) << n;
        EXPECT_EQ(o.args.queue_size, n);
    }
    for (uint32_t n = 1; n <= 1024; n *= 2) {
        const Outcome o = parse("path=/s,ewma_weight=" + std::to_string(n));
        EXPECT_EQ(o.rc, 0) << n;
        EXPECT_EQ(o.args.ewma_weight, n);
    }
    for (uint32_t n : {1U, 1518U, 65535U}) {
        const Outcome o = parse("path=/s,min_segment=" + std::to_string(n));
        EXPECT_EQ(o.rc, 0) << n;
        EXPECT_EQ(o.args.min_segment, n);
    }
    EXPECT_TRUE(parse("path=/s,mrg_rxbuf=1").args.mrg_rxbuf);
}

TEST(Devargs, path_of_107_bytes_fits_a_socket_address_and_one_of_108_does_not)
{
    const std::string longest = "/" + std::string(106, 'a');
    const Outcome fits = parse("path=" + longest);
    EXPECT_EQ(fits.rc, 0);
    EXPECT_EQ(fits.args.path, longest);
    EXPECT_EQ(fits.log, "");
    const Outcome over = parse("path=" + longest + "a");
    EXPECT_EQ(over.rc, -ENAMETOOLONG);
    EXPECT_EQ(over.log, "net_virtio_fit0: devarg path=" + longest +
                            "a: longer than the 107 bytes of a socket address; use a shorter path "
                            "or a symbolic link\n");
    EXPECT_STREQ(over.args.path, "");
}

struct Bad {
    const char* value;
    const char* why;
};

class DevargsBadValue : public testing::TestWithParam<std::pair<const char*, std::vector<Bad>>> {};

TEST_P(DevargsBadValue, is_refused_with_key_value_and_what_is_accepted)
{
    const auto& [key, values] = GetParam();
    for (const Bad& bad : values) {
        const std::string given = std::string(key) + "=" + bad.value;
        const Outcome o = parse("path=/s," + given);
        EXPECT_EQ(o.rc, -EINVAL) << given;
        EXPECT_EQ(o.log, "net_virtio_fit0: devarg " + given + ": " + bad.why + "\n");
    }
}

std::vector<Bad> all_with(const char* why, std::initializer_list<const char*> values)
{
    std::vector<Bad> list;
    for (const char* value : values)
        list.push_back({value, why});
    return list;
}

INSTANTIATE_TEST_SUITE_P(
    Keys, DevargsBadValue,
    testing::Values(
        std::pair("queue_size", all_with("not a power of two from 2 to 32768; use for example 256",
                                         {"0", "1", "3", "255", "257", "32767", "65536", "65538",
                                          "4294967298", "99999999999999999999", "-2", "+2", "0x100",
                                          "256 ", " 256", "2.0", "many", "256k"})),
        std::pair("ewma_weight", all_with("not a power of two from 1 to 1024; use for example 64",
                                          {"0", "3", "1023", "2048", "-1", "64x", "x"})),
        std::pair("min_segment",
                  all_with("not a number of bytes from 1 to 65535; use for example 1518",
                           {"0", "65536", "4294968814", "-1", "1518.5", "1k"})),
        std::pair("mrg_rxbuf", all_with("neither 0 nor 1", {"2", "-1", "on", "true", "01x", "10"})),
        std::pair("mac", all_with("not a unicast MAC address; write for example 02:00:00:00:00:01",
                                  {"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "01:00:00:00:00:00",
                                   "02:00:00:00:00", "02:00:00:00:00:01:02", "02:00:00:00:00:0g",
                                   "here"}))),
    [](const auto& info) { return std::string(info.param.first); });

TEST(Devargs, trouble_142_missing_path_names_the_next_step)
{
    for (const char* text : {"", "queue_size=512", static_cast<const char*>(nullptr)}) {
        const Outcome o = parse(text);
        EXPECT_EQ(o.rc, -EINVAL);
        EXPECT_EQ(o.log, "net_virtio_fit0: devarg path: missing; name the socket of the back end, "
                         "for example path=/run/vhost.sock\n");
    }
}

TEST(Devargs, unknown_key_is_named_with_those_that_are_known)
{
    for (const char* key : {"queues", "Path", "pathx", "pat", "queue-size"}) {
        const Outcome o = parse("path=/s," + std::string(key) + "=1");
        EXPECT_EQ(o.rc, -EINVAL);
        EXPECT_EQ(o.log, "net_virtio_fit0: devarg " + std::string(key) + ": unknown; known are " +
                             kDevargsHelp + "\n");
    }
}

TEST(Devargs, key_that_is_given_twice_is_refused_even_with_the_same_value)
{
    const Outcome o = parse("path=/s,queue_size=256,path=/s");
    EXPECT_EQ(o.rc, -EINVAL);
    EXPECT_EQ(o.log, "net_virtio_fit0: devarg path=/s: given twice; keep one\n");
}

TEST(Devargs, key_without_a_value_is_refused)
{
    for (const char* text : {"path", "path=", "path=/s,mac=", "path=/s,mac"}) {
        const Outcome o = parse(text);
        const std::string key = std::strstr(text, "mac") != nullptr ? "mac" : "path";
        EXPECT_EQ(o.rc, -EINVAL) << text;
        EXPECT_EQ(o.log, "net_virtio_fit0: devarg " + key + ": empty; write " + key +
                             "=<value>, known are " + kDevargsHelp + "\n");
    }
}

TEST(Devargs, only_the_first_error_is_logged)
{
    const Outcome o = parse("path=/s,queue_size=3,ewma_weight=3,unknown=1");
    EXPECT_EQ(o.rc, -EINVAL);
    EXPECT_EQ(o.log, "net_virtio_fit0: devarg queue_size=3: not a power of two from 2 to 32768; "
                     "use for example 256\n");
}

TEST(Devargs, more_pairs_than_the_parser_takes_are_an_error_with_one_line)
{
    std::string text = "path=/s";
    for (int i = 0; i < 64; ++i)
        text += ",queue_size=256";
    const Outcome o = parse(text);
    EXPECT_EQ(o.rc, -EINVAL);
    EXPECT_EQ(std::count(o.log.begin(), o.log.end(), '\n'), 1) << o.log;
}

TEST(Devargs, help_names_every_key_with_its_range)
{
    const std::string help = kDevargsHelp;
    for (const char* key : {"path=", "queue_size=<2..32768>", "mac=", "mrg_rxbuf=<0|1>",
                            "ewma_weight=<1..1024>", "min_segment="})
        EXPECT_NE(help.find(key), std::string::npos) << key;
}

TEST(Log, line_that_is_too_long_is_cut_and_still_ends)
{
    LogCapture log;
    log_line(RTE_LOG_ERR, log_driver, "net_virtio_fit0", "%s", std::string(5000, 'x').c_str());
    EXPECT_EQ(log.text(), "net_virtio_fit0: " + std::string(511, 'x') + "\n");
}

TEST(Log, error_names_port_what_thing_why_and_the_value_if_there_is_one)
{
    {
        LogCapture log;
        log_error(log_driver, "net_virtio_fit0", "start", Error(Errno::TimedOut, "reply", "none"));
        EXPECT_EQ(log.text(), "net_virtio_fit0: start: reply: none\n");
    }
    LogCapture log;
    log_error(log_driver, "net_virtio_fit0", "start",
              Error(Errno::OutOfRange, "sizing", "too large; given", -7));
    EXPECT_EQ(log.text(), "net_virtio_fit0: start: sizing: too large; given (-7)\n");
}

TEST(Log, level_of_each_type_is_the_users)
{
    ASSERT_EQ(rte_log_set_level_pattern("pmd.net.virtio_fit", RTE_LOG_CRIT), 0);
    {
        LogCapture log;
        log_line(RTE_LOG_ERR, log_driver, "net_virtio_fit0", "quiet");
        log_line(RTE_LOG_ERR, log_rx, "net_virtio_fit0", "loud");
        EXPECT_EQ(log.text(), "net_virtio_fit0: loud\n");
    }
    ASSERT_EQ(rte_log_set_level_pattern("pmd.net.virtio_fit", RTE_LOG_NOTICE), 0);
}

TEST(Log, types_have_the_documented_names)
{
    for (const auto& [type, name] :
         {std::pair(log_driver, "pmd.net.virtio_fit"), std::pair(log_rx, "pmd.net.virtio_fit.rx"),
          std::pair(log_tx, "pmd.net.virtio_fit.tx"),
          std::pair(log_vhost, "pmd.net.virtio_fit.vhost")}) {
        EXPECT_EQ(rte_log_get_level(static_cast<uint32_t>(type)), static_cast<int>(RTE_LOG_NOTICE));
        EXPECT_EQ(rte_log_register(name), type) << name;
    }
}

} // namespace
} // namespace fit
