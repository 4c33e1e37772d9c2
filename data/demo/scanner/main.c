/* Firmware of the hand scanner: read a bar code, keep it, send it when there is a network. */
#include <stdio.h>
#include <string.h>

#include "ring_buffer.h"

enum { ERROR_NONE = 0, ERROR_BUFFER_FULL = 17 };

extern bool barcode_read(char *text, size_t size);
extern bool network_send(const scan_t *scan);
extern uint32_t clock_now(void);
extern void display_error(int code);

static ring_buffer_t waiting;

static bool is_parcel_number(const char *text)
{
    if (strlen(text) != 11 || text[0] != 'P' || text[1] != 'X') {
        return false;
    }
    return strspn(text + 2, "0123456789") == 9;
}

static void send_waiting(void)
{
    scan_t scan;
    while (ring_peek(&waiting, &scan) && network_send(&scan)) {
        ring_drop(&waiting);
    }
}

int main(void)
{
    char text[32];
    ring_clear(&waiting);
    for (;;) {
        if (barcode_read(text, sizeof text) && is_parcel_number(text)) {
            scan_t scan = {.at = clock_now()};
            memcpy(scan.parcel, text, sizeof scan.parcel);
            display_error(ring_push(&waiting, &scan) ? ERROR_NONE : ERROR_BUFFER_FULL);
        }
        send_waiting();
    }
}
