/* The C interface of lodestone. All functions are safe to call from any thread. */
#ifndef LODESTONE_H
#define LODESTONE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ls_store ls_store;
typedef struct ls_batch ls_batch;
typedef struct ls_arena ls_arena;
typedef struct ls_skiplist ls_skiplist;

typedef enum {
    LS_OK = 0,
    LS_NOT_FOUND = 1,
    LS_IO = 2,
    LS_CORRUPT = 3,
    LS_LOCKED = 4,
    LS_TOO_LARGE = 5,
} ls_status;

/* Bytes that belong to somebody else. */
typedef struct {
    const uint8_t *data;
    size_t length;
} ls_slice;

ls_status ls_open(const char *directory, ls_store **store);
void ls_close(ls_store *store);

ls_status ls_put(ls_store *store, ls_slice key, ls_slice value);
ls_status ls_get(ls_store *store, ls_slice key, uint8_t **value, size_t *length);
ls_status ls_delete(ls_store *store, ls_slice key);
void ls_free(uint8_t *value);

ls_batch *ls_batch_new(void);
void ls_batch_put(ls_batch *batch, ls_slice key, ls_slice value);
ls_status ls_write(ls_store *store, ls_batch *batch);

ls_arena *ls_arena_new(size_t block_size);
void *ls_arena_alloc(ls_arena *arena, size_t size);
void ls_arena_free(ls_arena *arena);

ls_skiplist *ls_skiplist_new(ls_arena *arena, uint64_t seed);
int ls_skiplist_insert(ls_skiplist *list, ls_slice key, ls_slice value);
const ls_slice *ls_skiplist_find(const ls_skiplist *list, ls_slice key);

uint32_t ls_crc32c(uint32_t sum, const uint8_t *data, size_t length);

const char *ls_message(ls_status status);

#ifdef __cplusplus
}
#endif

#endif
