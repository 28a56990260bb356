/* Which misses the hardware's prefetcher foresees. */
#include "streams.h"

/* Whether so many streams are at the same place of their pages that the lines prefetched for them push
 * each other out of L1D before they are used. Which of L1D's sets a page's lines go to is taken to
 * depend on their place in it alone. */
static bool is_crowded(const struct memory *memory, uint64_t line, uint64_t before) {
    if ((uint32_t)__builtin_popcountll(memory->streaming) <= memory->l1d.ways) {
        return false;
    }
    uint64_t in_page = ((uint64_t)1 << memory->page_lines_shift) - 1;
    uint32_t others = 0;
    uint32_t streams = memory->costs->streams + memory->costs->store_streams;
    for (uint32_t i = 0; i < streams; i++) {
        uint64_t other = memory->stream_lines[i];
        bool near = ((other ^ line) & in_page) == 0 || ((other ^ before) & in_page) == 0;
        others += near && other != before && (memory->streaming >> i & 1);
    }
    return others >= memory->l1d.ways;
}

/* Advance the stream whose last line is this one or a neighbour of it; after a neighbour, this line
 * was foreseen. Return false if there is no such stream. */
static bool follow(struct memory *memory, uint64_t line, struct foresight *found) {
    uint32_t streams = memory->costs->streams + memory->costs->store_streams;
    for (uint32_t i = 0; i < streams; i++) {
        uint64_t before = memory->stream_lines[i];
        if (line - before + 1 > 2) {
            continue; /* neither this line nor one of its neighbours */
        }
        if (line != before) {
            found->foreseen = true;
            found->followed = i == memory->last_stream;
            found->displaced = is_crowded(memory, line, before);
            memory->stream_lines[i] = line;
            memory->streaming |= (uint64_t)1 << i;
            memory->last_stream = i;
        }
        return true;
    }
    return false;
}

void streams_go_on(struct memory *memory, uint64_t line) {
    struct foresight found = {0};
    follow(memory, line, &found);
}

struct foresight streams_look_ahead(struct memory *memory, uint64_t line, bool store) {
    struct foresight found = {0};
    uint32_t of_loads = memory->costs->streams;
    uint32_t streams = store ? memory->costs->store_streams : of_loads;
    if (!follow(memory, line, &found) && streams > 0) {
        uint32_t *oldest = &memory->oldest_stream[store];
        uint32_t place = *oldest + (store ? of_loads : 0);
        memory->stream_lines[place] = line;
        memory->streaming &= ~((uint64_t)1 << place);
        memory->last_stream = place;
        *oldest = (*oldest + 1) % streams;
    }
    return found;
}
