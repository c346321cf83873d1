#include "fake/net_device.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "hand_made_ring.hpp"

namespace fit::fake {
namespace {

// `n` bytes 1, 2, 3, ...
std::vector<std::byte> frame_of(size_t n)
{
    std::vector<std::byte> frame;
    for (size_t i = 1; i <= n; ++i)
        frame.push_back(static_cast<std::byte>(i));
    return frame;
}

// Four buffers of 16 bytes each, at offsets 0, 32, 64 and 96 of the buffer memory; heads 0 to 3.
struct ReceiveRing : HandMadeRing {
    explicit ReceiveRing(uint8_t available = 4, uint8_t flags = 0x02)
    {
        for (uint8_t slot = 0; slot < 4; ++slot)
            put(descriptor, 16 * slot,
                {static_cast<uint8_t>(32 * slot), 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, 0x10, 0,
                 0, 0, flags, 0, 0, 0});
        put(driver, 2, {available, 0x00, 0, 0, 1, 0, 2, 0, 3, 0});
    }
    Bytes buffer_bytes(size_t at, size_t n) const
    {
        return {buffer.begin() + static_cast<std::ptrdiff_t>(at),
                buffer.begin() + static_cast<std::ptrdiff_t>(at + n)};
    }
};

TEST(FakeNetReceiver, small_frame_lies_behind_a_12_byte_header)
{
    ReceiveRing ring;
    SplitDevice queue(ring.memory, ring.areas());
    NetReceiver receiver(queue, {12, false});
    ASSERT_TRUE(receiver.deliver(frame_of(3)));

    EXPECT_EQ(ring.buffer_bytes(0, 17), (Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 0, 0}));
    std::array<uint8_t, 38> expected{};
    HandMadeRing::put(expected, 2, {1, 0, 0, 0, 0, 0, 15, 0, 0, 0});
    EXPECT_EQ(ring.device, expected);
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeNetReceiver, legacy_header_has_no_num_buffers)
{
    ReceiveRing ring;
    SplitDevice queue(ring.memory, ring.areas());
    NetReceiver receiver(queue, {10, false});
    ASSERT_TRUE(receiver.deliver(frame_of(3)));
    EXPECT_EQ(ring.buffer_bytes(0, 14), (Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0}));
    EXPECT_THROW((void)receiver.deliver(frame_of(3), {.num_buffers = 1}), std::logic_error);
}

