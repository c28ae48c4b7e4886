import type { StateGroup } from '../../api/state-group.ts';

/** What each holds as long as there is nothing of its kind, by the name in `fetch_event_types`. */
const EMPTY: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  default_stream_groups: { realm_default_stream_groups: [] },
  device: { devices: {} },
  muted_users: { muted_users: [] },
  onboarding_steps: { onboarding_steps: [], navigation_tour_video_url: null },
  realm_billing: { realm_billing: { has_pending_sponsorship_request: false } },
  realm_embedded_bots: { realm_embedded_bots: [] },
  realm_filters: { realm_filters: [] },
  realm_incoming_webhook_bots: { realm_incoming_webhook_bots: [] },
  realm_linkifiers: { realm_linkifiers: [] },
  realm_playgrounds: { realm_playgrounds: [] },
  stop_words: { stop_words: [] },
};

/** Groups of things that the service has none of: with their fields, clients that read them go on as they are. */
export const emptyGroups: readonly StateGroup[] = Object.entries(EMPTY).map(([name, fields]) => ({
  name,
  read: async () => fields,
}));
