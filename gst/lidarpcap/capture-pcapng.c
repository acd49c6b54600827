/* SPDX-License-Identifier: MIT */
#include "capture-pcapng.h"

#include <string.h>

#define BLOCK_SECTION 0x0a0d0d0a /* the same in both byte orders */
#define BLOCK_INTERFACE 1
#define BLOCK_OLD_PACKET 2
#define BLOCK_SIMPLE_PACKET 3
#define BLOCK_PACKET 6

#define BYTE_ORDER_MAGIC 0x1a2b3c4d
#define OPTION_END 0
#define OPTION_RESOLUTION 9
#define OPTION_OFFSET 14

/* More is no block that a capture of a network has. */
#define MAX_BLOCK (16 << 20)
#define MAX_INTERFACES 4096

#define NS_PER_SECOND 1000000000

typedef struct {
  gint link;
  guint32 snap_length; /* 0: no limit */
  guint8 resolution;   /* as the option has it */
  gint64 offset;       /* s */
} Interface;

struct _CapturePcapng {
  FILE *file;
  gboolean is_swapped;
  GArray *interfaces; /* of Interface, of the section */
  GByteArray *block;  /* its body */
  gint64 last_time;
};

gboolean
capture_is_pcapng (FILE *file)
{
  guint32 type = 0;
  const gboolean is_pcapng = fread (&type, sizeof type, 1, file) == 1 && type == BLOCK_SECTION;
  rewind (file);
  return is_pcapng;
}

CapturePcapng *
capture_pcapng_new (FILE *file)
{
  CapturePcapng *self = g_new0 (CapturePcapng, 1);
  self->file = file;
  self->interfaces = g_array_new (FALSE, FALSE, sizeof (Interface));
  self->block = g_byte_array_new ();
  return self;
}

void
capture_pcapng_free (CapturePcapng *self)
{
  fclose (self->file);
  g_array_unref (self->interfaces);
  g_byte_array_unref (self->block);
  g_free (self);
}

static guint32
get_u32 (const CapturePcapng *self, const guint8 *data)
{
  guint32 value;
  memcpy (&value, data, sizeof value);
  return self->is_swapped ? GUINT32_SWAP_LE_BE (value) : value;
}

static guint
get_u16 (const CapturePcapng *self, const guint8 *data)
{
  guint16 value;
  memcpy (&value, data, sizeof value);
  return self->is_swapped ? GUINT16_SWAP_LE_BE (value) : value;
}

/* Reads the next block. FALSE: at the end, or @message is set. */
static gboolean
read_block (CapturePcapng *self, guint32 *type, const gchar **message)
{
  guint8 header[12];
  const gsize n = fread (header, 1, 8, self->file);
  if (n == 0 && feof (self->file))
    return FALSE;
  *message = "a block is cut off";
  if (n < 8)
    return FALSE;
  *type = get_u32 (self, header);
  if (*type == BLOCK_SECTION) {
    if (fread (header + 8, 4, 1, self->file) != 1)
      return FALSE;
    self->is_swapped = FALSE;
    self->is_swapped = get_u32 (self, header + 8) != BYTE_ORDER_MAGIC;
    if (get_u32 (self, header + 8) != BYTE_ORDER_MAGIC) {
      *message = "a section has no byte order";
      return FALSE;
    }
  }
  const guint head = *type == BLOCK_SECTION ? 12 : 8;
  const guint32 size = get_u32 (self, header + 4);
  if (size < head + 4 || size % 4 != 0 || size > MAX_BLOCK) {
    *message = "a block has a length that none has";
    return FALSE;
  }
  g_byte_array_set_size (self->block, size - head);
  if (fread (self->block->data, self->block->len, 1, self->file) != 1)
    return FALSE;
  if (get_u32 (self, self->block->data + self->block->len - 4) != size) {
    *message = "the two lengths of a block differ";
    return FALSE;
  }
  g_byte_array_set_size (self->block, self->block->len - 4);
  *message = NULL;
  return TRUE;
}

