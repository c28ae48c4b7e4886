import { makeSends, USUAL } from './fan-out.ts';
import type { Burst } from './generator.ts';
import { median } from './measure.ts';
import type { Row } from './report.ts';
import { makeAccounts, makeQueues, type Stage } from './stage.ts';

const READERS = [200, 1_000];
const ROUNDS = 15;

/**
 * A subscription document with fields that the event does not contain. The service reads these for each reader, and sends the
 * data that the reader can see.
 */
const QUERY = `subscription Bench($queueId: String!) {
  events(queueId: $queueId) {
    position
    __typename
    ... on MessageSentEvent { message { ${USUAL} reactions { emojiName } channel { description } } }
  }
}`;

/**
 * Measures the time from a send request to the last delivery of its event to many readers. The service reads data for each of
 * them. Rows "k" of the report.
 */
export async function measureReaders(stage: Stage): Promise<Row[]> {
  const { generator, port, db, quick } = stage;
  const users = await makeAccounts(db, 'reader', Math.max(...READERS));
  const take = await makeSends(stage, users);
  const rows: Row[] = [];
  for (const count of READERS) {
    const readers = users.slice(0, count);
    const subscribers = await makeQueues({ ...stage, users: readers }, count);
    const set = `readers ${count}`;
    await generator.ask('listen', { set, port, query: QUERY, subscribers });
    const took: number[] = [];
    for (let i = 0; i < (quick ? 5 : ROUNDS) + 2; i++) {
      const burst: Burst = await generator.ask('burst', { port, triggers: take(1), inFlight: 1, expected: count });
      if (i >= 2) took.push(burst.wholeMs);
    }
    await generator.ask('close', { set });
    rows.push({
      id: 'k',
      what: `a message to ${count} readers, each with their own view, until all have received it`,
      unit: 'ms',
      facts: { median: Math.round(median(took)) },
      service: took,
    });
  }
  return rows;
}
