// One Ethernet port from configuration to close.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rte_ethdev.h>

#include "counters.hpp"
#include "options.hpp"
#include "pool.hpp"

namespace fit::testpmd {

class Port {
  public:
    // Configures the device and decides which classes of the ladder it can use. Throws UserError.
    Port(uint16_t id, const Options& options);
    ~Port();
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    // Sets up the queues and starts. `pools` are those of classes(), in that order. Throws
    // UserError.
    void start(std::span<rte_mempool* const> pools);

    // Stops and closes; false when the driver refused, which is printed.
    [[nodiscard]] bool close();

    [[nodiscard]] uint16_t id() const { return id_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const char* driver() const { return info_.driver_name; }
    [[nodiscard]] const rte_ether_addr& mac() const { return mac_; }
    [[nodiscard]] std::string mac_text() const;
    [[nodiscard]] uint16_t queues() const { return queues_; }
    [[nodiscard]] uint16_t rxd() const { return rxd_; }
    [[nodiscard]] uint16_t txd() const { return txd_; }
    // The longest frame that the MTU allows, with two VLAN tags.
    [[nodiscard]] uint32_t mtu_frame() const;
    // Indices into Options::segments, ascending. One entry: the queue gets a single pool.
    [[nodiscard]] const std::vector<size_t>& classes() const { return classes_; }
    [[nodiscard]] QueueCounters& counters(uint16_t queue) { return counters_[queue]; }
    [[nodiscard]] const QueueCounters& counters(uint16_t queue) const { return counters_[queue]; }

    // Throws UserError when a frame of `segments` mbufs cannot be sent.
    void require_tx_segments(uint32_t segments, uint16_t frame, uint16_t room) const;

    // Two or three lines for the user: what the port is and what was set up.
    [[nodiscard]] std::string description(std::span<const uint16_t> rooms) const;

  private:
    [[noreturn]] void fail(const std::string& what, int code, const char* next_step) const;
    void complain(const char* what, int code) const;
    void check_limits(const Options& options) const;
    void configure(const Options& options);
    void choose_classes(const Options& options);
    void setup_rx(uint16_t queue, std::span<rte_mempool* const> pools);
    void watch_events();
    void drain();

    uint16_t id_;
    std::string name_;
    rte_eth_dev_info info_{};
    rte_eth_conf conf_{};
    rte_ether_addr mac_{};
    uint16_t queues_;
    uint16_t rxd_ = 0;
    uint16_t txd_ = 0;
    uint16_t mtu_ = 0;
    bool started_ = false;
    bool closed_ = false;
    std::vector<size_t> classes_;
    std::vector<QueueCounters> counters_;
};

} // namespace fit::testpmd
