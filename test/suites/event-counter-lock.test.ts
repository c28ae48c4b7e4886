import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Endpoint, takesIdempotencyKey } from '../../src/api/rest/endpoint.ts';
import { routes } from '../../src/server/registries/features.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { pathOf, REST_CALLS, type RestCall } from '../helpers/rest-calls.ts';
import { makeScene, type Scene } from '../helpers/scene.ts';

/** Matches statements that take ids from the organization's event counter. The counter is locked from then on. */
const COUNTS = /UPDATE event_counter SET last_id|hold_log\(|write_messages\(/;

/**
 * Statements that may run between a statement that matches `COUNTS` and the commit, because they need the event's id or the
 * lock.
 */
const NEEDS_THE_ID: readonly RegExp[] = [
  // Store the start and end of a subscription, and the start of a role.
  /INSERT INTO subscription_period/,
  /UPDATE subscription_period/,
  /INSERT INTO "public"\."role_change"/,
  // Mark the messages that were sent before the event as read.
  /INSERT INTO read_mark|UPDATE read_mark/,
  /INSERT INTO read_exception/,
  // Checks that no message was sent under the previous policy.
  /SELECT 1 FROM message WHERE channel_id = \S+ AND lower\(topic\) > ''/,
];

/**
 * Matches statements that store the response to a request with an idempotency key. The response contains the id of a message,
 * so they run after that id is known.
 */
const KEEPS_THE_REPLY = /^UPDATE idempotency_record SET result|^RELEASE SAVEPOINT/;

const writes = routes.filter(({ method }) => method !== 'GET');
const byName = new Map(writes.map((route) => [`${route.method} ${route.path}`, route]));
const names = Object.keys(REST_CALLS).filter((name) => byName.has(name));

/** Returns the statements after the first one that takes an id, until the end of its transaction. */
function afterCounter(queries: readonly string[]): string[] {
  const first = queries.findIndex((sql) => COUNTS.test(sql));
  const rest = first === -1 ? [] : queries.slice(first + 1);
  const end = rest.findIndex((sql) => /"COMMIT"/.test(sql));
  // If there is no commit, the statement is a transaction of its own, and no other statement follows in it.
  return rest.slice(0, Math.max(end, 0)).filter((sql) => !COUNTS.test(sql));
}

describe('while the event counter is locked, a change runs only statements that need the event id', () => {
  let server: InProcess;
  let scenes: { readonly plain: Scene; readonly keyed: Scene };
  beforeAll(async () => {
    server = await shareInProcess({ counts: true });
    const on = { on: server };
    scenes = { plain: await makeScene(on), keyed: await makeScene(on) };
  });
  afterAll(() => server[Symbol.asyncDispose]());
  let counted = 0;
  const excused = new Set<RegExp>();

  async function statementsAfter(scene: Scene, { method, path, auth }: Endpoint, call: RestCall, keyed: boolean) {
    const caller = auth === 'none' ? scene.anonymous : scene[call.as ?? 'owner'];
    const options = keyed ? { headers: { 'idempotency-key': randomUUID() } } : {};
    const queries = await server.queriesOf(() =>
      caller.rest(method as 'POST', pathOf(path, call), call.parameters, options),
    );
    if (queries.some((sql) => COUNTS.test(sql))) counted++;
    const patient = queries.filter(
      (sql) => /UPDATE event_counter SET last_id/.test(sql) && !/refuse_late_lock/.test(sql),
    );
    expect(patient, 'wait for the counter longer than lock_timeout').toEqual([]);
    return afterCounter(queries).filter((sql) => {
      const reason = [...NEEDS_THE_ID, ...(keyed ? [KEEPS_THE_REPLY] : [])].find((known) => known.test(sql.trim()));
      if (reason !== undefined) excused.add(reason);
      return reason === undefined;
    });
  }

  test.for(names)('%s', async (name) => {
    const endpoint = byName.get(name) as Endpoint;
    for (const call of REST_CALLS[name]?.(scenes.plain.names) ?? []) {
      expect(await statementsAfter(scenes.plain, endpoint, call, false), JSON.stringify(call)).toEqual([]);
    }
  });

  const keepers = names.filter((name) => takesIdempotencyKey(byName.get(name) as Endpoint));
  test.for(keepers)('%s, under an idempotency key', async (name) => {
    const endpoint = byName.get(name) as Endpoint;
    for (const call of (REST_CALLS[name]?.(scenes.keyed.names) ?? []).slice(0, 3)) {
      expect(await statementsAfter(scenes.keyed, endpoint, call, true), JSON.stringify(call)).toEqual([]);
    }
  });

  test('the tests above found enough statements', () => {
    expect(counted).toBeGreaterThan(100);
    expect(excused.size).toBeGreaterThan(3);
  });
});
