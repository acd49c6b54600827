/* SPDX-License-Identifier: MIT */
#include "capture-file.h"

#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture-pcapng.h"

G_DEFINE_QUARK (capture - file - error, capture_file_error)

struct _CaptureFile {
  pcap_t *pcap;          /* of a pcap file */
  CapturePcapng *pcapng; /* or of a pcapng file */
  gint link;             /* of the pcap file */
  gint unknown_link;     /* of the last frame whose link is not known */
  guint64 n_unknown;     /* of such frames */
  CaptureReassembly *reassembly;
  CaptureFileCounts counts;
  const gint *is_cancelled; /* atomic; NULL: it is never */
};

CaptureFile *
capture_file_open (const gchar *path, GError **error)
{
  /* O_NONBLOCK: opening a pipe would block, and it could be neither rewound nor cancelled. */
  const int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat about;
  FILE *file = NULL;

  if (fd >= 0 && fstat (fd, &about) == 0 && !S_ISREG (about.st_mode))
    g_set_error_literal (
        error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_OPEN, "it is not a regular file");
  else if (fd < 0 || !(file = fdopen (fd, "rb")))
    g_set_error_literal (error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_OPEN, g_strerror (errno));
  if (!file) {
    if (fd >= 0)
      close (fd);
    return NULL;
  }
  return capture_file_new (file, error);
}

static void
set_link_error (gint link, GError **error)
{
  const gchar *name = pcap_datalink_val_to_name (link);
  g_set_error (error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_LINK,
      "it was captured on a link of type %d (%s), which carries no IP that is known here", link,
      name ? name : "unknown");
}

static pcap_t *
open_pcap (FILE *file, gint *link, GError **error)
{
  gchar message[PCAP_ERRBUF_SIZE] = "";
  pcap_t *pcap =
      pcap_fopen_offline_with_tstamp_precision (file, PCAP_TSTAMP_PRECISION_NANO, message);
  if (!pcap) {
    g_set_error_literal (error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_FORMAT, message);
    fclose (file);
    return NULL;
  }
  *link = pcap_datalink (pcap);
  if (capture_link_is_known (*link))
    return pcap;
  set_link_error (*link, error);
  pcap_close (pcap);
  return NULL;
}

CaptureFile *
capture_file_new (FILE *file, GError **error)
{
  const gboolean is_pcapng = capture_is_pcapng (file);
  gint link = -1;
  pcap_t *pcap = is_pcapng ? NULL : open_pcap (file, &link, error);
  if (!is_pcapng && !pcap)
    return NULL;
  CaptureFile *self = g_new0 (CaptureFile, 1);
  self->pcap = pcap;
  self->pcapng = is_pcapng ? capture_pcapng_new (file) : NULL;
  self->link = link;
  self->reassembly = capture_reassembly_new ();
  return self;
}

void
capture_file_free (CaptureFile *self)
{
  g_clear_pointer (&self->pcap, pcap_close);
  g_clear_pointer (&self->pcapng, capture_pcapng_free);
  capture_reassembly_free (self->reassembly);
  g_free (self);
}

void
capture_file_set_cancellation (CaptureFile *self, const gint *is_cancelled)
{
  self->is_cancelled = is_cancelled;
}

/* The next frame; @error is set where the end is none. */
static gboolean
read_frame (CaptureFile *self, CaptureFrame *frame, GError **error)
{
  struct pcap_pkthdr *header;
  const gchar *message = NULL;
  gint result;
  if (self->pcapng) {
    if (capture_pcapng_next (self->pcapng, frame, &message))
      return TRUE;
  } else if ((result = pcap_next_ex (self->pcap, &header, &frame->data)) == 1) {
    /* With this precision tv_usec holds nanoseconds. Stamps of a corrupted file may be anything. */
    frame->time = (gint64)((guint64)header->ts.tv_sec * 1000000000u + (guint64)header->ts.tv_usec);
    frame->size = header->caplen;
    frame->link = self->link;
    return TRUE;
  } else if (result != PCAP_ERROR_BREAK) {
    message = pcap_geterr (self->pcap);
  }
  if (message)
    g_set_error_literal (error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_DAMAGED, message);
  else if (self->n_unknown > 0 && self->n_unknown == self->counts.n_frames)
    set_link_error (self->unknown_link, error);
  return FALSE;
}

gboolean
capture_file_next (CaptureFile *self, CaptureDatagram *datagram, gint64 *time, GError **error)
{
  CaptureFrame frame;
  /* Frames that are passed over may be many gigabytes. */
  while (!self->is_cancelled || !g_atomic_int_get (self->is_cancelled)) {
    if (!read_frame (self, &frame, error))
      return FALSE;
    self->counts.n_frames++;
    *time = frame.time;
    if (!capture_link_is_known (frame.link)) {
      self->counts.n_other++;
      self->n_unknown++;
      self->unknown_link = frame.link;
      continue;
    }
    switch (capture_frame_parse (
        self->reassembly, frame.link, frame.data, frame.size, frame.time, datagram)) {
    case CAPTURE_FRAME_DATAGRAM:
      return TRUE;
    case CAPTURE_FRAME_OTHER:
      self->counts.n_other++;
      break;
    case CAPTURE_FRAME_BAD:
      self->counts.n_bad++;
      break;
    case CAPTURE_FRAME_FRAGMENT:
      break;
    }
  }
  return FALSE;
}

CaptureFileCounts
capture_file_get_counts (const CaptureFile *self)
{
  CaptureFileCounts counts = self->counts;
  counts.n_incomplete = capture_reassembly_get_n_incomplete (self->reassembly);
  return counts;
}
