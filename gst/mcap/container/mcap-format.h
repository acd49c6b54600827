/* SPDX-License-Identifier: MIT */
#pragma once

/* The MCAP container as its specification (mcap.dev/spec, version 0) has it: what the reader and
 * the writer share. Numbers are little-endian; a string is a u32 length and that many bytes. */

#include <glib.h>
#include <string.h>
#include <zlib.h>

G_BEGIN_DECLS

/* First and last bytes of a file. */
#define MCAP_MAGIC "\x89MCAP0\r\n"
#define MCAP_MAGIC_SIZE 8

/* Opcode and u64 length before the content of every record. */
#define MCAP_RECORD_HEADER_SIZE 9

/* Content of a message before its data: channel, sequence, log time, publish time. */
#define MCAP_MESSAGE_HEADER_SIZE 22

/* Footer's content: start of the summary, start of the summary offsets, summary CRC. */
#define MCAP_FOOTER_SIZE 20

#define MCAP_PROFILE_ROS2 "ros2"
#define MCAP_ENCODING_CDR "cdr"
#define MCAP_ENCODING_ROS2MSG "ros2msg"
#define MCAP_COMPRESSION_NONE ""
#define MCAP_COMPRESSION_LZ4 "lz4"
#define MCAP_COMPRESSION_ZSTD "zstd"

typedef enum {
  MCAP_OP_HEADER = 0x01,
  MCAP_OP_FOOTER = 0x02,
  MCAP_OP_SCHEMA = 0x03,
  MCAP_OP_CHANNEL = 0x04,
  MCAP_OP_MESSAGE = 0x05,
  MCAP_OP_CHUNK = 0x06,
  MCAP_OP_MESSAGE_INDEX = 0x07,
  MCAP_OP_CHUNK_INDEX = 0x08,
  MCAP_OP_ATTACHMENT = 0x09,
  MCAP_OP_ATTACHMENT_INDEX = 0x0A,
  MCAP_OP_STATISTICS = 0x0B,
  MCAP_OP_METADATA = 0x0C,
  MCAP_OP_METADATA_INDEX = 0x0D,
  MCAP_OP_SUMMARY_OFFSET = 0x0E,
  MCAP_OP_DATA_END = 0x0F,
} McapOpcode;

/* What the elements of this plugin say of streams that are neither clouds nor poses. */
/* The container itself. */
#define MCAP_CAPS "application/x-mcap"
/* Messages as they stand in a file, one a buffer, with the fields below; all of them strings but
 * schema-data, a GstBuffer, and channel-metadata, a GstStructure of strings. The schema's are
 * left out where a channel has none. */
#define MCAP_MESSAGE_CAPS "application/x-mcap-message"
#define MCAP_CAPS_TOPIC "topic"
#define MCAP_CAPS_MESSAGE_ENCODING "message-encoding"
#define MCAP_CAPS_SCHEMA_NAME "schema-name"
#define MCAP_CAPS_SCHEMA_ENCODING "schema-encoding"
#define MCAP_CAPS_SCHEMA_DATA "schema-data"
#define MCAP_CAPS_CHANNEL_METADATA "channel-metadata"
/* An attachment, whose bytes are the buffer's: name and media type in caps, both strings; when it
 * was logged and made in GstReferenceTimestampMeta of these caps. */
#define MCAP_ATTACHMENT_CAPS "application/x-mcap-attachment"
#define MCAP_CAPS_NAME "name"
#define MCAP_CAPS_MEDIA_TYPE "media-type"
#define MCAP_LOG_TIME_CAPS "timestamp/x-mcap-log-time"
#define MCAP_CREATE_TIME_CAPS "timestamp/x-mcap-create-time"
/* GstReferenceTimestampMeta of a message of a recording: its publish time, where that is not its
 * log time. */
#define MCAP_PUBLISH_TIME_CAPS "timestamp/x-mcap-publish-time"
/* A metadata record: an empty buffer, name and map (a GstStructure of strings) in caps. */
#define MCAP_METADATA_CAPS "application/x-mcap-metadata"
#define MCAP_CAPS_METADATA "metadata"

/* Keys of a channel's metadata that the writer sets and the reader may use: the caps of the stream;
 * the topic of the cloud that a channel's poses were attached to; the role of these poses, by its
 * nick. A cloud's pose, transform and diagnostics have its log time and stand before it. */
#define MCAP_META_CAPS "gst.caps"
#define MCAP_META_CLOUD "gst.cloud"
#define MCAP_META_ROLE "gst.role"
/* Of a cloud that is a map, no scan. */
#define MCAP_META_ROLE_MAP "map"

static inline guint32
mcap_get_u32 (const guint8 *p)
{
  guint32 v;
  memcpy (&v, p, sizeof v);
  return GUINT32_FROM_LE (v);
}

static inline guint64
mcap_get_u64 (const guint8 *p)
{
  guint64 v;
  memcpy (&v, p, sizeof v);
  return GUINT64_FROM_LE (v);
}

static inline void
mcap_set_u16 (guint8 *p, guint16 v)
{
  v = GUINT16_TO_LE (v);
  memcpy (p, &v, sizeof v);
}

static inline void
mcap_set_u32 (guint8 *p, guint32 v)
{
  v = GUINT32_TO_LE (v);
  memcpy (p, &v, sizeof v);
}

static inline void
mcap_set_u64 (guint8 *p, guint64 v)
{
  v = GUINT64_TO_LE (v);
  memcpy (p, &v, sizeof v);
}

/* CRC32 (IEEE) of @crc's bytes and then these; 0 to begin with. */
static inline guint32
mcap_crc32 (guint32 crc, const void *data, gsize size)
{
  /* zlib takes NULL for a request of the initial value. */
  return size > 0 ? (guint32)crc32_z (crc, data, size) : crc;
}

G_END_DECLS
