import { expect } from 'vitest';

// Shapes of resources, by type. `toEqual` with one of these shapes fails on missing and on additional fields.

export const text = expect.any(String);
export const flag = expect.any(Boolean);
export const integer = expect.toSatisfy(Number.isInteger, 'an integer');
/** A time in seconds since 1970, not in milliseconds. */
export const unixSeconds = expect.toSatisfy(
  (value) => Number.isInteger(value) && value > 1_000_000_000 && value < 10_000_000_000,
  'UNIX seconds',
);
export const integers = expect.toSatisfy((value) => Array.isArray(value) && value.every(Number.isInteger), 'integers');
export const texts = expect.toSatisfy(
  (value) => Array.isArray(value) && value.every((element) => typeof element === 'string'),
  'texts',
);
export const html = expect.stringMatching(/^<p>.*<\/p>$/s);
export const orNull = (shape: unknown) => expect.toBeOneOf([shape, null]);

/** Returns the fields of every successful response, and the fields that the endpoint adds. */
export const success = (added: object = {}) => ({ result: 'success', msg: '', ...added });

/** Returns the fields of every error response, and the fields that the error code adds. */
export const failure = (code: string, added: object = {}) => ({
  result: 'error',
  msg: expect.stringMatching(/./),
  code,
  ...added,
});

/** Returns a refusal with status 400. */
export const refused = (code = 'BAD_REQUEST', added: object = {}) => ({ status: 400, body: failure(code, added) });

export const SUBSCRIPTION = {
  ...{ stream_id: integer, name: text, description: text, rendered_description: text, date_created: unixSeconds },
  ...{ creator_id: orNull(integer), invite_only: flag, pin_to_top: flag, is_muted: flag },
  ...{ desktop_notifications: orNull(flag), email_notifications: orNull(flag), push_notifications: orNull(flag) },
  ...{ wildcard_mentions_notify: orNull(flag), audible_notifications: orNull(flag) },
};

/** Matches a time in the format "2019-10-20T07:50+00:00". */
const joined = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d\+00:00$/);

export const USER = {
  ...{ user_id: integer, delivery_email: orNull(text), email: text, full_name: text, date_joined: joined },
  ...{ is_active: flag, is_owner: flag, is_admin: flag, is_guest: flag, is_bot: flag, bot_type: orNull(integer) },
  ...{ bot_owner_id: orNull(integer), role: integer, timezone: text, avatar_url: orNull(text) },
  ...{ avatar_version: integer, is_imported_stub: flag },
};

export const DRAFT = { id: integer, type: text, to: integers, topic: text, content: text, timestamp: unixSeconds };

/** Fields of the original version in the edit history of a message. Versions after an edit have additional fields. */
export const SNAPSHOT = {
  ...{ topic: text, content: text, rendered_content: html, timestamp: unixSeconds, user_id: orNull(integer) },
};

export const TOPIC = { max_id: integer, name: text };
