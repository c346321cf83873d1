// The prerequisites of VIRTIO 1.3, 5.1.3.1 by bit number, as doc/conformance.md W3 lists them: a
// second spelling of what lib/virtio/feature.cpp says with names, so that a slip in one of them
// shows.
#pragma once

#include <cstdint>
#include <vector>

namespace fit {

struct Dependency {
    unsigned bit;
    std::vector<unsigned> any_of;
};

inline const std::vector<Dependency>& feature_dependencies()
{
    static const std::vector<Dependency> table = {
        {7, {1}},       {8, {1}},       {10, {1}},  {54, {1}},
        {55, {1}},   // GUEST_TSO4/6, UFO, USO4/6: GUEST_CSUM
        {9, {7, 8}}, // GUEST_ECN: GUEST_TSO4 or 6
        {11, {0}},      {12, {0}},      {14, {0}},  {56, {0}}, // HOST_TSO4/6, UFO, USO: CSUM
        {13, {11, 12}},                                        // HOST_ECN: HOST_TSO4 or 6
        {18, {17}},     {19, {17}},     {21, {17}}, {22, {17}},
        {23, {17}}, // control commands: CTRL_VQ
        {60, {17}},     {53, {17}},     {52, {17}}, {20, {17}},
        {57, {17}},                     //
        {2, {17}},                      //
        {61, {11, 12}}, {61, {7, 8}},   // RSC_EXT: both directions
        {51, {17}},     {51, {60, 57}}, // HASH_TUNNEL: RSS or HASH_REPORT
    };
    return table;
}

// The largest part of `set` in which every bit has its prerequisites and no bit above 31 stands
// without VERSION_1.
inline uint64_t largest_consistent_part(uint64_t set)
{
    const auto has = [&](unsigned bit) { return (set >> bit & 1) != 0; };
    if (!has(32))
        set &= 0xffff'ffff;
    for (size_t i = 0; i < feature_dependencies().size();) {
        const Dependency& d = feature_dependencies()[i++];
        bool met = !has(d.bit);
        for (unsigned needed : d.any_of)
            met = met || has(needed);
        if (!met) {
            set &= ~(uint64_t{1} << d.bit);
            i = 0;
        }
    }
    return set;
}

} // namespace fit
