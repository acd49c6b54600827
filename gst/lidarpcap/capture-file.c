/* SPDX-License-Identifier: MIT */
#include "capture-file.h"

#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

G_DEFINE_QUARK (capture - file - error, capture_file_error)

struct _CaptureFile {
  pcap_t *pcap;
  gint link;
  CaptureReassembly *reassembly;
  CaptureFileCounts counts;
  const gint *is_cancelled; /* atomic; NULL: it is never */
};

CaptureFile *
capture_file_open (const gchar *path, GError **error)
{
  /* Waits for nobody: a pipe could be neither read again nor left while it is silent. */
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

CaptureFile *
capture_file_new (FILE *file, GError **error)
{
  gchar message[PCAP_ERRBUF_SIZE] = "";
  pcap_t *pcap =
      pcap_fopen_offline_with_tstamp_precision (file, PCAP_TSTAMP_PRECISION_NANO, message);
  if (!pcap) {
    g_set_error_literal (error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_FORMAT, message);
    fclose (file);
    return NULL;
  }
  const gint link = pcap_datalink (pcap);
  if (!capture_link_is_known (link)) {
    const gchar *name = pcap_datalink_val_to_name (link);
    g_set_error (error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_FORMAT,
        "it was captured on a link of type %d (%s), which carries no IP that is known here", link,
        name ? name : "unknown");
    pcap_close (pcap);
    return NULL;
  }
  CaptureFile *self = g_new0 (CaptureFile, 1);
  self->pcap = pcap;
  self->link = link;
  self->reassembly = capture_reassembly_new ();
  return self;
}

void
capture_file_free (CaptureFile *self)
{
  pcap_close (self->pcap);
  capture_reassembly_free (self->reassembly);
  g_free (self);
}

void
capture_file_set_cancellation (CaptureFile *self, const gint *is_cancelled)
{
  self->is_cancelled = is_cancelled;
}

gboolean
capture_file_next (CaptureFile *self, CaptureDatagram *datagram, gint64 *time, GError **error)
{
  struct pcap_pkthdr *header;
  const guint8 *frame;
  gint result;
  /* Frames that are passed over may be many gigabytes. */
  while (!self->is_cancelled || !g_atomic_int_get (self->is_cancelled)) {
    if ((result = pcap_next_ex (self->pcap, &header, &frame)) != 1) {
      if (result != PCAP_ERROR_BREAK)
        g_set_error_literal (
            error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_DAMAGED, pcap_geterr (self->pcap));
      return FALSE;
    }
    self->counts.n_frames++;
    /* With this precision tv_usec holds nanoseconds. Stamps of a corrupted file may be anything. */
    *time = (gint64)((guint64)header->ts.tv_sec * 1000000000u + (guint64)header->ts.tv_usec);
    switch (capture_frame_parse (
        self->reassembly, self->link, frame, header->caplen, *time, datagram)) {
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
