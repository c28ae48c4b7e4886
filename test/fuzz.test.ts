import { describe, expect, test } from 'vitest';
import { type Kind, runCampaign } from './fuzz/campaign.ts';
import { graphqlKind } from './fuzz/graphql.ts';
import { restKind } from './fuzz/rest.ts';
import { socketKind } from './fuzz/sockets.ts';
import { uploadKind } from './fuzz/uploads.ts';
import { serverOf } from './helpers/server.ts';

// A small sample of `npm run test:fuzz`: that looks at the server's memory, its log and its speed, too.

const KINDS: Readonly<Record<string, (url: string) => Kind | Promise<Kind>>> = {
  REST: restKind,
  GraphQL: graphqlKind,
  sockets: socketKind,
  uploads: uploadKind,
};

describe('whatever is sent is answered as described, and ends no account of those who send', () => {
  test.concurrent.for(Object.entries(KINDS))('over %s', async ([, make]) => {
    const target = serverOf();
    const { violations, facts } = await runCampaign({ kind: await make(target.url), target, inputs: 80, seed: 1 });
    expect(violations, JSON.stringify(facts)).toEqual([]);
  });
});