static void
read_options (const CapturePcapng *self, gsize at, Interface *interface)
{
  const GByteArray *block = self->block;
  while (at + 4 <= block->len) {
    const guint code = get_u16 (self, block->data + at);
    const gsize size = get_u16 (self, block->data + at + 2);
    const guint8 *value = block->data + at + 4;
    if (code == OPTION_END || size > block->len - at - 4)
      return;
    if (code == OPTION_RESOLUTION && size == 1)
      interface->resolution = *value;
    if (code == OPTION_OFFSET && size == 8) {
      const guint64 words[] = {get_u32 (self, value), get_u32 (self, value + 4)};
      const gboolean is_big = self->is_swapped == (G_BYTE_ORDER == G_LITTLE_ENDIAN);
      interface->offset = (gint64)(words[!is_big] << 32 | words[is_big]);
    }
    at += 4 + (size + 3) / 4 * 4;
  }
}

static gboolean
add_interface (CapturePcapng *self, const gchar **message)
{
  Interface interface = {.resolution = 6};
  if (self->block->len < 8 || self->interfaces->len == MAX_INTERFACES) {
    *message = "an interface is damaged, or there are too many";
    return FALSE;
  }
  interface.link = (gint)get_u16 (self, self->block->data);
  interface.snap_length = get_u32 (self, self->block->data + 4);
  read_options (self, 8, &interface);
  g_array_append_val (self->interfaces, interface);
  return TRUE;
}

/* ns since 1970 of a time in the interface's units; units are 10^-n s, or 2^-n where the first bit
 * of the resolution is set. */
static gint64
get_time (const Interface *interface, guint32 high, guint32 low)
{
  const guint64 units = (guint64)high << 32 | low;
  const guint exponent = interface->resolution & 0x7f;
  long double seconds = units;
  guint64 ns;
  if (!(interface->resolution & 0x80) && exponent <= 9) {
    guint64 scale = 1;
    for (guint i = exponent; i < 9; i++)
      scale *= 10;
    ns = units <= G_MAXUINT64 / scale ? units * scale : G_MAXUINT64;
  } else {
    for (guint i = 0; i < exponent; i++)
      seconds /= interface->resolution & 0x80 ? 2 : 10;
    seconds *= NS_PER_SECOND;
    ns = seconds < 1.8e19L ? (guint64)seconds : G_MAXUINT64;
  }
  const gint64 limit = G_MAXINT64 / 2 / NS_PER_SECOND;
  return (gint64)MIN (ns, (guint64)G_MAXINT64 / 2) +
         CLAMP (interface->offset, -limit, limit) * NS_PER_SECOND;
}

/* Sets @frame from a packet's block. FALSE: it contradicts itself. */
static gboolean
take_packet (CapturePcapng *self, guint32 type, CaptureFrame *frame)
{
  const GByteArray *block = self->block;
  const gsize head = type == BLOCK_SIMPLE_PACKET ? 4 : 20;
  guint number = 0;
  if (block->len < head)
    return FALSE;
  if (type == BLOCK_PACKET)
    number = get_u32 (self, block->data);
  else if (type == BLOCK_OLD_PACKET)
    number = get_u16 (self, block->data);
  if (number >= self->interfaces->len)
    return FALSE;
  const Interface *interface = &g_array_index (self->interfaces, Interface, number);
  frame->link = interface->link;
  frame->data = block->data + head;
  if (type == BLOCK_SIMPLE_PACKET) {
    /* It has neither a time nor the length that was captured. */
    frame->size = MIN (get_u32 (self, block->data), block->len - head);
    if (interface->snap_length > 0)
      frame->size = MIN (frame->size, interface->snap_length);
  } else {
    frame->size = get_u32 (self, block->data + 12);
    self->last_time =
        get_time (interface, get_u32 (self, block->data + 4), get_u32 (self, block->data + 8));
  }
  frame->time = self->last_time;
  return frame->size <= block->len - head;
}

gboolean
capture_pcapng_next (CapturePcapng *self, CaptureFrame *frame, const gchar **message)
{
  guint32 type;
  *message = NULL;
  while (read_block (self, &type, message)) {
    switch (type) {
    case BLOCK_SECTION:
      g_array_set_size (self->interfaces, 0);
      break;
    case BLOCK_INTERFACE:
      if (!add_interface (self, message))
        return FALSE;
      break;
    case BLOCK_PACKET:
    case BLOCK_OLD_PACKET:
    case BLOCK_SIMPLE_PACKET:
      if (take_packet (self, type, frame))
        return TRUE;
      *message = "a packet is of no interface, or longer than its block";
      return FALSE;
    default:
      break;
    }
  }
  return FALSE;
}
