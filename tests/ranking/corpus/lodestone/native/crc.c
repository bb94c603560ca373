/* CRC-32C for C programs: by the processor where it can, else by table. */
#include "lodestone.h"

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#endif

static uint32_t table[256];
static int ready;

static void fill_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? (value >> 1) ^ 0x82f63b78u : value >> 1;
        table[i] = value;
    }
    ready = 1;
}

static uint32_t by_table(uint32_t sum, const uint8_t *data, size_t length)
{
    if (!ready)
        fill_table();
    while (length-- > 0)
        sum = table[(sum ^ *data++) & 0xff] ^ (sum >> 8);
    return sum;
}

uint32_t ls_crc32c(uint32_t sum, const uint8_t *data, size_t length)
{
    sum = ~sum;
#if defined(__SSE4_2__)
    for (; length > 0; length--)
        sum = _mm_crc32_u8(sum, *data++);
#else
    sum = by_table(sum, data, length);
#endif
    (void)by_table;
    return ~sum;
}
