import { makeSends, USUAL } from './fan-out.ts';
import type { Burst } from './generator.ts';
import { median } from './measure.ts';
import type { Row } from './report.ts';
import { makeAccounts, makeQueues, type Stage } from './stage.ts';

const READERS = [200, 1_000];
const ROUNDS = 15;

/** What an event does not know: each reader is shown their own, by what they may see. */
const QUERY = `subscription Bench($queueId: String!) {
  events(queueId: $queueId) {
    position
    __typename
    ... on MessageSentEvent { message { ${USUAL} reactions { emojiName } channel { description } } }
  }
}`;

/** (k) One event to many readers, where each is to be shown what they may see of it: from the answer to the sender. */
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
      what: `a message to ${count} readers who are each shown what they may see: all have it`,
      unit: 'ms',
      facts: { median: Math.round(median(took)) },
      service: took,
    });
  }
  return rows;
}
