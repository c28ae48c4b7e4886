import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Ctx } from '../../src/access/context.ts';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { compileNarrow } from '../../src/messages/narrow/narrow.ts';
import { type Range, selectIds } from '../../src/messages/narrow/narrow-select.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { fillOrganization, LARGE } from '../helpers/large-organization.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

/** A node in the output of EXPLAIN. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

let service: InProcess;
let people: Organization;

beforeAll(async () => {
  service = await startInProcess();
  people = await createOrganization({}, { on: service });
  const { member, owner, organization } = people;
  await fillOrganization((sql, parameters) => service.app.db.$executeRawUnsafe(sql, ...parameters), {
    ...{ organizationId: organization.id, readerId: member.id, senderId: owner.id },
  });
  // Some channels have very many messages. All messages have one time, so the newest ones are in many channels.
  await service.app.db.$executeRaw`
    INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content, client_name,
                         sent_at, sent_event_id, send_token)
    SELECT realm_id, nextval('message_id_seq'), sender_id, channel_id, sent_channel_id, topic, content, rendered_content,
           client_name, sent_at, sent_event_id, send_token
    FROM message, generate_series(1, 5) WHERE realm_id = ${organization.id} AND channel_id IS NOT NULL ORDER BY random()`;
  await service.app.database.runScript('VACUUM ANALYZE message');
});
afterAll(() => service[Symbol.asyncDispose]());

/**
 * Returns the query plans of the statements that read a range of messages. PostgreSQL makes these plans for the current values,
 * as it does for rarely executed statements.
 */
async function plansOf(range: Range): Promise<PlanNode[]> {
  const { app } = service;
  const { member, organization } = people;
  const user = await app.db.user.findFirstOrThrow({ where: { id: member.id } });
  const viewer = { id: user.id, organization, role: user.role, user } as unknown as Ctx['viewer'];
  const ctx = { app, work: app.work, viewer, organizationId: organization.id } as Ctx;
  const narrow = await compileNarrow(ctx, []);
  const plans: PlanNode[] = [];
  const explaining = {
    async $queryRaw(statement: Prisma.Sql) {
      const rows = await app.db.$queryRaw<{ 'QUERY PLAN': { Plan: PlanNode }[] }[]>(
        Prisma.sql`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
      );
      for (const row of rows) plans.push(...row['QUERY PLAN'].map(({ Plan }) => Plan));
      return [];
    },
  };
  await selectIds({ ...ctx, work: { db: explaining } } as unknown as Ctx, narrow, range);
  return plans;
}

const nodesIn = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesIn)];

test('the newest received messages are read in order, with few other rows', async () => {
  const [plan] = await plansOf({ anchor: 'newest', numBefore: 50, numAfter: 0, includeAnchor: true });
  const scans = nodesIn(plan as PlanNode).filter(
    (node) => node['Index Name']?.startsWith('message_') === true || node['Relation Name'] === 'message',
  );
  expect(scans.length).toBeGreaterThan(3);
  // Each scan uses an index by id. An index by topic would read the whole channel.
  const kinds = scans
    .filter((node) => node['Actual Loops'] > 0)
    .map((node) => `${node['Node Type']} ${node['Index Name']}`);
  expect(
    kinds.filter((kind) => !/^Index (Only )?Scan message_/.test(kind) || kind.includes('message_by_topic')),
  ).toEqual([]);
  const rows = scans.reduce(
    (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    0,
  );
  // Few more rows are read than requested, plus one row for each channel. There are 40,000 messages.
  expect(rows).toBeLessThan(2_000 + LARGE.channels);
});
