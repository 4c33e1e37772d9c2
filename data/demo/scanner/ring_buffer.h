#ifndef PARCELO_RING_BUFFER_H
#define PARCELO_RING_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A scan as the hand scanner keeps it until it has a network. */
typedef struct {
    char parcel[12];
    uint32_t at; /* seconds since 1970 */
} scan_t;

#define RING_CAPACITY 2048u /* a long day in a large depot */

typedef struct {
    scan_t scans[RING_CAPACITY];
    size_t head;
    size_t count;
    uint32_t lost;
} ring_buffer_t;

void ring_clear(ring_buffer_t *ring);
bool ring_push(ring_buffer_t *ring, const scan_t *scan);
bool ring_peek(const ring_buffer_t *ring, scan_t *out);
void ring_drop(ring_buffer_t *ring);

#endif
