/* SPDX-License-Identifier: MIT */
#include "gstmcapalarm.h"

struct _GstMcapAlarm {
  GstMcapAlarmFunc func;
  gpointer user_data;
  GThread *thread;
  GMutex lock;
  GCond cond;
  /* under the lock */
  gint64 time; /* 0: none */
  gboolean stop;
};

static gpointer
run (gpointer user_data)
{
  GstMcapAlarm *self = user_data;

  g_mutex_lock (&self->lock);
  while (!self->stop) {
    if (self->time == 0) {
      g_cond_wait (&self->cond, &self->lock);
    } else if (g_get_monotonic_time () < self->time) {
      g_cond_wait_until (&self->cond, &self->lock, self->time);
    } else {
      gint64 next;

      /* What is set meanwhile is no later than what the function knew of. */
      self->time = 0;
      g_mutex_unlock (&self->lock);
      next = self->func (self->user_data);
      g_mutex_lock (&self->lock);
      if (self->time == 0)
        self->time = next;
    }
  }
  g_mutex_unlock (&self->lock);
  return NULL;
}

GstMcapAlarm *
gst_mcap_alarm_new (GstMcapAlarmFunc func, gpointer user_data)
{
  GstMcapAlarm *self = g_new0 (GstMcapAlarm, 1);

  self->func = func;
  self->user_data = user_data;
  g_mutex_init (&self->lock);
  g_cond_init (&self->cond);
  self->thread = g_thread_new ("mcap-alarm", run, self);
  return self;
}

void
gst_mcap_alarm_free (GstMcapAlarm *self)
{
  g_mutex_lock (&self->lock);
  self->stop = TRUE;
  g_cond_signal (&self->cond);
  g_mutex_unlock (&self->lock);
  g_thread_join (self->thread);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->cond);
  g_free (self);
}

void
gst_mcap_alarm_set (GstMcapAlarm *self, gint64 time)
{
  g_mutex_lock (&self->lock);
  if (self->time == 0 || time < self->time) {
    self->time = time;
    g_cond_signal (&self->cond);
  }
  g_mutex_unlock (&self->lock);
}
