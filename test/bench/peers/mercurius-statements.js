// Hand-written SQL, prepared once for each connection. $1 is the viewer in every statement that depends on one. All tables
// have keys that begin with the organization (`realm_id`), so each statement gets its id, as those of the service do.

/** Whether the viewer ($1) can read the channel `c`. $2: whether the viewer is a guest. */
export const SEES = `(c.is_web_public OR (NOT c.invite_only AND NOT $2) OR EXISTS (
  SELECT FROM subscription s
  WHERE s.realm_id = c.realm_id AND s.user_id = $1 AND s.channel_id = c.id AND s.active))`;

/** Whether the viewer ($1) received the message `m` while they were subscribed to its channel. */
export const IN_PERIOD = `EXISTS (
  SELECT FROM subscription_period p WHERE p.realm_id = m.realm_id AND p.user_id = $1 AND p.channel_id = m.sent_channel_id
    AND p.began_message_id < m.id AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807))`;

const MESSAGE = `m.id AS "databaseId", m.content, m.rendered_content AS "renderedContent", m.topic AS "topicName",
  m.sent_at AS "sentAt", m.last_edited_at AS "lastEditedAt", m.sender_id, m.channel_id`;

const CHANNEL = `c.id AS "databaseId", c.name, c.description, c.invite_only AS "isPrivate", c.created_at AS "createdAt",
  c.folder_id, c.creator_id`;

/** Channels that the viewer can see. $3: id of the organization, $4: maximum number. */
export const CHANNELS = `SELECT ${CHANNEL} FROM channel c
  WHERE c.realm_id = $3 AND NOT c.is_archived AND ${SEES} ORDER BY lower(c.name) COLLATE "C", c.id LIMIT $4`;

/** Channels by id. In this statement and the next three, $1 is the id of the organization and $2 the list of ids. */
export const CHANNELS_BY_ID = `SELECT ${CHANNEL} FROM channel c WHERE c.realm_id = $1 AND c.id = ANY($2::int[])`;

export const FOLDERS = `SELECT id AS "databaseId", name FROM channel_folder WHERE realm_id = $1 AND id = ANY($2::int[])`;

export const USERS = `SELECT id AS "databaseId", full_name AS "fullName", avatar_version AS "avatarVersion"
  FROM user_account WHERE realm_id = $1 AND id = ANY($2::int[])`;

export const SUBSCRIBER_COUNTS = `SELECT s.channel_id AS id, count(*)::int AS count
  FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id AND u.is_active
  WHERE s.realm_id = $1 AND s.channel_id = ANY($2::int[]) AND s.active GROUP BY s.channel_id`;

/**
 * The newest messages of each channel. The channels were already filtered by visibility, so only protected history is
 * checked. $2: ids of the channels, $3: maximum number for each channel, $4: id of the organization.
 */
export const NEWEST_OF_CHANNELS = `SELECT ${MESSAGE.replaceAll('m.', 'found.')}
  FROM unnest($2::int[]) AS wanted(id) JOIN channel c ON c.realm_id = $4 AND c.id = wanted.id
  CROSS JOIN LATERAL (
    SELECT * FROM message m WHERE m.realm_id = c.realm_id AND m.channel_id = c.id
      AND (c.history_public_to_subscribers OR NOT c.invite_only OR m.sender_id = $1 OR ${IN_PERIOD})
    ORDER BY m.id DESC LIMIT $3) AS found
  ORDER BY found.id DESC`;

/** Newest messages of a topic. $3: id of the channel, $4: name of the topic, $5: maximum number, $6: id of the organization. */
export const TOPIC = `SELECT ${MESSAGE} FROM channel c JOIN message m ON m.realm_id = c.realm_id AND m.channel_id = c.id
  WHERE c.id = $3 AND c.realm_id = $6 AND ${SEES} AND lower(m.topic) = lower($4)
    AND (c.history_public_to_subscribers OR NOT c.invite_only OR m.sender_id = $1 OR ${IN_PERIOD})
  ORDER BY m.id DESC LIMIT $5`;

/** Newest messages that the viewer received. $3: id of the organization, $4: maximum number. */
export const RECEIVED = `SELECT ${MESSAGE} FROM message m LEFT JOIN channel c ON c.realm_id = m.realm_id AND c.id = m.channel_id
  WHERE m.realm_id = $3 AND CASE WHEN m.conversation_id IS NOT NULL THEN EXISTS (
      SELECT FROM conversation_member cm
      WHERE cm.realm_id = m.realm_id AND cm.user_id = $1 AND cm.conversation_id = m.conversation_id)
    ELSE (m.sender_id = $1 OR ${IN_PERIOD}) AND ${SEES} END
  ORDER BY m.id DESC LIMIT $4`;

