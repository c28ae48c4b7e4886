import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome } from '../faults/outcome.ts';
import { createOrganization } from '../helpers/server.ts';
import { timed } from './http.ts';
import { openStage } from './stage.ts';

/** Number of connections that are slow in each way. */
const EACH = 100;
/**
 * Longest accepted duration of a slow connection in seconds, by kind. The service allows ten seconds for a request's head and a
 * minute for a whole request, and checks every five seconds.
 */
const MARKS = { 'nothing said': 16, 'a head by the byte': 16, 'a body by the byte': 66, 'half closed': 66 } as const;
type Sort = keyof typeof MARKS;

const BODY = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000';

/** Opens connections that send slowly on purpose. The server must close each in time, and /healthz must not become slower. */
export async function slowTrial({ databaseServer }: { databaseServer: string | undefined }): Promise<Outcome> {
  await using stage = await openStage({ databaseServer });
  const { member } = await createOrganization({}, { on: stage });
  const begin = (line: string) => `${line}\r\nHost: ${member.host}\r\nAuthorization: ${member.authorization}\r\n`;
  const first: Readonly<Record<Sort, string>> = {
    'nothing said': '',
    'a head by the byte': 'GET /healthz HTTP/1.1\r\nHost: ',
    'a body by the byte': `${begin('POST /api/v1/messages/render HTTP/1.1')}${BODY}\r\n\r\ncontent=`,
    'half closed': `${begin('POST /api/v1/messages/render HTTP/1.1')}${BODY}\r\n\r\ncontent=`,
  };
  const before = await stage.memory();
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1_000;
  const endedAfter = new Map<Sort, number[]>(Object.keys(MARKS).map((sort) => [sort as Sort, []]));
  const held = new Map<Socket, Sort>();
  for (const sort of Object.keys(MARKS) as Sort[]) {
    for (let i = 0; i < EACH; i++) {
      const { hostname, port } = new URL(stage.url);
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {}).resume();
      socket.write(first[sort]);
      if (sort === 'half closed') socket.end();
      held.set(socket, sort);
      socket.once('close', () => {
        held.delete(socket);
        endedAfter.get(sort)?.push(elapsed());
      });
    }
  }
  const health: number[] = [];
  let most = before.rss;
  while (held.size > 0 && elapsed() < 80) {
    for (const [socket, sort] of held) if (sort.endsWith('by the byte')) socket.write('x');
    const { reply, milliseconds } = await timed(stage.url, { method: 'GET', path: '/healthz', headers: {} });
    health.push(reply?.status === 200 ? milliseconds : Number.POSITIVE_INFINITY);
    most = Math.max(most, (await stage.memory()).rss);
    await sleep(500);
  }
  const violations = (Object.keys(MARKS) as Sort[]).flatMap((sort) => {
    const times = endedAfter.get(sort) ?? [];
    const left = EACH - times.length;
    const last = Math.max(0, ...times);
    const late = last > MARKS[sort] + 5 ? [`${sort}: held for ${Math.round(last)} s`] : [];
    return left > 0 ? [`${sort}: ${left} connections are still there after ${Math.round(elapsed())} s`] : late;
  });
  for (const socket of held.keys()) socket.destroy();
  const worst = Math.max(...health);
  const times = [...endedAfter].map(([sort, all]) => [
    `${EACH} times ${sort}: gone after`,
    `${Math.round(Math.max(0, ...all))} s`,
  ]);
  return {
    trial: 'Connections that are slow on purpose',
    facts: {
      ...Object.fromEntries(times),
      '/healthz meanwhile, longest': `${Math.round(worst)} ms of ${health.length}`,
      'memory before and at most': `${Math.round(before.rss / 2 ** 20)}, ${Math.round(most / 2 ** 20)} MiB`,
    },
    violations,
  };
}
