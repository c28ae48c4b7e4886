import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

// Tests the published clients of GraphQL over WebSocket and over SSE, unmodified. Each runs in a program of its own, which only
// configures it.

const PROGRAMS = ['listen-graphql-ws.ts', 'listen-graphql-sse.ts'];
const KILLS = 10;
/** Time between a restart of the server and the next kill, in milliseconds. */
const LIFE_MS = 600;

/** Starts a program that reads a new event queue, and collects the events that the program prints. */
async function listen(program: string, person: Person) {
  const { queue_id } = await person.register({ fetch_event_types: [], event_types: ['channel_folder'] });
  const env = { ...process.env, URL: `${person.url}/graphql`, AUTHORIZATION: person.authorization, QUEUE_ID: queue_id };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, program)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const heard: number[] = [];
  const wrong: Json[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { __typename: type, position, ...rest } = JSON.parse(line);
    if (Object.keys(rest).length > 0) wrong.push(rest);
    else if (type !== 'HeartbeatEvent') heard.push(position);
  });
  return { program, heard, wrong, [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

/** Creates channel folders until `signal` is aborted. Repeats each request until it is acknowledged. */
async function write(person: Person, name: string, signal: AbortSignal): Promise<void> {
  for (let i = 0; !signal.aborted; i++) {
    const folder = { name: `${name} ${i}`, description: '' };
    const headers = { 'Idempotency-Key': randomUUID() };
    for (;;) {
      const reply = await person.rest('POST', '/channel_folders/create', folder, { headers }).catch(() => undefined);
      if (reply?.status === 200) break;
      await sleep(20);
    }
    await sleep(10);
  }
}

/** Returns the ids of all events of a queue, read over REST. */
async function idsOf(person: Person, queueId: string): Promise<number[]> {
  const ids: number[] = [];
  for (;;) {
    const events = await person.poll(queueId, ids.at(-1) ?? -1, { dontBlock: true });
    if (events.length === 0) return ids;
    ids.push(...events.map(({ id }) => id));
  }
}

test('no event is missing or duplicated after the service was killed repeatedly', {
  timeout: 300_000,
}, async () => {
  await using server = await startServer();
  const { owner, administrator, member } = await createOrganization({}, { on: server, subdomain: '' });
  const { queue_id } = await member.register({ fetch_event_types: [], event_types: ['channel_folder'] });
  using first = await listen(PROGRAMS[0] as string, member);
  using second = await listen(PROGRAMS[1] as string, member);
  const done = new AbortController();
  const writers = [owner, administrator].map((person) => write(person, person.name, done.signal));
  for (let kill = 0; kill < KILLS; kill++) {
    const before = [first, second].map(({ heard }) => heard.length);
    // Waits until both clients have reconnected and received a new event.
    await vi.waitFor(() => {
      for (const [i, { heard }] of [first, second].entries()) expect(heard.length).toBeGreaterThan(before[i] ?? 0);
    }, 30_000);
    await sleep(LIFE_MS);
    await server.kill9();
    await server.restart();
  }
  done.abort();
  await Promise.all(writers);
  const truth = await idsOf(member, queue_id);
  expect(truth.length).toBeGreaterThan(KILLS);
  for (const { program, heard, wrong } of [first, second]) {
    await vi.waitFor(() => expect(heard.at(-1)).toBe(truth.at(-1)), 30_000);
    expect([program, heard]).toEqual([program, truth]);
    expect([program, wrong]).toEqual([program, []]);
  }
});
