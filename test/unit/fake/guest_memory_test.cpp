#include "fake/guest_memory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace fit::fake {
namespace {

TEST(FakeDeviceMemory, translates_inside_a_region_only)
{
    std::array<std::byte, 16> bytes{};
    DeviceMemory memory;
    memory.add_region(bytes.data(), 0x1000, bytes.size());

    EXPECT_EQ(memory.translate(0x1000, 16), bytes.data());
    EXPECT_EQ(memory.translate(0x100f, 1), bytes.data() + 15);
    EXPECT_EQ(memory.violations().report(), "");

    EXPECT_EQ(memory.translate(0x0fff, 1), nullptr);
    EXPECT_EQ(memory.translate(0x100f, 2), nullptr);
    EXPECT_EQ(memory.translate(0x1010, 1), nullptr);
    EXPECT_EQ(memory.translate(0x1008, UINT64_MAX), nullptr);
    EXPECT_EQ(memory.violations().report(),
              "MEMORY: the device cannot reach 0xfff + 1\n"
              "MEMORY: the device cannot reach 0x100f + 2\n"
              "MEMORY: the device cannot reach 0x1010 + 1\n"
              "MEMORY: the device cannot reach 0x1008 + 18446744073709551615\n");
}

TEST(FakeDeviceMemory, range_over_two_adjacent_regions_is_a_miss)
{
    std::array<std::byte, 8> first{};
    std::array<std::byte, 8> second{};
    DeviceMemory memory;
    memory.add_region(first.data(), 0x1000, 8);
    memory.add_region(second.data(), 0x1008, 8);

    EXPECT_EQ(memory.translate(0x1007, 1), first.data() + 7);
    EXPECT_EQ(memory.translate(0x1008, 1), second.data());
    EXPECT_EQ(memory.translate(0x1007, 2), nullptr);
    EXPECT_EQ(memory.violations().count("MEMORY"), 1U);
}

TEST(FakeDeviceMemory, refuses_regions_that_are_empty_wrap_or_overlap)
{
    std::array<std::byte, 32> bytes{};
    DeviceMemory memory;
    memory.add_region(bytes.data(), 0x1000, 16);

    EXPECT_THROW(memory.add_region(bytes.data(), 0x2000, 0), std::logic_error);
    EXPECT_THROW(memory.add_region(nullptr, 0x2000, 16), std::logic_error);
    EXPECT_THROW(memory.add_region(bytes.data(), UINT64_MAX - 3, 16), std::logic_error);
    EXPECT_THROW(memory.add_region(bytes.data(), 0x1000, 16), std::logic_error);
    EXPECT_THROW(memory.add_region(bytes.data(), 0x100f, 4), std::logic_error);
    EXPECT_THROW(memory.add_region(bytes.data(), 0x0ff8, 16), std::logic_error);
    EXPECT_EQ(memory.translate(0x2000, 1), nullptr);
}

TEST(FakeDeviceMemory, removed_region_is_a_miss)
{
    std::array<std::byte, 16> bytes{};
    DeviceMemory memory;
    memory.add_region(bytes.data(), 0x1000, 16);
    memory.remove_region(0x1000);

    EXPECT_EQ(memory.translate(0x1000, 1), nullptr);
    EXPECT_THROW(memory.remove_region(0x1000), std::logic_error);
}

TEST(FakeDeviceMemory, finds_the_device_address_of_a_driver_address)
{
    std::array<std::byte, 16> bytes{};
    DeviceMemory memory;
    memory.add_region(bytes.data(), 0x1000, 8);

    EXPECT_EQ(memory.device_address(bytes.data() + 7), 0x1007U);
    EXPECT_EQ(memory.device_address(bytes.data() + 8), std::nullopt);
    EXPECT_EQ(memory.violations().report(), "");
}

TEST(FakeGuestMemory, device_addresses_are_not_driver_addresses_and_never_touch)
{
    GuestMemory memory(0x5000'0000'0000'0001);
    const GuestMemory::Block a = memory.allocate(100);
    const GuestMemory::Block b = memory.allocate(64, 64);

    EXPECT_EQ(a.device, 0x5000'0000'0000'0001U);
    EXPECT_EQ(b.device, 0x5000'0000'0000'1080U); // 0x1 + 100 + 4096, rounded up to 64
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b.driver) % 64, 0U);
    EXPECT_EQ(memory.device().translate(a.device + 99, 1), a.driver + 99);
    EXPECT_EQ(memory.device().translate(b.device, 64), b.driver);
    EXPECT_EQ(memory.violations().report(), "");

    // What a driver hands over that mistakes one kind of address for the other.
    EXPECT_EQ(memory.device().translate(reinterpret_cast<uintptr_t>(a.driver), 1), nullptr);
    EXPECT_EQ(memory.device().translate(a.device + 99, 2), nullptr);
    EXPECT_EQ(memory.violations().count("MEMORY"), 2U);
}

TEST(FakeGuestMemory, blocks_are_zeroed_and_gone_after_release)
{
    GuestMemory memory;
    const GuestMemory::Block block = memory.allocate(3);
    EXPECT_EQ(block.bytes().size(), 3U);
    for (std::byte b : block.bytes())
        EXPECT_EQ(b, std::byte{0});

    memory.release(block);
    EXPECT_EQ(memory.device().translate(block.device, 1), nullptr);
    EXPECT_THROW(memory.release(block), std::logic_error);
}

} // namespace
} // namespace fit::fake