export const REACTIONS = `SELECT r.message_id, r.emoji_name AS "emojiName", r.emoji_code AS "emojiCode",
    upper(r.reaction_type) AS "reactionType", u.id AS user_id, u.full_name
  FROM reaction r JOIN user_account u ON u.realm_id = r.realm_id AND u.id = r.user_id
  WHERE r.realm_id = $1 AND r.message_id = ANY($2::bigint[]) ORDER BY r.id`;

export const FLAGS = `SELECT m.id, m.channel_wildcard, um.starred, um.collapsed, um.mentioned, um.topic_wildcard_mentioned,
    um.has_alert_word, received.it AS received, COALESCE(x.is_read, NOT received.it OR (m.sender_id = $1 AND m.read_by_sender)
      OR m.id <= COALESCE(r.read_through, 0)) AS read
  FROM message m
  LEFT JOIN user_message um ON um.realm_id = m.realm_id AND um.user_id = $1 AND um.message_id = m.id
  LEFT JOIN read_exception x ON x.realm_id = m.realm_id AND x.user_id = $1 AND x.message_id = m.id
  LEFT JOIN read_mark r ON r.realm_id = m.realm_id AND r.user_id = $1
    AND r.recipient_id = COALESCE(m.sent_channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1)
  CROSS JOIN LATERAL (SELECT m.sender_id = $1 OR m.conversation_id IS NOT NULL OR ${IN_PERIOD} AS it) AS received
  WHERE m.realm_id = $2 AND m.id = ANY($3::bigint[])`;

export const SUBSCRIPTIONS = `SELECT s.color, s.is_muted AS "isMuted", s.pin_to_top AS "pinToTop", ${CHANNEL}
  FROM subscription s JOIN channel c ON c.realm_id = s.realm_id AND c.id = s.channel_id
  WHERE s.realm_id = $2 AND s.user_id = $1 AND s.active AND NOT c.is_archived ORDER BY c.id LIMIT $3`;

/**
 * Number of unread messages for each channel, and for all conversations in one row: messages after the read mark without
 * those marked as read, plus messages marked as unread. Ignores moved messages and muted topics, to the peers' advantage.
 * Takes the viewer and the realm as SQL expressions, for both peers.
 */
export const unread = (viewer, realm) => `
  SELECT s.channel_id, s.is_muted, sum(unread.count)::int AS count
  FROM subscription s JOIN channel c ON c.realm_id = s.realm_id AND c.id = s.channel_id AND NOT c.is_archived
  JOIN subscription_period p ON p.realm_id = s.realm_id AND p.user_id = s.user_id AND p.channel_id = s.channel_id
  LEFT JOIN read_mark r ON r.realm_id = s.realm_id AND r.user_id = s.user_id
    AND r.recipient_id = s.channel_id::bigint * 2
  CROSS JOIN LATERAL (
    SELECT count(*) FROM message m
    WHERE m.realm_id = s.realm_id AND m.channel_id = s.channel_id AND m.id > GREATEST(p.began_message_id, r.read_through)
      AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807) AND NOT (m.sender_id = ${viewer} AND m.read_by_sender)
      AND NOT EXISTS (
        SELECT FROM read_exception x
        WHERE x.realm_id = m.realm_id AND x.user_id = ${viewer} AND x.message_id = m.id)) AS unread
  WHERE s.realm_id = ${realm} AND s.user_id = ${viewer} AND s.active GROUP BY s.channel_id, s.is_muted
  UNION ALL
  SELECT m.channel_id, COALESCE(s.is_muted, false), count(*)::int FROM read_exception x
  JOIN message m ON m.realm_id = x.realm_id AND m.id = x.message_id
  LEFT JOIN subscription s ON s.realm_id = x.realm_id AND s.user_id = x.user_id AND s.channel_id = m.channel_id
  WHERE x.realm_id = ${realm} AND x.user_id = ${viewer} AND NOT x.is_read AND (s.active OR m.channel_id IS NULL)
  GROUP BY m.channel_id, s.is_muted
  UNION ALL
  SELECT NULL, false, count(*)::int FROM conversation_member cm
  LEFT JOIN read_mark r ON r.realm_id = cm.realm_id AND r.user_id = cm.user_id AND r.recipient_id = cm.conversation_id::bigint * 2 + 1
  JOIN message m ON m.realm_id = cm.realm_id AND m.conversation_id = cm.conversation_id AND m.id > COALESCE(r.read_through, 0)
  WHERE cm.realm_id = ${realm} AND cm.user_id = ${viewer} AND NOT (m.sender_id = ${viewer} AND m.read_by_sender)
    AND NOT EXISTS (
      SELECT FROM read_exception x
      WHERE x.realm_id = m.realm_id AND x.user_id = ${viewer} AND x.message_id = m.id)`;

export const UNREAD = unread('$1', '$2');
