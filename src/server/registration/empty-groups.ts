import type { StateGroup } from '../../api/state-group.ts';

/**
 * Empty value of each state group (a part of the response of `POST /register`) in `emptyGroups`, by the name of the group in
 * `fetch_event_types`.
 */
const EMPTY: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  default_stream_groups: { realm_default_stream_groups: [] },
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

/**
 * State groups for features that the service does not have. They are empty, so that clients that expect their fields continue
 * to work.
 */
export const emptyGroups: readonly StateGroup[] = Object.entries(EMPTY).map(([name, fields]) => ({
  name,
  read: async () => fields,
}));
