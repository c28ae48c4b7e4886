import { measureDatabaseCpu, median } from './measure.ts';
import { DOCUMENTS } from './peer-documents.ts';
import { requestBytes } from './raw-http.ts';
import { makeOrganization, type Size } from './registration.ts';
import type { Row } from './report.ts';
import type { Stage } from './stage.ts';

const CONNECTIONS = 32;
/** Highest accepted ratio of the CPU time of a read in the large organization to that in the small one. */
const MOST = 1.2;

const SMALL: Size = { subdomain: 'small-lists', users: 1_000, channels: 300, subscriptions: 40 };
const LARGE: Size = { subdomain: 'large-lists', users: 10_000, channels: 3_000, subscriptions: 40 };

const READS: Readonly<Record<string, string>> = {
  'names of 20 channels': '{ channels(first: 20) { nodes { databaseId name } } }',
  'number of channels': '{ channels(first: 0) { totalCount } }',
  '20 channels with their 5 newest messages': DOCUMENTS.channels,
};

interface Round {
  readonly perSecond: number;
  /** CPU time that the service uses for one request, in milliseconds. */
  readonly serviceMs: number;
  /** CPU time that PostgreSQL uses for one request, in milliseconds. */
  readonly databaseMs: number;
}

/**
 * Measures pages of the list of channels in an organization of 300 channels and 1,000 users, and in one ten times as large. Rows
 * "t" of the report.
 */
export async function measureListGrowth(stage: Stage): Promise<Row[]> {
  const places = [];
  for (const size of [SMALL, LARGE]) places.push((await makeOrganization(stage, size)).owner);
  const [warmUp, rounds, seconds] = stage.quick ? [2, 3, 1] : [2, 6, 2];
  const rows: Row[] = [];
  for (const [what, query] of Object.entries(READS)) {
    const found: [Round[], Round[]] = [[], []];
    for (let i = 0; i < warmUp + rounds; i++) {
      for (const [side, { basic, subdomain }] of places.entries()) {
        const request = requestBytes({
          ...{ method: 'POST', path: '/graphql', port: stage.port, body: JSON.stringify({ query }) },
          headers: {
            ...{ Host: `${subdomain}.localhost:${stage.port}`, Authorization: basic },
            ...{ 'Content-Type': 'application/json', Accept: 'application/json' },
          },
        });
        const round = await runRound(stage, request, seconds);
        if (i >= warmUp) found[side]?.push(round);
      }
    }
    rows.push(rowOf(what, ...found));
  }
  return rows;
}

async function runRound(stage: Stage, request: Buffer, seconds: number): Promise<Round> {
  const { generator, port, db } = stage;
  const [before, databaseCpu] = [stage.cpu(), await measureDatabaseCpu(db)];
  const requests = Array.from({ length: CONNECTIONS }, () => request);
  const { perSecond, answers } = await generator.ask('load', { port, requests, seconds });
  const each = (spent: number) => (spent / answers) * 1000;
  return {
    perSecond,
    serviceMs: each(stage.cpu() - before),
    databaseMs: each(await databaseCpu()),
  };
}

function rowOf(what: string, small: readonly Round[], large: readonly Round[]): Row {
  const whole = (rounds: readonly Round[]) => rounds.map(({ serviceMs, databaseMs }) => serviceMs + databaseMs);
  const middle = (rounds: readonly Round[], field: keyof Round) => median(rounds.map((round) => round[field]));
  const both = (say: (rounds: readonly Round[]) => string) => `small ${say(small)}; large ${say(large)}`;
  return {
    id: 't',
    what: `${what}, of ${SMALL.channels} channels against ${LARGE.channels.toLocaleString('en')}: CPU per request`,
    unit: 'ms',
    mark: 1 / MOST,
    service: whole(small),
    yardstick: whole(large),
    facts: {
      'CPU of the service': both((rounds) => `${middle(rounds, 'serviceMs').toFixed(2)} ms`),
      'CPU of PostgreSQL': both((rounds) => `${middle(rounds, 'databaseMs').toFixed(2)} ms`),
      'requests per second': both((rounds) => middle(rounds, 'perSecond').toFixed(0)),
    },
  };
}
