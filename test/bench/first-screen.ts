import { Client } from '../faults/requests.ts';
import { FIRST_SCREEN, fillOrganization, LARGE } from '../helpers/large-organization.ts';
import { median } from './measure.ts';
import { type Row, ratioOf } from './report.ts';
import type { Stage } from './stage.ts';

/** Number of connections that a browser opens to one host at the same time. */
const AT_ONCE = 6;

/**
 * Measures how long it takes to load the first screen of a large organization, with one GraphQL request and with REST calls for
 * the same data. Rows "l" of the report.
 */
export async function measureFirstScreen(stage: Stage): Promise<Row[]> {
  const { db, url, owner, users, quick } = stage;
  const [reader] = users;
  if (reader === undefined) throw new Error('No reader');
  const { rows } = await db.query<{ realm_id: number; owner: number }>(
    'SELECT realm_id, (SELECT min(id) FROM user_account o WHERE o.realm_id = u.realm_id) AS owner FROM user_account u WHERE id = $1',
    [reader.id],
  );
  const [{ realm_id: organizationId, owner: senderId } = { realm_id: 0, owner: 0 }] = rows;
  await fillOrganization((sql, parameters) => db.query(sql, [...parameters]), {
    ...{ organizationId, readerId: reader.id, senderId },
  });
  await db.query('VACUUM ANALYZE');
  const person = { ...owner, basic: reader.basic };
  const clients = Array.from({ length: AT_ONCE }, () => new Client(url, person));
  const [first] = clients as [Client];
  const graphql: number[] = [];
  const rest: number[] = [];
  for (let i = 0; i < (quick ? 4 : 9) + 2; i++) {
    const took = { graphql: await timed(() => overGraphql(first)), rest: await timed(() => overRest(clients)) };
    if (i < 2) continue;
    graphql.push(took.graphql);
    rest.push(took.rest);
  }
  for (const client of clients) client.close();
  const row: Row = {
    id: 'l',
    what: `first screen of ${LARGE.channels} channels and ${LARGE.conversations} conversations: GraphQL, against REST`,
    unit: 'ms',
    service: graphql,
    yardstick: rest,
    facts: {},
  };
  const facts = {
    GraphQL: `one request, ${Math.round(median(graphql))} ms`,
    REST: `${2 + LARGE.channels} requests, ${AT_ONCE} at a time`,
    'ratio of the times': ratioOf(row).toFixed(2),
  };
  return [{ ...row, facts }];
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function overGraphql(client: Client): Promise<void> {
  const { body } = await client.graphql(FIRST_SCREEN, {});
  if (body?.data?.registerEventQueue?.queueId === undefined) throw new Error(JSON.stringify(body).slice(0, 500));
}

/** Loads the data of the first screen over REST: the state with a queue, the topics of each channel, and the messages. */
async function overRest(clients: readonly Client[]): Promise<void> {
  const [first] = clients as [Client];
  const { subscriptions } = await first.ask('POST', '/register', { apply_markdown: true });
  const ids: number[] = subscriptions.map(({ stream_id }: { stream_id: number }) => stream_id);
  const topics = clients.map(async (client, i) => {
    for (const id of ids.filter((_, n) => n % clients.length === i)) await client.ask('GET', `/users/me/${id}/topics`);
  });
  await Promise.all(topics);
  await first.ask('GET', '/messages', { anchor: 'first_unread', num_before: 50, num_after: 50 });
}
