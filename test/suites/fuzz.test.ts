import { describe, expect, test } from 'vitest';
import { type Kind, runCampaign } from '../fuzz/campaign.ts';
import { graphqlKind } from '../fuzz/graphql.ts';
import { restKind } from '../fuzz/rest.ts';
import { socketKind } from '../fuzz/sockets.ts';
import { uploadKind } from '../fuzz/uploads.ts';
import { serverOf } from '../helpers/server.ts';

// Runs a small sample of `npm run test:fuzz`, which also checks the server's memory, log and speed.

const KINDS: Readonly<Record<string, (url: string) => Kind | Promise<Kind>>> = {
  REST: restKind,
  GraphQL: graphqlKind,
  sockets: socketKind,
  uploads: uploadKind,
};

describe('any input is answered as documented, and leaves the accounts of the senders active', () => {
  test.concurrent.for(Object.entries(KINDS))('over %s', async ([, make]) => {
    const target = serverOf();
    const { violations, facts } = await runCampaign({ kind: await make(target.url), target, inputs: 80, seed: 1 });
    expect(violations, JSON.stringify(facts)).toEqual([]);
  });
});