TEST(FakeNetReceiver, merged_frame_fills_buffer_after_buffer)
{
    ReceiveRing ring;
    SplitDevice queue(ring.memory, ring.areas());
    NetReceiver receiver(queue, {12, true});
    ASSERT_TRUE(receiver.deliver(frame_of(21), {.poison = true})); // 33 bytes: 16 + 16 + 1

    EXPECT_EQ(ring.buffer_bytes(0, 16), (Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 2, 3, 4}));
    EXPECT_EQ(ring.buffer_bytes(32, 16),
              (Bytes{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
    Bytes last(16, 0xdb);
    last[0] = 21;
    EXPECT_EQ(ring.buffer_bytes(64, 16), last);
    EXPECT_EQ(ring.buffer_bytes(80, 16), Bytes(16, 0)); // behind the buffer nothing is touched
    std::array<uint8_t, 38> expected{};
    HandMadeRing::put(expected, 2, {3, 0,  0, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0,
                                    0, 16, 0, 0, 0, 2, 0,  0, 0, 1, 0, 0, 0});
    EXPECT_EQ(ring.device, expected);
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeNetReceiver, chosen_split_and_header_and_used_lengths)
{
    ReceiveRing ring;
    SplitDevice queue(ring.memory, ring.areas());
    NetReceiver receiver(queue, {12, true});
    std::vector<std::byte> header(12, std::byte{0xee});
    ASSERT_TRUE(receiver.deliver(frame_of(4), {.split = {13, 3},
                                               .used_lengths = {0x01020304, 0},
                                               .num_buffers = 0xffff,
                                               .header = header}));
    EXPECT_EQ(ring.buffer_bytes(0, 14), (Bytes{0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee,
                                               0xee, 0xff, 0xff, 1, 0}));
    EXPECT_EQ(ring.buffer_bytes(32, 4), (Bytes{2, 3, 4, 0}));
    std::array<uint8_t, 38> expected{};
    HandMadeRing::put(expected, 2, {2, 0, 0, 0, 0, 0, 4, 3, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(ring.device, expected);

    // A header given whole is written as it is.
    ASSERT_TRUE(receiver.deliver(frame_of(1), {.header = header}));
    EXPECT_EQ(ring.buffer_bytes(64, 13),
              (Bytes{0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 1}));
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeNetReceiver, takes_nothing_when_the_buffers_do_not_suffice)
{
    ReceiveRing ring(2);
    const std::array<uint8_t, 38> untouched{};
    SplitDevice queue(ring.memory, ring.areas());
    NetReceiver merged(queue, {12, true});
    EXPECT_FALSE(merged.deliver(frame_of(21)));
    EXPECT_FALSE(merged.deliver(frame_of(8), {.split = {3, 17}}));
    NetReceiver single(queue, {12, false});
    EXPECT_FALSE(single.deliver(frame_of(5)));
    EXPECT_EQ(ring.device, untouched);
    EXPECT_EQ(ring.buffer_bytes(0, 256), Bytes(256, 0));
    EXPECT_EQ(queue.available(), 2U);

    EXPECT_TRUE(merged.deliver(frame_of(20)));
    EXPECT_FALSE(merged.deliver(frame_of(1)));
}

TEST(FakeNetReceiver, staged_buffers_are_published_in_pieces)
{
    ReceiveRing ring;
    SplitDevice queue(ring.memory, ring.areas());
    NetReceiver receiver(queue, {12, true});
    ASSERT_TRUE(receiver.stage(frame_of(36)));
    EXPECT_EQ(receiver.staged(), 3U);
    EXPECT_EQ(ring.device[2], 0);
    EXPECT_EQ(ring.buffer[10], 3); // num_buffers
    receiver.publish(1);
    EXPECT_EQ(ring.device[2], 1);
    receiver.publish(2);
    EXPECT_EQ(ring.device[2], 3);
    EXPECT_EQ(receiver.staged(), 0U);
    EXPECT_THROW(receiver.publish(1), std::logic_error);
}

TEST(FakeNetReceiver, one_buffer_may_be_a_chain_of_descriptors)
{
    ReceiveRing ring(1);
    ring.put(ring.descriptor, 12, {0x03, 0x00, 0x02, 0x00}); // 0 -> 2
    SplitDevice queue(ring.memory, ring.areas());
    NetReceiver receiver(queue, {12, false});
    ASSERT_TRUE(receiver.deliver(frame_of(6), {.poison = true}));
    EXPECT_EQ(ring.buffer_bytes(12, 5), (Bytes{1, 2, 3, 4, 0}));
    EXPECT_EQ(ring.buffer_bytes(64, 4), (Bytes{5, 6, 0xdb, 0xdb}));
    EXPECT_EQ(ring.device[8], 18);
}

TEST(FakeNetReceiver, reports_buffers_that_no_header_fits_or_that_are_readable)
{
    ReceiveRing ring;
    ring.put(ring.descriptor, 8, {11});
    ring.put(ring.descriptor, 24, {10});
    ring.put(ring.descriptor, 28, {0x01, 0x00, 0x02, 0x00}); // 1 -> 2, the first part readable
    ring.put(ring.driver, 2, {0x02, 0x00});
    SplitDevice queue(ring.memory, ring.areas());
    NetReceiver receiver(queue, {12, true});
    ASSERT_TRUE(receiver.deliver(frame_of(4)));
    EXPECT_EQ(ring.memory.violations().report(),
              "NET_46: receive buffer 0 cannot hold the header\n"
              "NET_46: receive buffer 1 has a device-readable part\n");
}

TEST(FakeNetReceiver, refuses_options_that_contradict_the_frame)
{
    ReceiveRing ring;
    SplitDevice queue(ring.memory, ring.areas());
    NetReceiver receiver(queue, {12, true});
    EXPECT_THROW((void)receiver.deliver(frame_of(4), {.split = {12, 3}}), std::logic_error);
    EXPECT_THROW((void)receiver.deliver(frame_of(4), {.used_lengths = {16, 0}}), std::logic_error);
    EXPECT_THROW((void)receiver.deliver(frame_of(4), {.header = frame_of(10)}), std::logic_error);
    EXPECT_EQ(ring.device[2], 0);
}

// Chains of a 12-byte header (slots 0 and 2) and of the frame behind it (slots 1 and 3).
struct TransmitRing : ReceiveRing {
    TransmitRing() : ReceiveRing(2, 0x00)
    {
        for (uint8_t slot : {uint8_t{0}, uint8_t{2}})
            put(descriptor, 16 * slot + 8,
                {12, 0, 0, 0, 0x01, 0x00, static_cast<uint8_t>(slot + 1), 0x00});
        put(driver, 4, {0, 0, 2, 0});
        put(buffer, 0, {0x01, 0x01, 0x36, 0x00, 0xb4, 0x05, 0x22, 0x00, 0x10, 0x00, 0x00, 0x00});
        put(buffer, 32, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
        put(buffer, 96, {0xff});
    }
};

TEST(FakeNetTransmitter, gathers_header_and_frame_and_completes)
{
    TransmitRing ring;
    SplitDevice queue(ring.memory, ring.areas());
    NetTransmitter transmitter(queue, {12, true});

    const std::optional<SentFrame> sent = transmitter.take();
    ASSERT_TRUE(sent.has_value());
    EXPECT_EQ(sent->id, 0);
    EXPECT_EQ(sent->descriptors, 2U);
    EXPECT_EQ(to_bytes(sent->header), (Bytes{1, 1, 0x36, 0, 0xb4, 5, 0x22, 0, 0x10, 0, 0, 0}));
    EXPECT_EQ(to_bytes(sent->frame),
              (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
    std::array<uint8_t, 38> expected{};
    HandMadeRing::put(expected, 2, {1, 0});
    EXPECT_EQ(ring.device, expected); // element 0: id 0, length 0
    EXPECT_TRUE(transmitter.take().has_value());
    EXPECT_FALSE(transmitter.take().has_value());
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeNetTransmitter, header_and_frame_are_cut_by_size_not_by_descriptor)
{
    TransmitRing ring;
    SplitDevice queue(ring.memory, ring.areas());
    NetTransmitter transmitter(queue, {10, false});
    const std::optional<SentFrame> sent = transmitter.take();
    ASSERT_TRUE(sent.has_value());
    EXPECT_EQ(sent->header.size(), 10U);
    EXPECT_EQ(to_bytes(sent->frame),
              (Bytes{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
}

TEST(FakeNetTransmitter, held_chains_complete_in_the_order_asked_for)
{
    TransmitRing ring;
    SplitDevice queue(ring.memory, ring.areas());
    NetTransmitter transmitter(queue, {12, true});
    transmitter.hold(true);
    ASSERT_TRUE(transmitter.take() && transmitter.take());
    EXPECT_EQ(transmitter.held(), 2U);
    EXPECT_EQ(ring.device[2], 0);

    transmitter.complete(std::array{size_t{1}});
    std::array<uint8_t, 38> expected{};
    HandMadeRing::put(expected, 2, {1, 0, 2, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(ring.device, expected);
    EXPECT_THROW(transmitter.complete(std::array{size_t{1}}), std::logic_error);
    EXPECT_THROW(transmitter.complete(std::array{size_t{0}, size_t{0}}), std::logic_error);
    transmitter.complete_all();
    HandMadeRing::put(expected, 2, {2, 0});
    EXPECT_EQ(ring.device, expected);
    EXPECT_EQ(transmitter.held(), 0U);
}

TEST(FakeNetTransmitter, reports_header_fields_and_chain_shapes_that_are_never_sent)
{
    TransmitRing ring;
    ring.put(ring.buffer, 0, {0x02});  // DATA_VALID
    ring.put(ring.buffer, 74, {0x01}); // num_buffers of the second chain
    SplitDevice queue(ring.memory, ring.areas());
    NetTransmitter transmitter(queue, {12, true});
    ASSERT_TRUE(transmitter.take() && transmitter.take());
    EXPECT_EQ(ring.memory.violations().report(),
              "NET_42: sent chain 0 has a receive-only flag\n"
              "NET_24: sent chain 2 has num_buffers other than 0\n");

    TransmitRing odd;
    odd.put(odd.descriptor, 8, {11, 0, 0, 0, 0x00}); // slot 0 alone: 11 bytes
    odd.put(odd.descriptor, 48 + 12, {0x02});        // slot 3 writable
    SplitDevice odd_queue(odd.memory, odd.areas());
    NetTransmitter odd_transmitter(odd_queue, {12, true});
    ASSERT_TRUE(odd_transmitter.take() && odd_transmitter.take());
    EXPECT_EQ(odd.memory.violations().report(),
              "NET_43: sent chain 0 is shorter than the header\n"
              "NET_43: sent chain 2 has a device-writable part\n");
}

} // namespace
} // namespace fit::fake
