// The code that a user of PostGraphile writes: views, limited to what the viewer can see, which define the GraphQL schema.
import { IN_PERIOD, SEES, unread } from './mercurius-statements.js';

/** The PostgreSQL settings with which each request identifies its viewer. */
export const SETTINGS = { viewer: 'bench.viewer', realm: 'bench.realm', guest: 'bench.guest' };

const VIEWER = `current_setting('${SETTINGS.viewer}')::int`;
const REALM = `current_setting('${SETTINGS.realm}')::int`;
const IS_GUEST = `current_setting('${SETTINGS.guest}')::boolean`;

/** Returns an SQL condition with PostgreSQL settings in place of $1, the viewer, and $2, whether the viewer is a guest. */
const asSettings = (condition) => condition.replaceAll('$1', VIEWER).replaceAll('$2', IS_GUEST);
const SEEN = asSettings(SEES);
const RECEIVED = `(m.sender_id = ${VIEWER} OR ${asSettings(IN_PERIOD)})`;

/** The viewer's flags of the message `m`, with the service's names and in its order. */
const FLAGS = `ARRAY(
  SELECT flag FROM (SELECT m.conversation_id IS NOT NULL OR ${RECEIVED} AS it) AS received
  LEFT JOIN user_message um ON um.realm_id = m.realm_id AND um.user_id = ${VIEWER} AND um.message_id = m.id
  LEFT JOIN read_exception x ON x.realm_id = m.realm_id AND x.user_id = ${VIEWER} AND x.message_id = m.id
  LEFT JOIN read_mark r ON r.realm_id = m.realm_id AND r.user_id = ${VIEWER}
    AND r.recipient_id = COALESCE(m.sent_channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1)
  CROSS JOIN LATERAL (VALUES
    ('READ', COALESCE(x.is_read, NOT received.it OR (m.sender_id = ${VIEWER} AND m.read_by_sender)
      OR m.id <= COALESCE(r.read_through, 0))),
    ('STARRED', um.starred), ('COLLAPSED', um.collapsed), ('MENTIONED', um.mentioned),
    ('TOPIC_WILDCARD_MENTIONED', um.topic_wildcard_mentioned), ('HAS_ALERT_WORD', um.has_alert_word),
    ('CHANNEL_WILDCARD_MENTIONED', m.channel_wildcard AND received.it), ('HISTORICAL', NOT received.it)) AS flags(flag, there)
  WHERE there)`;

const REACHABLE = '-insert -update -delete -query:resource:list -query:resource:single';
const BY_RELATION = `${REACHABLE} -query:resource:connection`;

/**
 * Returns a comment with smart tags: keys, relations and their names, which a view does not have itself.
 *
 * @param {string[]} tags
 */
const comment = (view, behavior, tags) =>
  `COMMENT ON VIEW peer.${view} IS E'${[`@behavior ${behavior}`, ...tags].join('\\n')}';`;

