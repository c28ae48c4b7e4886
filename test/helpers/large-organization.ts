/** A function that runs one SQL statement with its parameters. */
export type Run = (sql: string, parameters: readonly unknown[]) => Promise<unknown>;

/** Size of the test organization: larger than most organizations will be. */
export const LARGE = { channels: 300, topicsEach: 20, conversations: 60, messages: 10_000 } as const;

/**
 * Fills an organization directly in the database: channels, conversations and unread messages in the reader's sidebar.
 *
 * @param organizationId Organization of the reader and the sender.
 */
export async function fillOrganization(
  run: Run,
  { organizationId, readerId, senderId }: { organizationId: number; readerId: number; senderId: number },
): Promise<void> {
  const { channels, topicsEach, conversations, messages } = LARGE;
  await run(
    `WITH made AS (
       INSERT INTO channel (realm_id, name, topics_policy)
       SELECT $1::int, 'large ' || n, 'inherit' FROM generate_series(1, $2::int) AS n RETURNING id),
     joined AS (
       INSERT INTO subscription (realm_id, user_id, channel_id, color)
       SELECT $1::int, $3::int, id, '#76ce90' FROM made),
     since AS (
       INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id)
       SELECT $1::int, $3::int, id, 1 FROM made)
     INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content,
                          client_name, sent_at, sent_event_id, send_token)
     SELECT $1::int, nextval('message_id_seq'), $4::int, id, id, 'topic ' || t, 'hello', '<p>hello</p>', 'test', now(), 1, 1
     FROM made, generate_series(1, $5::int) AS t`,
    [organizationId, channels, readerId, senderId, topicsEach],
  );
  await run(
    `WITH people AS (
       INSERT INTO user_account (realm_id, email, full_name, avatar_source, settings)
       SELECT $1::int, 'large' || n || '-' || $1::int || '@example.com', 'Person ' || n, 'J', '{}'
       FROM generate_series(1, $2::int) AS n RETURNING id),
     made AS (
       INSERT INTO conversation (realm_id, member_ids)
       SELECT $1::int, ARRAY[least($3::int, id), greatest($3::int, id)] FROM people RETURNING id, member_ids),
     members AS (
       INSERT INTO conversation_member (realm_id, user_id, conversation_id)
       SELECT $1::int, member, id FROM made, unnest(member_ids) AS member)
     INSERT INTO message (realm_id, id, sender_id, conversation_id, content, rendered_content, client_name, sent_at,
                          sent_event_id, send_token)
     SELECT $1::int, nextval('message_id_seq'), $4::int, id, 'hello', '<p>hello</p>', 'test', now(), 1, 1
     FROM made, generate_series(1, $5::int) AS n`,
    [organizationId, conversations, readerId, senderId, Math.ceil((messages - channels * topicsEach) / conversations)],
  );
}

/** The first screen of a chat client in one request: the sidebar, and the messages around the first unread message. */
export const FIRST_SCREEN = `mutation {
  registerEventQueue(input: {}) { ... on RegisterEventQueuePayload { queueId position query {
    viewer { id fullName avatarUrl role unreadCounts { total channels conversations mentions } }
    organization { id name }
    subscriptions(first: 300) { totalCount nodes {
      id color isMuted pinToTop unreadCount unreadMentionCount
      channel { id name privacy topics(first: 5) { nodes { id name isResolved viewerVisibility unreadCount
        lastMessage { id content sentAt } } } }
    } }
    directConversations(first: 60) { totalCount nodes {
      id unreadCount participants { id fullName avatarUrl } lastMessage { id content sentAt }
    } }
    messages(anchor: { place: FIRST_UNREAD }, countBefore: 50, countAfter: 50) { nodes {
      id content renderedContent topicName topic { id name } sentAt lastEditedAt viewerHasRead viewerHasStarred
      sender { id fullName avatarUrl } channel { id name }
      reactionGroups { emojiName emojiCode count viewerHasReacted }
    } }
  } } ... on ServiceError { code message } }
}`;
