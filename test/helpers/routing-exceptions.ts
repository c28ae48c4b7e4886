import { type Names, type Violation, violationsOf } from './routing.ts';
import { inOneLine } from './source-sql.ts';

/** Reasons for which a statement cannot be sent to one server by its organization. See src/platform/db/README.md. */
const REASONS = {
  directory: 'finds the organization of a host name, or the owner of a key or of a link by its hash',
  loop: 'background work or an operator command for the organizations of a database, which is repeated for each database',
  batch: 'requests of several organizations in one statement, which is repeated for each database',
  words:
    'the searched words begin with the organization. A condition on it would make the planner read all its entries',
} as const;

/**
 * Texts of statements that violate the rule `organization`, with the reason. An exception applies to all statements that contain
 * its text. Parameters are written as `$`, and white space is reduced to single spaces.
 */
export const ROUTING_EXCEPTIONS: Readonly<Record<string, keyof typeof REASONS>> = {
  'SELECT k.hash, k.key_id, k.scopes': 'directory',
  'FROM session s JOIN user_account u': 'directory',
  'FROM "public"."realm" WHERE ("public"."realm"."subdomain" = $': 'directory',
  'FROM jsonb_to_recordset(p_organizations) AS o(realm_id integer, messages jsonb)': 'batch',
  "WHERE c.realm_id = ANY (ARRAY(SELECT (o->>'realm_id')::integer": 'batch',
  'AS (realm_id int, sender_id int, owner_id int, channel text, topic text)': 'batch',
  'SELECT u.id AS user_id, (SELECT max(id) FROM ( SELECT (SELECT m.id FROM message m': 'batch',
  'SELECT q.id::text AS id, q.end_reason AS "endReason"': 'batch',
  'SELECT q.id::text AS id, q.reader_epoch': 'batch',
  'UPDATE event_queue AS q SET acked_id': 'batch',
  'SELECT realm_id, last_id FROM event_counter WHERE realm_id = ANY(': 'loop',
  'SELECT realm_id, id FROM session WHERE idle_expires_at <': 'loop',
  'SELECT realm_id, id_hash FROM used_token WHERE expires_at <': 'loop',
  'SELECT DISTINCT q.realm_id FROM event_queue q': 'loop',
  'UPDATE event_counter SET last_id = $ , pruned_through = $ FROM begun': 'loop',
  "end_reason = 'expired', options = '{}' WHERE ended_at IS NULL AND expires_at <=": 'loop',
  'SELECT c.realm_id, LEAST(': 'loop',
  'SELECT c.realm_id, c.pruned_through FROM event_counter c': 'loop',
  'SELECT t.realm_id AS id FROM message_tally t': 'loop',
  'SELECT p.realm_id AS id FROM search_progress p': 'loop',
  'SELECT r.id FROM realm r WHERE': 'loop',
  'SELECT r.id FROM realm r LEFT JOIN digest_progress p': 'loop',
  'SELECT u.realm_id FROM user_account u WHERE lower(u.email) = lower(': 'loop',
  'DELETE FROM link_preview_progress p WHERE': 'loop',
  'DELETE FROM link_preview_job j WHERE j.next_attempt_at <=': 'loop',
  'SELECT j.realm_id, j.message_id FROM link_preview_job j': 'loop',
  'UPDATE link_preview_job SET next_attempt_at =': 'loop',
  'DELETE FROM link_preview p WHERE p.expires_at <': 'loop',
  'row_number() OVER of_owner AS nth': 'loop',
  'SELECT scheduled_at AS "scheduledAt"': 'loop',
  'SELECT m.realm_id, m.id FROM outgoing_mail m WHERE': 'loop',
  'UPDATE outgoing_mail c SET attempts = c.attempts + 1': 'loop',
  'DELETE FROM outgoing_mail WHERE next_attempt_at IS NULL': 'loop',
  "UPDATE outgoing_mail SET body = $ , unsubscribe_url = NULL, missed_message_ids = '{}' WHERE next_attempt_at IS NULL":
    'loop',
  'SELECT ((SELECT count(*) FROM user_account WHERE joined_at >': 'loop',
  'WITH live AS ( SELECT q.realm_id, q.scanned_through': 'loop',
  'WITH largest AS ( SELECT u.realm_id': 'loop',
  'SELECT FROM realm r WHERE r.id = scheduled_message.realm_id': 'loop',
  'SELECT c.realm_id AS id FROM event_counter c JOIN realm r': 'loop',
  'SELECT n.realm_id, n.user_id FROM notification n': 'loop',
  'SELECT n.realm_id AS "organizationId", n.user_id AS "userId" FROM notification n': 'loop',
  'SELECT n.realm_id, n.id FROM notification n WHERE n.created_at <': 'loop',
  'DELETE FROM push_device d WHERE NOT d.is_client_device': 'loop',
  'SELECT d.id, d.realm_id AS "organizationId", d.user_id AS "userId" FROM push_device d': 'loop',
  'UPDATE notification SET next_attempt_at = $': 'loop',
  'SELECT DISTINCT p.realm_id AS id FROM identity_provider p': 'loop',
  'SELECT EXISTS (SELECT FROM realm) OR EXISTS': 'loop',
  'SELECT COALESCE(sum(hashtextextended(realm_id': 'loop',
  'SELECT id FROM realm WHERE subdomain = $': 'directory',
  'SELECT id, subdomain FROM realm WHERE id = $::int OR subdomain = $': 'directory',
  'FROM searchable_message s WHERE search_vector(': 'words',
};

/**
 * Returns the violations of a statement for which there is no exception.
 *
 * @param used Receives the exceptions that applied.
 */
export function unexceptedViolationsOf(statement: string, names: Names, used?: Set<string>): Violation[] {
  const found = violationsOf(statement, names);
  if (!found.some(({ rule }) => rule === 'organization')) return found;
  const text = inOneLine(statement).replaceAll(/\$\d+/g, '$$');
  const exceptions = Object.keys(ROUTING_EXCEPTIONS).filter((exception) => text.includes(exception));
  for (const exception of exceptions) used?.add(exception);
  return found.filter(({ rule }) => rule !== 'organization' || exceptions.length === 0);
}
