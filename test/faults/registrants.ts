// Clients that register all at once, in a process of their own: to read what they are told takes a while as well.
import { gunzipSync } from 'node:zlib';
import { RawHttp } from '../bench/raw-http.ts';
import { work } from '../bench/workers.ts';
import type { Json } from '../helpers/http.ts';

/** Longer than any client waits. */
const PATIENCE_MS = 30_000;

/** How a registration went. */
export interface Registration {
  /** Which of those that were asked for at once. */
  readonly place: number;
  /** How it ended: "200", "503 REQUEST_TIMEOUT", … */
  readonly end: string;
  /** Milliseconds. */
  readonly took: number;
  readonly isCompressed: boolean;
  readonly bytes: number;
}

/** What somebody was told when they registered. */
export interface Snapshot {
  readonly place: number;
  readonly queueId: string;
  readonly lastEventId: number;
  /** Of those who were asked for, as the list of all people has them. */
  readonly names: ReadonlyMap<number, string>;
}

/** What was answered and has not been read yet. */
let answers: { readonly place: number; readonly body: Buffer; readonly isCompressed: boolean }[] = [];

async function registerOnce(port: number, request: Buffer, place: number): Promise<Registration> {
  const startedAt = performance.now();
  const connection = await RawHttp.connect(port);
  const late = setTimeout(() => connection.close(), PATIENCE_MS);
  try {
    const { status, head, body } = await connection.askBytes(Buffer.from(request));
    const isCompressed = /\r\ncontent-encoding: gzip\r\n/i.test(head);
    if (status === 200) answers.push({ place, body, isCompressed });
    const end = status === 200 ? '200' : `${status} ${JSON.parse(body.toString('utf8')).code}`;
    return { place, end, took: performance.now() - startedAt, isCompressed, bytes: body.length };
  } catch (error) {
    return { place, end: String(error), took: performance.now() - startedAt, isCompressed: false, bytes: 0 };
  } finally {
    clearTimeout(late);
    connection.close();
  }
}

export const tasks = {
  /** Registers as all of these at once, and keeps what is answered to be read later. */
  register({ port, requests }: { port: number; requests: readonly Buffer[] }): Promise<Registration[]> {
    return Promise.all(requests.map((request, place) => registerOnce(port, request, place)));
  },

  /** Reads what was answered. */
  read({ userIds }: { userIds: readonly number[] }): Snapshot[] {
    const wanted = new Set(userIds);
    const read = answers.map(({ place, body, isCompressed }) => {
      const state: Json = JSON.parse((isCompressed ? gunzipSync(body) : body).toString('utf8'));
      const people = (state.realm_users as Json[]).filter(({ user_id }) => wanted.has(user_id));
      const names = new Map<number, string>(people.map(({ user_id, full_name }) => [user_id, full_name]));
      return { place, queueId: state.queue_id, lastEventId: state.last_event_id, names };
    });
    answers = [];
    return read;
  },
};

work(tasks);
