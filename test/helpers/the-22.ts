/** The endpoints with a file in test/interface, in order of the files. */
export const ENDPOINTS = [
  'POST /scheduled_messages',
  'POST /users/me/subscriptions/properties',
  'GET /events',
  'PATCH /channel_folders/{channel_folder_id}',
  'GET /users/{user_id}',
  'POST /users/{user_id}/status',
  'POST /users/me/status',
  'POST /drafts',
  'POST /jwt/fetch_api_key',
  'POST /messages/{message_id}/report',
  'GET /messages/{message_id}/history',
  'PATCH /users/me/profile_data',
  'POST /mark_topic_as_read',
  'DELETE /users/{user_id}',
  'GET /users/me/{stream_id}/topics',
  'POST /messages/{message_id}/typing',
  'POST /navigation_views',
  'PATCH /saved_snippets/{saved_snippet_id}',
  'POST /user_groups/{user_group_id}/subgroups',
  'PATCH /realm/domains/{domain}',
  'POST /calls/videoprovider/create',
  'GET /server_settings',
] as const;

export type EndpointName = (typeof ENDPOINTS)[number];

/** Response status of a call without parameters and credentials, for endpoints that need no credentials. */
export const OPEN_ENDPOINTS: Readonly<Record<string, number>> = {
  'POST /jwt/fetch_api_key': 400,
  'GET /server_settings': 200,
};

/** Whether an endpoint works only if the operator has configured a key or a provider, as `startIntegrated` does. */
export const isIntegrated = (name: string): boolean => /jwt|videoprovider/.test(name);