/** SQL that creates the schema. The first process that serves runs it, later ones reuse it. */
export const MAKE = `
CREATE SCHEMA peer_private;
CREATE SCHEMA peer;

CREATE VIEW peer.account AS
  SELECT u.id AS database_id, u.email AS delivery_email, u.email, u.full_name,
    date_trunc('minute', u.joined_at) AS joined_at, u.is_active,
    CASE u.role WHEN 100 THEN 'OWNER' WHEN 200 THEN 'ADMINISTRATOR' WHEN 300 THEN 'MODERATOR' WHEN 400 THEN 'MEMBER'
      ELSE 'GUEST' END AS role,
    u.bot_type IS NOT NULL AS is_bot, NULL::text AS bot_type, COALESCE(u.settings->>'timezone', '') AS timezone,
    '/avatar/' || u.id || '/' || repeat('x', 22) || '?v=' || u.avatar_version AS avatar_url, u.avatar_version, u.is_imported_stub
  FROM user_account u WHERE u.realm_id = ${REALM};
${comment('account', BY_RELATION, ['@primaryKey database_id'])}

CREATE VIEW peer.folder AS SELECT f.id AS database_id, f.name FROM channel_folder f WHERE f.realm_id = ${REALM};
${comment('folder', BY_RELATION, ['@primaryKey database_id'])}

CREATE VIEW peer.channel AS
  SELECT c.id AS database_id, c.name, lower(c.name) COLLATE "C" AS sort_name, c.description, c.invite_only AS is_private,
    c.created_at, c.folder_id, c.creator_id,
    (SELECT count(*)::int FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id AND u.is_active
     WHERE s.realm_id = c.realm_id AND s.channel_id = c.id AND s.active) AS subscriber_count
  FROM channel c WHERE c.realm_id = ${REALM} AND NOT c.is_archived AND ${SEEN};
${comment('channel', REACHABLE, [
  '@primaryKey database_id',
  '@foreignKey (folder_id) references peer.folder (database_id)|@fieldName folder',
  '@foreignKey (creator_id) references peer.account (database_id)|@fieldName creator',
])}

CREATE VIEW peer.message AS
  SELECT m.id AS database_id, m.realm_id, m.content, m.rendered_content, m.topic AS topic_name, lower(m.topic) AS topic_key,
    m.sent_at, m.last_edited_at, m.sender_id, m.channel_id, m.conversation_id IS NOT NULL OR ${RECEIVED} AS is_received,
    ${FLAGS} AS flags
  FROM message m LEFT JOIN channel c ON c.realm_id = m.realm_id AND c.id = m.channel_id
  WHERE m.realm_id = ${REALM} AND CASE WHEN m.conversation_id IS NOT NULL THEN EXISTS (
      SELECT FROM conversation_member cm
      WHERE cm.realm_id = m.realm_id AND cm.user_id = ${VIEWER} AND cm.conversation_id = m.conversation_id)
    ELSE ${SEEN} AND (c.history_public_to_subscribers OR NOT c.invite_only OR ${RECEIVED}) END;
${comment('message', REACHABLE, [
  '@primaryKey database_id',
  '@unique realm_id,database_id',
  '@foreignKey (sender_id) references peer.account (database_id)|@fieldName sender',
  '@foreignKey (channel_id) references peer.channel (database_id)|@fieldName channel|@foreignFieldName messages',
])}

CREATE VIEW peer.reaction AS
  SELECT r.id AS row_id, r.realm_id, r.message_id, r.user_id, r.emoji_name, r.emoji_code, upper(r.reaction_type) AS reaction_type
  FROM reaction r WHERE r.realm_id = ${REALM};
${comment('reaction', BY_RELATION, [
  '@primaryKey row_id',
  '@foreignKey (realm_id,message_id) references peer.message (realm_id,database_id)|@foreignFieldName reactions',
  '@foreignKey (user_id) references peer.account (database_id)|@fieldName user',
])}

CREATE FUNCTION peer_private.unread() RETURNS TABLE (channel_id int, is_muted boolean, count int) LANGUAGE sql STABLE AS $$
  ${unread(VIEWER, REALM)} $$;

CREATE VIEW peer.channel_subscription AS
  SELECT s.channel_id, s.color, s.is_muted, s.pin_to_top, COALESCE(unread.count, 0)::int AS unread_count
  FROM subscription s JOIN channel c ON c.realm_id = s.realm_id AND c.id = s.channel_id
  LEFT JOIN (SELECT u.channel_id, sum(u.count) AS count FROM peer_private.unread() u GROUP BY u.channel_id) AS unread
    ON unread.channel_id = s.channel_id
  WHERE s.realm_id = ${REALM} AND s.user_id = ${VIEWER} AND s.active AND NOT c.is_archived;
${comment('channel_subscription', REACHABLE, [
  '@primaryKey channel_id',
  '@foreignKey (channel_id) references peer.channel (database_id)|@fieldName channel',
])}

CREATE FUNCTION peer.viewer() RETURNS peer.account LANGUAGE sql STABLE AS $$
  SELECT * FROM peer.account WHERE database_id = ${VIEWER} $$;

CREATE TYPE peer.unread_counts AS (total int, channels int, conversations int);
CREATE FUNCTION peer.account_unread_counts(account peer.account) RETURNS peer.unread_counts LANGUAGE sql STABLE AS $$
  SELECT COALESCE(sum(u.count), 0)::int, COALESCE(sum(u.count) FILTER (WHERE u.channel_id IS NOT NULL), 0)::int,
    COALESCE(sum(u.count) FILTER (WHERE u.channel_id IS NULL), 0)::int
  FROM peer_private.unread() u WHERE NOT u.is_muted AND account.database_id = ${VIEWER} $$;
`;
