#include "ring_buffer.h"

void ring_clear(ring_buffer_t *ring)
{
    ring->head = 0;
    ring->count = 0;
    ring->lost = 0;
}

/* When the buffer is full the new scan is counted as lost: the old ones are nearer to their deadline. */
bool ring_push(ring_buffer_t *ring, const scan_t *scan)
{
    if (ring->count == RING_CAPACITY) {
        ring->lost++;
        return false;
    }
    ring->scans[(ring->head + ring->count) % RING_CAPACITY] = *scan;
    ring->count++;
    return true;
}

/* Oldest first; it stays until ring_drop, so that a scan is never lost between two tries. */
bool ring_peek(const ring_buffer_t *ring, scan_t *out)
{
    if (ring->count == 0) {
        return false;
    }
    *out = ring->scans[ring->head];
    return true;
}

void ring_drop(ring_buffer_t *ring)
{
    if (ring->count > 0) {
        ring->head = (ring->head + 1) % RING_CAPACITY;
        ring->count--;
    }
}
