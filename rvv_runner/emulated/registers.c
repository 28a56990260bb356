#include "registers.h"

#include <string.h>

#include "qemu_api.h"

enum { INTEGER_REGISTERS = 32 };

static struct qemu_plugin_register *integers[INTEGER_REGISTERS];
static struct qemu_plugin_register *vector_length;
static bool readable;
static __thread GByteArray *buffer;

/* QEMU lists registers as GDB's descriptions do: x0 to x31 come first in the one of the core. */
void registers_find(void) {
    if (readable || qemu_plugin_get_registers == NULL || qemu_plugin_read_register == NULL ||
        g_byte_array_new == NULL || g_array_free == NULL) {
        return;
    }
    GArray *list = qemu_plugin_get_registers();
    const qemu_plugin_reg_descriptor *registers = (const void *)list->data;
    unsigned count = 0;
    for (unsigned i = 0; i < list->length; i++) {
        const char *feature = registers[i].feature == NULL ? "" : registers[i].feature;
        if (strcmp(feature, "org.gnu.gdb.riscv.cpu") == 0 && count < INTEGER_REGISTERS) {
            integers[count++] = registers[i].handle;
        }
        if (strcmp(registers[i].name, "vl") == 0) {
            vector_length = registers[i].handle;
        }
    }
    g_array_free(list, true);
    readable = count == INTEGER_REGISTERS && vector_length != NULL;
}

bool registers_readable(void) { return readable; }

static uint64_t read_register(struct qemu_plugin_register *handle) {
    if (__builtin_expect(buffer == NULL, 0)) {
        buffer = g_byte_array_new();
    }
    uint64_t value = 0;
    buffer->length = 0;
    if (qemu_plugin_read_register(handle, buffer) == sizeof value) {
        memcpy(&value, buffer->data, sizeof value);
    }
    return value;
}

uint64_t registers_integer(uint32_t reg) { return read_register(integers[reg]); }

uint64_t registers_vector_length(void) { return read_register(vector_length); }
