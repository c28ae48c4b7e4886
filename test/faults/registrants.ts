// Clients that register event queues concurrently. They run in a separate process, because parsing the responses takes CPU
// time.
import { gunzipSync } from 'node:zlib';
import { RawHttp } from '../bench/raw-http.ts';
import { work } from '../bench/workers.ts';
import type { Json } from '../helpers/http.ts';

/** Timeout of a registration, in milliseconds. Typical clients have a shorter timeout. */
const PATIENCE_MS = 30_000;

/** Result of one client's registration. */
export interface Registration {
  /** Index of the client among the clients that register concurrently. */
  readonly place: number;
  /** Status and error code of the response: "200", "503 REQUEST_TIMEOUT", … */
  readonly end: string;
  /** Duration in milliseconds. */
  readonly took: number;
  readonly isCompressed: boolean;
  readonly bytes: number;
}

/** The parsed response to a registration. */
export interface Snapshot {
  readonly place: number;
  readonly queueId: string;
  readonly lastEventId: number;
  /** Names of the requested users by id, from the list of all users in the response. */
  readonly names: ReadonlyMap<number, string>;
}

/** Bodies of responses that have not been parsed yet. */
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
  /** Sends all registration requests concurrently, and stores the responses until `read` parses them. */
  register({ port, requests }: { port: number; requests: readonly Buffer[] }): Promise<Registration[]> {
    return Promise.all(requests.map((request, place) => registerOnce(port, request, place)));
  },

  /** Parses the stored responses. @param userIds Ids of the users whose names are returned. */
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
